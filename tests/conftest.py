"""Makes xdist's groups hold: tests that share a world run in one worker."""

import pytest
from _pytest.nodeid import NodeId


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """pytest-xdist 3.8 writes the group behind `item._nodeid`, which pytest 9.2 no longer reads (it has `_id`): without this
    every worker would start every world."""
    if not config.getoption("loadgroup", default=False):
        return
    for item in items:
        groups = sorted({mark.args[0] for mark in item.iter_markers("xdist_group")})
        if groups and "@" not in item.nodeid.rpartition("]")[2].rpartition("::")[2]:
            item._id = NodeId.parse(f"{item.nodeid}@{'_'.join(groups)}")
