import pytest

from clients.client_fixtures import begin


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """One world for all walks; they use keys of their own."""
    found = begin(tmp_path_factory.mktemp("walks"))
    yield found
    down = found.atoll("down")
    assert down.returncode == 0, down.stderr
