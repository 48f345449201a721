import asyncio

import pytest
import uvloop


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request):
    """Both event loops: the second one is what we run on, the first is the fallback."""
    return request.param
