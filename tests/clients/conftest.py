import pytest

from clients.ground import begin


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """One world for all walks; they use keys of their own."""
    found = begin(tmp_path_factory.mktemp("walks"))
    yield found
    down = found.atoll("down")
    assert down.returncode == 0, down.stderr


def pytest_collection_modifyitems(items):
    for item in items:
        if "/clients/" in str(item.path):
            item.add_marker(pytest.mark.client)
            item.add_marker(pytest.mark.xdist_group("clients"))
