"""What is a region's process made of? Store, state, slices, gateway, replication and listeners, joined here."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from atoll.domain.call import Call
from atoll.domain.caller import Caller, Proof
from atoll.domain.clock import Clock
from atoll.domain.message import Request
from atoll.domain.shapes import Handler, Store
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.authorize import Permit
from atoll.gateway.metrics import Gauge, Metrics
from atoll.gateway.pace import Pace
from atoll.gateway.record import Recorder, RequestIds
from atoll.gateway.region import Gateway
from atoll.gateway.slices import Slice, bind
from atoll.node.authority import RecordAuthority
from atoll.node.config import World
from atoll.node.home import Home
from atoll.rules.owners import ENFORCED
from atoll.rules.policy import validate
from atoll.rules.policy.context import request_context
from atoll.rules.policy.model import Context
from atoll.rules.published import ALL_THREE_BUCKETS_S
from atoll.rules.replication import Rules
from atoll.rules.signature import KeyCache
from atoll.services.iam.control import OPERATIONS as IAM
from atoll.services.iam.here import Here as IamHere
from atoll.services.iam.plane import Identities
from atoll.services.s3.control import OPERATIONS as S3
from atoll.services.s3.here import Here as S3Here
from atoll.services.s3.here import RuleBook
from atoll.services.s3.nudge import Nudge
from atoll.services.s3.records import BUCKETS
from atoll.services.s3.replica import ReplicaHere, receive
from atoll.services.s3.replication import Replication, ReplicationHere
from atoll.services.s3control.control import OPERATIONS as S3CONTROL
from atoll.services.s3control.here import Here as ControlHere
from atoll.services.s3control.plane import AccessPoints, account_block
from atoll.services.s3control.records import POINTS, point_key
from atoll.services.s3control.work import Reconciler
from atoll.services.sts.control import OPERATIONS as STS
from atoll.services.sts.here import Here as StsHere
from atoll.state import State
from atoll.store.disk.engine import DiskStore
from atoll.store.wrap.reserved import Reserved

CATCH_UP_S = 1.0  # a region that is behind the sender's control state waits so long for it
S3_SERVICE = "s3.amazonaws.com"
_NO_PROOF = Proof()
_NO_REQUEST = Request("PUT", "/", {})  # replication asks in its own name, outside any request


@dataclass(frozen=True, slots=True)
class Shared:
    """What the parts of one region have in common."""

    world: World
    name: str
    state: State
    engine: Store  # writes that nobody waits for: replication's own
    store: Store  # the same engine, its writes announced
    clock: Clock
    identities: Identities
    points: AccessPoints
    nudge: Nudge
    record: Recorder
    metrics: Metrics
    rules: RuleBook
    peer: Callable[[str], Handler]


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@asynccontextmanager
async def opened_store(home: Home, name: str, clock: Clock) -> AsyncIterator[Store]:
    """The region's disk engine, which keeps a reserve of space for deletions."""
    engine = await DiskStore.open(home.store(name), origin=name, now_ms=lambda: int(clock.now() * 1000))
    try:
        yield Reserved(engine, partial(_free_bytes, home.store(name)), clock.monotonic)
    finally:
        await engine.close()


def _slices(shared: Shared, authority: RecordAuthority) -> Mapping[str, Slice]:
    state, world, dice = shared.state, shared.world, secrets.token_bytes
    s3 = S3Here(
        store=shared.store,
        state=state,
        clock=shared.clock,
        region=shared.name,
        regions=world.regions,
        attached=shared.points.attached,
        account_block=partial(account_block, state),
        dice=dice,
        compat=world.compat,
        known=shared.identities.exists,
        rules=shared.rules,
    )
    iam = IamHere(state, dice, validate.check_identity_policy, validate.check_trust_policy)
    sts = StsHere(
        role=shared.identities.role,
        may_assume=shared.identities.may_assume,
        context=partial(_call_context, shared),
        seal=shared.identities.seal,
        dice=dice,
        check_session_policy=validate.check_identity_policy,
    )
    control = ControlHere(
        state=state,
        regions=world.regions,
        buckets=partial(_bucket, state),
        dice=dice,
        compat=world.compat,
        known=shared.identities.exists,
    )
    return {
        "s3": bind("s3", S3, s3),
        "iam": bind("iam", IAM, iam),
        "sts": bind("sts", STS, sts),
        "s3control": bind("s3control", S3CONTROL, control),
    }


def _bucket(state: State, name: str) -> tuple[str, str] | None:
    record = state.get(BUCKETS, name)
    return None if record is None else (record.region, record.account)


def _call_context(shared: Shared, call: Call) -> Context:
    onward = call.request.onward
    return request_context(
        request=call.request,
        caller=call.caller,
        proof=onward.proof if onward and onward.caller else _NO_PROOF,
        now=call.now,
        region=shared.name,
        resource_account=call.account,
        params={},
        operation=call.operation,
    )


