import asyncio
import os

import pytest

from atoll.control_store import ControlStore
from atoll.gateway.metrics import Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.net.certificates import LeafCertificates, create_ca
from atoll.net.precise_timers import Timers
from atoll.processes.entry_listeners import Address, EntryPlace, Shared, link
from atoll.processes.world_config import load
from atoll.rules.endpoint_hostnames import parse_hostname
from atoll.services.iam.caller_lookup import Identities
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.services.s3control.access_points import MrapLookup
from s3world import ACCOUNT, Ticks

WORLD = load(None)


def entered(tmp_path, steps, place="ap-northeast-1"):
    async def whole():
        clock, state, timers = Ticks(1_800_000_000.0), ControlStore.memory(), Timers()
        record = BucketRecord(name="demo", region="eu-central-1", account=ACCOUNT, created_ms=1)
        await state.transact(lambda transaction: transaction.put(BUCKETS, "demo", record))
        leaf_certificates = LeafCertificates(create_ca(tmp_path, name="test", now=clock.now()), clock.now)
        shared = Shared(
            WORLD, state, Identities(state, os.urandom), MrapLookup(state), leaf_certificates, b"k" * 32, clock, timers, RequestLog(None, "entry"),
            Metrics("entry"), RequestIds(), {name: Address(1, 2) for name in WORLD.regions},
        )  # fmt: skip
        entry_place = EntryPlace(shared, place)
        try:
            steps(entry_place)
        finally:
            await entry_place.close()
            timers.close()
            state.close()

    asyncio.run(whole())


def test_the_links_of_a_place_are_those_of_the_world():
    far, same = link(WORLD, "ap-northeast-1", "us-east-1"), link(WORLD, "us-east-1", "us-east-1")
    assert (far.rtt_ms, same.rtt_ms, same.jitter_ms) == (146.4, 0.3, 0.0)
    assert 0 < far.jitter_ms * 3 <= WORLD.jitter_ms + 1e-9


def test_a_link_has_dice_of_its_own_and_the_same_ones_every_time():
    assert link(WORLD, "london", "us-east-1").seed == link(WORLD, "london", "us-east-1").seed
    assert link(WORLD, "london", "us-east-1").seed != link(WORLD, "mumbai", "us-east-1").seed


TUNNELS = [
    # a CONNECT to -> the region that ends it (None: here)
    ("demo.s3.us-east-1.amazonaws.com", "us-east-1"),
    ("s3.eu-central-1.amazonaws.com", "eu-central-1"),
    ("demo.s3.amazonaws.com", "eu-central-1"),
    ("unknown.s3.amazonaws.com", "us-east-1"),
    ("s3.amazonaws.com", "us-east-1"),
    ("sts.us-west-2.amazonaws.com", "us-west-2"),
    ("iam.amazonaws.com", "us-east-1"),
    (f"{ACCOUNT}.s3-control.us-west-2.amazonaws.com", "us-west-2"),
    (f"{ACCOUNT}.s3-control.ap-southeast-2.amazonaws.com", "ap-northeast-1"),
    ("lambda.us-west-2.amazonaws.com", "us-west-2"),
    ("mabc.mrap.accesspoint.s3-global.amazonaws.com", None),
    ("accesspoint.s3-global.amazonaws.com", None),
    ("demo.s3.sa-east-1.amazonaws.com", None),
    ("lambda.sa-east-1.amazonaws.com", None),
    ("127.0.0.1", None),
    ("[::1]", None),
    ("localhost", None),
    ("example.com", None),
    ("dynamodb.us-east-1.amazonaws.com", None),
]


@pytest.mark.parametrize(("name", "expected"), TUNNELS)
def test_where_a_tunnel_ends(tmp_path, name, expected):
    entered(tmp_path, lambda entry_place: check(entry_place._region(name, parse_hostname(name)), expected))


def check(found, expected):
    assert found == expected


def test_a_tunnel_to_control_leads_past_a_region_that_is_down(tmp_path):
    def steps(entry_place):
        for _ in range(5):
            entry_place.routing.region_selector.failed("us-east-1")
        assert entry_place._region("iam.amazonaws.com", parse_hostname("iam.amazonaws.com")) == "ap-northeast-1"
        assert entry_place._region("demo.s3.us-east-1.amazonaws.com", parse_hostname("demo.s3.us-east-1.amazonaws.com")) == "us-east-1"

    entered(tmp_path, steps)


def test_its_gauges_tell_what_was_measured_and_who_is_well(tmp_path):
    def steps(entry_place):
        entry_place.routing.region_selector.observe("us-west-2", 89.0)
        found = {(name, labels["region"]): value for name, _, labels, value in entry_place.gauges()}
        assert found["atoll_link_rtt_ms", "us-west-2"] == 89.0
        assert ("atoll_link_rtt_ms", "us-east-1") not in found
        assert found["atoll_region_healthy", "us-east-1"] == 1.0

    entered(tmp_path, steps)


def test_a_city_enters_through_its_nearest_region(tmp_path):
    entered(tmp_path, lambda entry_place: check(entry_place.entry_router.nearest[0], "eu-central-1"), place="london")
