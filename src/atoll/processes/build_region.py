"""Puts a region together: store, control state, services, gateway, replication."""

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

from atoll.control_store import ControlStore
from atoll.domain.api_call import Call
from atoll.domain.caller import Authentication, Caller
from atoll.domain.clock import Clock
from atoll.domain.http_message import Request
from atoll.domain.interfaces import Handler, Store
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.authorize import Authorization
from atoll.gateway.bound_service import BoundService, bind
from atoll.gateway.metrics import Gauge, Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.gateway.request_pipeline import Gateway
from atoll.gateway.service_time_emulation import ServiceTimeDelay
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.wrappers.reserved_space import ReservedSpaceStore
from atoll.processes.home_folder import Home
from atoll.processes.policy_lookup import RecordPolicyLookup
from atoll.processes.world_config import World
from atoll.rules.access_control_lists import ENFORCED
from atoll.rules.policy import validate
from atoll.rules.policy.context import request_context
from atoll.rules.policy.model import Context
from atoll.rules.published_latency import ALL_THREE_BUCKETS_S
from atoll.rules.replication_status import Rules
from atoll.rules.signature_verification import KeyCache
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.dependencies import Dependencies as IamDependencies
from atoll.services.iam.operations import OPERATIONS as IAM
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.dependencies import Dependencies as S3Dependencies
from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3.operations import OPERATIONS as S3
from atoll.services.s3.records import BUCKETS
from atoll.services.s3.replica_receiver import ReplicaDependencies, receive
from atoll.services.s3.replication import Replication, ReplicationDependencies
from atoll.services.s3control.access_points import MrapLookup, account_block
from atoll.services.s3control.dependencies import Dependencies as ControlDependencies
from atoll.services.s3control.operations import OPERATIONS as S3CONTROL
from atoll.services.s3control.reconciler import Reconciler
from atoll.services.s3control.records import MRAPS, mrap_key
from atoll.services.sts.dependencies import Dependencies as StsDependencies
from atoll.services.sts.operations import OPERATIONS as STS

CATCH_UP_S = 1.0  # a region that is behind the sender's control state waits so long for it
S3_SERVICE = "s3.amazonaws.com"
_NO_AUTHENTICATION = Authentication()
_NO_REQUEST = Request("PUT", "/", {})  # replication asks in its own name, outside any request


@dataclass(frozen=True, slots=True)
class Shared:
    """What the parts of one region have in common."""

    world: World
    name: str
    state: ControlStore
    engine: Store  # writes that nobody waits for: replication's own
    store: Store  # the same engine, its writes announced
    clock: Clock
    identities: Identities
    mraps: MrapLookup
    change_notifier: ChangeNotifier
    request_log: RequestLog
    metrics: Metrics
    rules: ReplicationRuleCache
    peer: Callable[[str], Handler]


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@asynccontextmanager
async def open_store(home: Home, name: str, clock: Clock) -> AsyncIterator[Store]:
    """The region's disk engine, which keeps a reserve of space for deletions."""
    engine = await DiskStore.open(home.store(name), origin_region=name, now_ms=lambda: int(clock.now() * 1000))
    try:
        yield ReservedSpaceStore(engine, partial(_free_bytes, home.store(name)), clock.monotonic)
    finally:
        await engine.close()


def _services(shared: Shared, policy_lookup: RecordPolicyLookup) -> Mapping[str, BoundService]:
    state, world, random_bytes = shared.state, shared.world, secrets.token_bytes
    s3 = S3Dependencies(
        store=shared.store,
        state=state,
        clock=shared.clock,
        region=shared.name,
        regions=world.regions,
        has_access_point=shared.mraps.attached,
        account_block=partial(account_block, state),
        random_bytes=random_bytes,
        compat=world.compat,
        principal_exists=shared.identities.exists,
        rules=shared.rules,
    )
    iam = IamDependencies(state, random_bytes, validate.check_identity_policy, validate.check_trust_policy)
    sts = StsDependencies(
        role=shared.identities.role,
        may_assume=shared.identities.may_assume,
        context=partial(_call_context, shared),
        encrypt_session=shared.identities.encrypt_session,
        random_bytes=random_bytes,
        check_session_policy=validate.check_identity_policy,
    )
    control = ControlDependencies(
        state=state,
        regions=world.regions,
        buckets=partial(_bucket, state),
        random_bytes=random_bytes,
        compat=world.compat,
        principal_exists=shared.identities.exists,
    )
    return {
        "s3": bind("s3", S3, s3),
        "iam": bind("iam", IAM, iam),
        "sts": bind("sts", STS, sts),
        "s3control": bind("s3control", S3CONTROL, control),
    }


def _bucket(state: ControlStore, name: str) -> tuple[str, str] | None:
    record = state.get(BUCKETS, name)
    return None if record is None else (record.region, record.account)


