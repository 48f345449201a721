"""Starts a world: keys and certificates once, ports, processes under a supervisor."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.control_store import ControlStore
from atoll.domain.os_error_messages import in_words
from atoll.net.certificates import create_ca
from atoll.processes import port_allocation
from atoll.processes.entry_listeners import Address
from atoll.processes.home_folder import Home, write_whole
from atoll.processes.process_mains import Plan, process_name, run, serve_entry, serve_region
from atoll.processes.supervisor import Child, Supervisor
from atoll.processes.world_config import Place, World
from atoll.services.iam.id_generation import create_root_account

LOCALHOST = "127.0.0.1"
KEY_BYTES = 32


class AlreadyUp(Exception):
    """A supervisor holds this home's lock."""


def lock(home: Home) -> int:
    """Become the one supervisor of a home; the lock goes with the process. Raises AlreadyUp."""
    descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise AlreadyUp(str(home.root)) from None
    return descriptor


@dataclass(frozen=True, slots=True)
class Root:
    """The world's account and its root key pair."""

    account: str
    access_key: str
    secret: str


def _run_in_child(task: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Run something that opens databases and threads in a process of its own: the supervisor must stay fit to fork."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.write(writable, json.dumps(task()).encode())
            status = 0
        except BaseException as error:  # noqa: BLE001 - the last frame of a process
            words = in_words(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            os.write(writable, json.dumps({"failed": words}).encode())
        finally:
            os._exit(status)
    os.close(writable)
    with open(readable, "rb") as file:
        result = file.read()
    os.waitpid(pid, 0)
    found: dict[str, str] = json.loads(result or '{"failed": "the process that makes them was killed"}')
    if "failed" in found:
        raise RuntimeError(f"the world's keys could not be made: {found['failed']}")
    return found


def _make(home: Home) -> dict[str, str]:
    if not home.node_key.exists():
        write_whole(home.node_key, secrets.token_bytes(KEY_BYTES))
    if not home.ca.exists():
        create_ca(home.root, name="Atoll world", now=time.time())
    for name in ("config", "credentials"):
        (home.aws / name).touch(mode=0o600)

    async def root() -> dict[str, str]:
        state = ControlStore.open(home.state)
        try:
            record = await create_root_account(state, random_bytes=secrets.token_bytes, now=time.time())
        finally:
            state.close()
        return {"account": record.account, "access_key": record.access_key, "secret": record.secret}

    return asyncio.run(root())


def prepare(home: Home) -> Root:
    """Everything that is made once per world: node key, CA, state, root key pair. Idempotent."""
    return Root(**_run_in_child(partial(_make, home)))


def plan(home: Home, world: World, root: Root, *, port: int | None, host: str = LOCALHOST) -> Plan:
    """Ports for every listener: where they were before, as far as they are free. Raises PortTaken."""
    before = home.read_run() or {}
    old_entry = [int(place["port"]) for place in before.get("places", [])]
    old_regions = [int(number) for row in before.get("regions", {}).values() for number in (row["port"], row["tls"], *row.get("workers", ()))]
    entry_ports = port_allocation.block(len(world.places), insist_on=port, before=old_entry)
    each = 2 + (world.workers if world.workers > 1 else 0)
    numbers = port_allocation.free(each * len(world.regions), before=old_regions)
    addresses = {
        name: Address(numbers[index], numbers[index + 1], tuple(numbers[index + 2 : index + each]))
        for index, name in zip(range(0, len(numbers), each), world.regions, strict=True)
    }
    names = [place.name for place in world.places]
    return Plan(home, world, host, dict(zip(names, entry_ports, strict=True)), addresses)


def _row(the_plan: Plan, place: Place) -> dict[str, Any]:
    return {
        "name": place.name,
        "kind": place.kind,
        "port": the_plan.entry_ports[place.name],
        "region": place.name if place.kind == "region" else the_plan.world.nearest_regions(place.name)[0],
    }


def run_info(the_plan: Plan, root: Root) -> dict[str, Any]:
    """What run.json says: all that a client needs to enter."""
    return {
        "home": str(the_plan.home.root),
        "account": root.account,
        "access_key_id": root.access_key,
        "secret_access_key": root.secret,
        "profile": the_plan.world.profile,
        "compat": the_plan.world.compat,
        "ca": str(the_plan.home.ca),
        "places": [_row(the_plan, place) for place in the_plan.world.places],
        "regions": {name: {"port": one.port, "tls": one.tls, "workers": list(one.workers)} for name, one in the_plan.regions.items()},
    }


def children(the_plan: Plan) -> list[Child]:
    """The processes of each region, and the entry for all places. Cities live and die with the entry."""
    world, logs = the_plan.world, the_plan.home.logs
    by_name = {place.name: place for place in world.places}
    regions = [
        Child(
            process_name(name, worker),
            partial(_start, partial(serve_region, the_plan, name, worker)),
            logs / f"{process_name(name, worker)}.err",
            () if worker else ({**_row(the_plan, by_name[name]), **_address(the_plan, name)},),
            place=name,
        )
        for name in world.regions
        for worker in range(world.workers)
    ]
    cities = tuple(_row(the_plan, place) for place in world.places if place.kind == "city")
    everywhere = tuple(by_name)
    entry_row = {"name": "entry", "kind": "entry", "port": next(iter(the_plan.entry_ports.values())), "region": ""}
    start = partial(_start, partial(serve_entry, the_plan, everywhere))
    return [*regions, Child("entry", start, logs / "entry.err", (*cities, entry_row))]


def _address(the_plan: Plan, name: str) -> Mapping[str, int]:
    return {"direct_port": the_plan.regions[name].port, "tls_port": the_plan.regions[name].tls}


def _start(body: Callable[[int], Any], ready: int) -> None:
    run(partial(body, ready))


def supervise(the_plan: Plan, root: Root, on_ready: Callable[[], None]) -> None:
    """Be the supervisor until told to stop. The home's lock is held by the caller."""
    known = run_info(the_plan, root)
    the_plan.home.write_run(known)
    shown = {name: known[name] for name in ("home", "account", "profile", "compat", "regions")}
    Supervisor(children(the_plan), the_plan.home.socket, shown).run(on_ready)


def preload_models(services: Sequence[str] = ("s3", "s3control", "iam", "sts")) -> None:
    """Load what every process needs, before the fork: codecs and their compiled shapes are then shared pages."""
    from atoll.aws_protocols.codec import codec

    for service in services:
        codec(service)


