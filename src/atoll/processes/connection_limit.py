"""How many connections a process may hold, from its limit of file descriptors."""

from __future__ import annotations

import resource

from atoll.net.http1_server_connection import Limits

FILES_WANTED = 65_536  # a process that may have more does not ask for more
FILES_KEPT = 512  # for the stores, logs, other nodes and what is being accepted
CONNECTIONS_MAX = 4096  # of one listener; more are told SlowDown
PER_CONNECTION = 2  # a tunnel is a client's connection and one onward
TURNED_AWAY_MAX = 256  # connections of one listener that are hearing SlowDown


def raise_file_limit() -> int:
    """Lift this process's soft limit to what it may have (Debian starts it at 1,024). Returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # macOS has a lower limit of its own
            return soft
        return wanted
    return FILES_WANTED if soft == resource.RLIM_INFINITY else soft


def limits_of(listeners: int) -> Limits:
    """The limits of each of a process's listeners, whose descriptors are raised first."""
    connections, turned_away = connection_shares(raise_file_limit(), listeners)
    return Limits(connections=connections, turned_away=turned_away)


def connection_shares(files: int, listeners: int) -> tuple[int, int]:
    """Connections that each of `listeners` may serve, and may turn away, in a process of `files` descriptors."""
    room = max(0, files - FILES_KEPT) // listeners
    turned_away = max(1, min(TURNED_AWAY_MAX, room // 4))
    return max(1, min(CONNECTIONS_MAX, (room - turned_away) // PER_CONNECTION)), turned_away
