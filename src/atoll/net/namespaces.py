"""Linux namespaces (namespaces(7)): a process leaves the machine's network and sees some files as others.

Standard library only; os.unshare came with Python 3.12. Everything here changes the calling process and nothing else.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000  # sched.h
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000  # sys/mount.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1  # net/if.h
INTERFACE_REQUEST = struct.Struct("16sh14x")


class NoNamespaces(Exception):
    """This machine gives this user no namespaces. The text says why and what helps."""


def leave() -> None:
    """Into network and mount namespaces of one's own; without the right to, inside a user namespace in which user and group
    stay what they are. The process must have one thread. Raises NoNamespaces."""
    if not sys.platform.startswith("linux"):
        raise NoNamespaces("sealed mode stands on Linux's namespaces, which this system does not have; --mode proxy works everywhere")
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(CLONE_NEWNS | CLONE_NEWNET)
    except PermissionError:
        try:
            _unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET)
            _keep_ids(user, group)
        except OSError as error:
            raise NoNamespaces(_advice(error)) from error
    except OSError as error:
        raise NoNamespaces(_advice(error)) from error
    try:
        _mount("none", "/", MS_REC | MS_PRIVATE)  # what is mounted from here on stays here
        _raise_loopback()
    except OSError as error:
        raise NoNamespaces(_advice(error)) from error


def _advice(error: OSError) -> str:
    why = {
        errno.EPERM: "neither this user nor a user namespace may make them",
        errno.EACCES: "neither this user nor a user namespace may make them",
        errno.ENOSPC: "user.max_user_namespaces allows no more of them",
        errno.EINVAL: "the kernel does not know them, or this process may not make them",
    }.get(error.errno or 0, error.strerror or "")
    return (
        f"sealed mode needs network and mount namespaces: {why}. Run it as root, or allow user namespaces "
        "(sysctl user.max_user_namespaces; in a container: --cap-add SYS_ADMIN), or take --mode proxy"
    )


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _unshare(flags: int) -> None:
    _checked(_libc().unshare(flags), "unshare")


def _mount(source: str, target: str, flags: int) -> None:
    _checked(_libc().mount(source.encode(), os.fsencode(target), None, ctypes.c_ulong(flags), None), target)


def _keep_ids(user: int, group: int) -> None:
    """user_namespaces(7): one's own ids may be mapped without any privilege, once nobody can change groups."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(text, encoding="ascii")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = fcntl.ioctl(sock, SIOCGIFFLAGS, INTERFACE_REQUEST.pack(b"lo", 0))
        name, flags = INTERFACE_REQUEST.unpack(request)
        fcntl.ioctl(sock, SIOCSIFFLAGS, INTERFACE_REQUEST.pack(name, flags | IFF_UP))


def lay_over(files: Mapping[Path, Path]) -> None:
    """Show the second of each pair where the first is; what is not there is left so. Raises NoNamespaces."""
    for target, source in files.items():
        if target.exists():
            try:
                _mount(str(source), str(target), MS_BIND)
            except OSError as error:
                raise NoNamespaces(f"{target} cannot be laid over ({error.strerror}); take --mode proxy") from error


def network_of(process: Path) -> int | None:
    """Which network a process (its folder in /proc) is in, as a number; None when it has gone or is not ours to ask."""
    try:
        return (process / "ns" / "net").stat().st_ino
    except OSError:
        return None


def inhabited(network: int) -> bool:
    """Is a process in that network that we may see?"""
    return any(network_of(process) == network for process in Path("/proc").iterdir() if process.name.isdigit())
