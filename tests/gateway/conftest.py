import asyncio

import pytest

from gateway.gate import gate


@pytest.fixture
def story(tmp_path):
    """Runs an async story that is given a region's gateway."""

    def tell(told, **settings):
        async def whole():
            async with gate(tmp_path, **settings) as given:
                await told(given)

        asyncio.run(whole())

    return tell
