import resource
import subprocess
import sys

import pytest

from atoll.processes.connection_limit import CONNECTIONS_MAX, FILES_KEPT, FILES_WANTED, PER_CONNECTION, connection_shares


@pytest.mark.parametrize(
    ("files", "listeners", "each"),
    [(FILES_WANTED, 1, (CONNECTIONS_MAX, 256)), (FILES_WANTED, 14, (2194, 256)), (1024, 1, (192, 128)), (1024, 8, (24, 16)), (64, 8, (1, 1))],
)
def test_every_listener_has_its_share_of_the_descriptors(files, listeners, each):
    assert connection_shares(files, listeners) == each
    served, turned_away = each
    assert files < 1024 or listeners * (PER_CONNECTION * served + turned_away) + FILES_KEPT <= files


@pytest.mark.parametrize(("soft", "hard", "risen"), [(300, 2000, 2000), (2000, 2000, 2000)])
def test_a_process_lifts_its_soft_limit_to_what_it_may_have(soft, hard, risen):
    words = "from atoll.processes.connection_limit import raise_file_limit; import resource; print(raise_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    result = subprocess.run(
        (sys.executable, "-c", words),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == [str(risen), str(risen), str(hard)]
