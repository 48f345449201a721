"""Every test of IAM has a world of its own."""

import pytest

from services.iam.iam_world import World


@pytest.fixture
def world():
    world = World()
    yield world
    world.state.close()
