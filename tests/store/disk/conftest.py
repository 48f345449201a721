import pytest

from store.disk.rows import Rows


@pytest.fixture
def rows(tmp_path):
    found = Rows(tmp_path)
    yield found
    found.close()
