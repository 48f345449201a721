"""A mesh of three regions under random writes, deletes, partitions and crashes: in the end all show the same."""

import asyncio
from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atoll.domain.objects import Key
from services.s3.replication_world import World

NAMES = ("virginia", "tokyo", "oregon")
KEYS = ("a", "b")
PAIRS = [frozenset(pair) for pair in combinations(NAMES, 2)]

region = st.sampled_from(NAMES)
key = st.sampled_from(KEYS)
move = st.one_of(
    st.tuples(st.just("put"), region, key),
    st.tuples(st.just("mark"), region, key),
    st.tuples(st.just("cut"), st.sampled_from(PAIRS)),
    st.tuples(st.just("mend"), st.sampled_from(PAIRS)),
    st.tuples(st.just("kill"), region),
    st.tuples(st.just("lose"), region),
    st.tuples(st.just("wait"), st.sampled_from([0.1, 1.0, 5.0])),
)


async def make(world, what, *where):
    match what:
        case "put" | "mark":
            await getattr(world[where[0]], what)(where[1])
        case "cut":
            world.cut.add(where[0])
        case "mend":
            world.cut.discard(where[0])
        case "kill":
            await world.stop(where[0], kill=True)
            world.start(where[0])
        case "lose":
            world[where[0]].drop_responses = not world[where[0]].drop_responses
        case "wait":
            await world.pass_time(where[0])


async def calm(world):
    world.cut.clear()
    for each in world.regions.values():
        each.drop_responses = False
    await world.pass_time(3)  # what is under way still fails
    for name in NAMES:
        for _, _, replication in world.running.values():
            replication.region_recovered(name)
    await world.pass_time(30)
    assert [m.operations_pending for name in NAMES for m in world.metrics(name).values()] == [0] * 6


async def versions(each):
    rows = await each.store.scan(f"b-{each.name}", versions=True)
    return [(row.name, row.metadata.version, row.metadata.stamp, row.metadata.marker, row.latest) for row in rows]


def mesh(seed):
    world = World(*NAMES, seed=seed)
    world.mesh()
    for each, skew_ms in zip(world.regions.values(), (0, 10_000, -10_000), strict=True):
        each.skew_ms = skew_ms
        each.delay = lambda: world.uniform.random() * 3
    return world


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(move, max_size=40), st.integers(0, 1000))
def test_all_regions_come_to_show_the_same_current_version_and_nothing_circulates(moves, seed):
    async def scene():
        world = mesh(seed)
        async with world.started():
            for each in moves:
                await make(world, *each)
            await calm(world)
            shown = [await versions(each) for each in world.regions.values()]
            assert shown[0] == shown[1] == shown[2]
            made = len(shown[0])
            assert sum(each.replica_counters.stored for each in world.regions.values()) == 2 * made
            requests = [len(each.requests) for each in world.regions.values()]
            await world.pass_time(10)
            assert [len(each.requests) for each in world.regions.values()] == requests
            headers = [await world[name].status(row[0], row[1]) for name in NAMES for row in shown[0]]
            assert (headers.count("COMPLETED"), headers.count("REPLICA")) == (made, 2 * made)

    asyncio.run(scene())


def test_two_writes_of_one_key_at_once_with_clocks_ten_seconds_apart_end_the_same_everywhere():
    async def scene():
        world = mesh(1)
        async with world.started():
            await world["virginia"].put("k", b"virginia")
            await world["oregon"].put("k", b"oregon")
            await calm(world)
            assert [await world[name].read("k") for name in NAMES] == [b"virginia"] * 3
            assert sum(each.replica_counters.replication_conflicts for each in world.regions.values()) == 1

    asyncio.run(scene())


def test_a_write_after_a_read_wins_although_its_regions_clock_is_slow():
    async def scene():
        world = mesh(1)
        async with world.started():
            await world["tokyo"].put("k", b"first")
            await world.pass_time(5)
            assert await world["oregon"].read("k") == b"first"
            await world["oregon"].put("k", b"second")
            await calm(world)
            assert [await world[name].read("k") for name in NAMES] == [b"second"] * 3
            assert sum(each.replica_counters.replication_conflicts for each in world.regions.values()) == 0

    asyncio.run(scene())


def test_changes_of_tags_in_two_regions_at_once_end_the_same_everywhere():
    async def scene():
        world = mesh(2)
        world.mesh(SourceSelectionCriteria={"ReplicaModifications": {"Status": "Enabled"}})
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(10)
            await world["tokyo"].tag("k", {"by": "tokyo"}, original.version)
            await world["oregon"].tag("k", {"by": "oregon"}, original.version)
            await calm(world)
            assert [(await world[name].head("k")).tags for name in NAMES] == [{"by": "tokyo"}] * 3

    asyncio.run(scene())


def test_a_version_deleted_by_its_id_in_one_region_of_a_mesh_stays_in_the_others_and_does_not_come_back():
    async def scene():
        world = mesh(3)
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(10)
            await world["tokyo"].store.delete(Key("b-tokyo", "k"), original.version)
            await calm(world)
            assert [await world[name].head("k") is not None for name in NAMES] == [True, False, True]

    asyncio.run(scene())
