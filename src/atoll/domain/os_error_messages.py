"""What the operating system refused, in words and with what to do; people are not shown error numbers.

Standard library only: the commands that must start fast import it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

WORDS: Mapping[int, str] = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "permission denied; change its owner or mode, or name another",
    errno.EPERM: "the system does not allow it to this user",
    errno.ENOTDIR: "a part of this path is a file where a folder is needed",
    errno.EISDIR: "this is a folder where a file is needed",
    errno.EEXIST: "there is a file of this name already",
    errno.ENOTEMPTY: "the folder is not empty",
    errno.ENOSPC: "the disk is full; make room and try again",
    errno.EROFS: "the file system is read-only; name another folder",
    errno.ELOOP: "its symbolic links lead in a circle",
    errno.ENAMETOOLONG: "the path is too long",
    errno.EMFILE: "too many files are open; raise the limit with `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine",
    errno.EADDRINUSE: "in use by another process",
    errno.EADDRNOTAVAIL: "the address is not one of this machine",
    errno.ECONNREFUSED: "the connection is refused: nothing listens there",
    errno.ECONNRESET: "the other side closed the connection",
    errno.ETIMEDOUT: "no answer in time",
    errno.EHOSTUNREACH: "the host cannot be reached",
    errno.ENETUNREACH: "the network cannot be reached",
}

_NUMBER = re.compile(r"\[Errno -?\d+\] ")  # of several attempts, which asyncio lists in one text


def reason(error: OSError) -> str:
    """The words alone. An OSError that was raised with a text of its own keeps it."""
    if type(error).__module__ == "ssl":  # SSLError counts errors in a way of its own
        words = getattr(error, "verify_message", "") or getattr(error, "reason", "") or error.strerror or "the handshake broke"
        return str(words).replace("_", " ").lower()
    if error.errno is None:
        return "no answer in time" if isinstance(error, TimeoutError) and not error.args else _NUMBER.sub("", str(error)) or type(error).__name__
    return WORDS.get(error.errno) or (error.strerror or str(error)).lower()


def in_words(error: OSError) -> str:
    """`[Errno 2] No such file or directory: 'world.toml'` -> `world.toml: there is no such file or folder`."""
    named = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([*([" -> ".join(named)] if named else []), reason(error)])
