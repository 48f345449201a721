import asyncio

import pytest

from gateway.pipeline_setup import region


@pytest.fixture
def scenario(tmp_path):
    """Runs an async story that is given a region's gateway."""

    def tell(steps, **settings):
        async def whole():
            async with region(tmp_path, **settings) as given:
                await steps(given)

        asyncio.run(whole())

    return tell
