"""Every test of S3 Control has a world of its own."""

import pytest

from services.s3control.points_world import World


@pytest.fixture
def make():
    """A world with settings of the test's choice."""
    made = []

    def world(**settings):
        made.append(World(**settings))
        return made[-1]

    yield world
    for one in made:
        one.state.close()


@pytest.fixture
def world(make):
    return make()
