import pytest

from object_store.disk.rows import Rows


@pytest.fixture
def rows(tmp_path):
    found = Rows(tmp_path)
    yield found
    found.close()