def gateway(shared: Shared, ids: RequestIds) -> Gateway:
    """The Handler that answers this region's API requests."""
    authority = authority_of(shared)
    replica = ReplicaHere(shared.engine, partial(_versioning, shared), owner=partial(_replica_owner, shared))
    return Gateway(
        region=shared.name,
        slices=_slices(shared, authority),
        authenticate=Authenticate(shared.identities, KeyCache(), shared.world.compat),
        authority=authority,
        receive=partial(receive, replica),
        named_point=partial(_named_point, shared),
        named_identity=shared.identities.named,
        catch_up=partial(_catch_up, shared.state),
        refresh=partial(refreshed, shared.state),
        clock=shared.clock,
        ids=ids,
        record=shared.record,
        metrics=shared.metrics,
        pace=Pace(shared.clock),
        compat=shared.world.compat,
    )


def refreshed(state: State) -> bool:
    """Look for what other processes committed; was there anything new?"""
    before = state.version
    state.refresh()
    return state.version != before


async def _catch_up(state: State, version: int) -> None:
    """Judge on no older control state than the sender had; when it does not come in time, on what there is."""
    if version <= state.version:
        return
    state.refresh()
    if version > state.version:
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):
                await state.changed(version - 1)


def _named_point(shared: Shared, params: Mapping[str, Any]) -> str:
    """An s3control call names its access point by its account and name (in a member or in Details), or by ARN."""
    details = params.get("Details")
    name = params.get("Mrap") or params.get("Name") or (details.get("Name") if isinstance(details, Mapping) else "")
    found = shared.points.by_arn(str(name)) or shared.state.get(POINTS, point_key(str(params.get("AccountId")), str(name)))
    return found.arn if found is not None else ""


def _versioning(shared: Shared, bucket: str) -> str | None:
    record = shared.state.get(BUCKETS, bucket)
    return None if record is None or record.region != shared.name else record.versioning


def _replica_owner(shared: Shared, bucket: str, override: bool) -> str:
    """Whose a replica will be here; "" leaves it to the owner of its source. Source: S3 user guide, "Changing the replica
    owner", and "Controlling ownership of objects": where lists are off, everything is the bucket owner's."""
    record = shared.state.get(BUCKETS, bucket)
    return record.account if record is not None and (override or record.ownership == ENFORCED) else ""


def authority_of(shared: Shared) -> RecordAuthority:
    return RecordAuthority(shared.state, shared.identities, shared.points, shared.store)


def reconciler(shared: Shared) -> Reconciler:
    """The loop that makes access points come true."""
    return Reconciler(state=shared.state, region=shared.name, regions=shared.world.regions, clock=shared.clock,
                      buckets=partial(_bucket, shared.state), profile=shared.world.profile, create_delay_s=shared.world.create_delay_s,
                      log=shared.record.event)  # fmt: skip


def replication(shared: Shared) -> Replication:
    """The loops that copy what this region's buckets owe to others."""
    authority = authority_of(shared)
    seen = {"version": -1}

    async def changed() -> None:
        seen["version"] = await shared.state.changed(max(seen["version"], 0))

    def local() -> Iterable[str]:
        return [name for name, record in shared.state.items(BUCKETS) if record.region == shared.name]

    def configured() -> Iterable[tuple[str, Rules, str]]:
        seen["version"] = shared.state.version
        for name in local():
            record = shared.state.get(BUCKETS, name)
            rules = shared.rules.of(record) if record is not None else None
            if rules is not None:
                yield name, rules, rules.role

    def region_of(bucket: str) -> str | None:
        record = shared.state.get(BUCKETS, bucket)
        return None if record is None else record.region

    def may(caller: Caller, action: str, arn: str) -> bool:
        return _may(shared, authority, caller, action, arn)

    service = Caller("service", service=S3_SERVICE, name="s3-replication")
    return Replication(
        ReplicationHere(
            region=shared.name,
            store=shared.engine,
            clock=shared.clock,
            configured=configured,
            changed=changed,
            local=local,
            region_of=region_of,
            peer=shared.peer,
            assume=lambda role: shared.identities.assume(role, principal=service),
            may=may,
            dice=random.Random(os.urandom(8)).random,
            log=shared.record.event,
            published=ALL_THREE_BUCKETS_S if shared.world.profile == "aws" else (),
            nudge=shared.nudge,
        )
    )


def _may(shared: Shared, authority: RecordAuthority, caller: Caller, action: str, arn: str) -> bool:
    permit = Permit(
        authority, _NO_REQUEST, caller, _NO_PROOF, shared.clock.now(), shared.name, "Replication", {}
    )
    return permit.may(action, arn)


def gauges(copying: Replication) -> Iterable[Gauge]:
    """AWS's own metric names, per rule (S3 user guide, "Replication metrics")."""
    for row in copying.metrics():
        labels = {"bucket": row.bucket, "destination": row.destination}
        yield "atoll_replication_bytes_pending", "BytesPendingReplication", labels, row.bytes_pending
        yield "atoll_replication_operations_pending", "OperationsPendingReplication", labels, row.operations_pending
        yield "atoll_replication_latency_seconds", "ReplicationLatency", labels, row.latency_s
        yield "atoll_replication_operations_failed", "OperationsFailedReplication", labels, row.operations_failed