def _call_context(shared: Shared, call: Call) -> Context:
    forwarded = call.request.forwarded
    return request_context(
        request=call.request,
        caller=call.caller,
        authentication=forwarded.authentication if forwarded and forwarded.caller else _NO_AUTHENTICATION,
        now=call.now,
        region=shared.name,
        resource_account=call.account,
        params={},
        operation=call.operation,
    )


def gateway(shared: Shared, ids: RequestIds) -> Gateway:
    """The Handler that answers this region's API requests."""
    policy_lookup = policy_lookup_of(shared)
    replica = ReplicaDependencies(shared.engine, partial(_versioning, shared), owner=partial(_replica_owner, shared))
    return Gateway(
        region=shared.name,
        services=_services(shared, policy_lookup),
        authenticate=Authenticate(shared.identities, KeyCache(), shared.world.compat),
        policy_lookup=policy_lookup,
        receive=partial(receive, replica),
        named_mrap=partial(_named_mrap, shared),
        named_identity=shared.identities.named,
        catch_up=partial(_catch_up, shared.state),
        refresh=partial(refresh_if_changed, shared.state),
        clock=shared.clock,
        ids=ids,
        request_log=shared.request_log,
        metrics=shared.metrics,
        service_time=ServiceTimeDelay(shared.clock),
        compat=shared.world.compat,
    )


def refresh_if_changed(state: ControlStore) -> bool:
    """Look for what other processes committed; was there anything new?"""
    before = state.version
    state.refresh()
    return state.version != before


async def _catch_up(state: ControlStore, version: int) -> None:
    """Judge on no older control state than the sender had; when it does not come in time, on what there is."""
    if version <= state.version:
        return
    state.refresh()
    if version > state.version:
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):
                await state.changed(version - 1)


def _named_mrap(shared: Shared, params: Mapping[str, Any]) -> str:
    """An s3control call names its access point by its account and name (in a member or in Details), or by ARN."""
    details = params.get("Details")
    name = params.get("Mrap") or params.get("Name") or (details.get("Name") if isinstance(details, Mapping) else "")
    found = shared.mraps.by_arn(str(name)) or shared.state.get(MRAPS, mrap_key(str(params.get("AccountId")), str(name)))
    return found.arn if found is not None else ""


def _versioning(shared: Shared, bucket: str) -> str | None:
    record = shared.state.get(BUCKETS, bucket)
    return None if record is None or record.region != shared.name else record.versioning


def _replica_owner(shared: Shared, bucket: str, override: bool) -> str:
    """Whose a replica will be here; "" leaves it to the owner of its source. Source: S3 user guide, "Changing the replica
    owner", and "Controlling ownership of objects": where lists are off, everything is the bucket owner's."""
    record = shared.state.get(BUCKETS, bucket)
    return record.account if record is not None and (override or record.ownership == ENFORCED) else ""


def policy_lookup_of(shared: Shared) -> RecordPolicyLookup:
    return RecordPolicyLookup(shared.state, shared.identities, shared.mraps, shared.store)


def reconciler(shared: Shared) -> Reconciler:
    """The loop that makes access points come true."""
    return Reconciler(state=shared.state, region=shared.name, regions=shared.world.regions, clock=shared.clock,
                      buckets=partial(_bucket, shared.state), profile=shared.world.profile, create_delay_s=shared.world.create_delay_s,
                      log=shared.request_log.event)  # fmt: skip


def replication(shared: Shared) -> Replication:
    """The loops that copy what this region's buckets owe to others."""
    policy_lookup = policy_lookup_of(shared)
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
        return _may(shared, policy_lookup, caller, action, arn)

    service = Caller("service", service=S3_SERVICE, name="s3-replication")
    return Replication(
        ReplicationDependencies(
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
            uniform=random.Random(os.urandom(8)).random,
            log=shared.request_log.event,
            published=ALL_THREE_BUCKETS_S if shared.world.profile == "aws" else (),
            change_notifier=shared.change_notifier,
        )
    )


def _may(shared: Shared, policy_lookup: RecordPolicyLookup, caller: Caller, action: str, arn: str) -> bool:
    authorization = Authorization(
        policy_lookup, _NO_REQUEST, caller, _NO_AUTHENTICATION, shared.clock.now(), shared.name, "Replication", {}
    )
    return authorization.may(action, arn)


def gauges(copying: Replication) -> Iterable[Gauge]:
    """AWS's own metric names, per rule (S3 user guide, "Replication metrics")."""
    for row in copying.metrics():
        labels = {"bucket": row.bucket, "destination": row.destination}
        yield "atoll_replication_bytes_pending", "BytesPendingReplication", labels, row.bytes_pending
        yield "atoll_replication_operations_pending", "OperationsPendingReplication", labels, row.operations_pending
        yield "atoll_replication_latency_seconds", "ReplicationLatency", labels, row.latency_s
        yield "atoll_replication_operations_failed", "OperationsFailedReplication", labels, row.operations_failed
