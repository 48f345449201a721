"""The public testing module, used as an outsider would."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from atoll import testing
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.processes.client_environment import NoSuchPlace
from atoll.testing import FakeClock, Faulty, MemoryStore, memory_region

RUN = {
    "account": "123456789012", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret", "regions": {"us-east-1": {}},
    "places": [{"name": "us-east-1", "port": 4566, "region": "us-east-1"}, {"name": "london", "port": 4567, "region": "us-east-1"}],
}  # fmt: skip


def loaded(statement):
    """What an import brings, beyond pytest."""
    program = f"import sys, pytest; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30).stdout.split()


def test_the_plugin_costs_a_run_that_does_not_use_it_nothing():
    assert loaded("import atoll.testing.plugin") == ["atoll", "atoll.testing", "atoll.testing.plugin"]


def test_a_public_name_is_loaded_when_it_is_used():
    assert "atoll.testing.in_memory_region" in loaded("from atoll.testing import FakeClock")
    assert "atoll.gateway.request_pipeline" not in loaded("from atoll.testing import AtollWorld")


def test_every_public_name_is_there_and_no_other():
    assert all(getattr(testing, name).__name__ == name for name in testing.__all__)
    with pytest.raises(AttributeError, match="no attribute Fake"):
        _ = testing.Fake


def test_a_client_without_boto3_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(RuntimeError, match="pip install boto3"):
        testing.AtollWorld(tmp_path).client("s3")


def test_a_client_stands_in_its_place_whatever_the_shell_has_set(tmp_path, monkeypatch):
    """boto3 reads its surroundings once, when the client is made; afterwards they are as they were."""
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    for name, value in {"AWS_PROFILE": "work", "AWS_ENDPOINT_URL_S3": "http://elsewhere", "NO_PROXY": "*", "AWS_REGION": "x"}.items():
        monkeypatch.setenv(name, value)
    world = testing.AtollWorld(tmp_path)
    assert (world.places, world.regions, world.account) == (("us-east-1", "london"), ("us-east-1",), "123456789012")
    client = world.client("s3", "london")
    assert (client.meta.region_name, client.meta.endpoint_url) == ("us-east-1", "https://s3.amazonaws.com")
    assert client._endpoint.http_session._proxy_config.proxy_url_for("https://s3.us-east-1.amazonaws.com/") == "http://127.0.0.1:4567"
    assert client._endpoint.http_session._verify == str(tmp_path / "ca.pem")
    assert os.environ["AWS_PROFILE"] == "work"
    assert world.client("s3", "london", region_name="eu-central-1").meta.region_name == "eu-central-1"


def test_a_place_that_there_is_not_is_answered_with_those_that_are(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    with pytest.raises(NoSuchPlace, match="there are: us-east-1, london"):
        testing.AtollWorld(tmp_path).client("s3", "paris")


def test_a_folder_without_a_world_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no world in"):
        testing.AtollWorld(tmp_path)


def test_a_command_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=r"atoll up --detach --world .*none.toml: .*there is no such file"), testing.atoll_world(tmp_path / "w", tmp_path / "none.toml"):
        pass


async def text(response):
    return (await response.body.read_small(100_000)).decode()


def test_time_stands_still_until_it_is_moved():
    async def scenario():
        clock = FakeClock(100.0)
        await clock.advance(22)
        return clock.now(), clock.monotonic()

    assert asyncio.run(scenario()) == (122.0, 122.0)


def test_sleepers_wake_in_the_order_of_their_moments_and_see_them():
    async def scenario():
        clock, woken = FakeClock(0.0), []

        async def sleeper(name, seconds):
            await clock.sleep(seconds)
            woken.append((name, clock.now()))

        async with asyncio.TaskGroup() as group:
            for name, seconds in (("late", 5.0), ("early", 1.0), ("between", 3.0)):
                group.create_task(sleeper(name, seconds))
            await clock.advance(10)
        return woken

    assert asyncio.run(scenario()) == [("early", 1.0), ("between", 3.0), ("late", 5.0)]


def test_who_sleeps_again_is_woken_again_within_one_advance():
    async def scenario():
        clock, ticks = FakeClock(0.0), []

        async def ticking():
            while True:
                await clock.sleep(1.0)
                ticks.append(clock.now())

        async with asyncio.TaskGroup() as group:
            task = group.create_task(ticking())
            await clock.advance(3.5)
            task.cancel()
        return ticks

    assert asyncio.run(scenario()) == [1.0, 2.0, 3.0]


def test_a_sleeper_that_gave_up_disturbs_nobody():
    async def scenario():
        clock = FakeClock(0.0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(clock.sleep(1.0))
            await clock.advance(0.5)
            task.cancel()
            await clock.advance(1.0)
        return clock.now()

    assert asyncio.run(scenario()) == 1.5


def test_sleeping_for_no_time_returns():
    asyncio.run(FakeClock().sleep(0))


def test_a_region_in_memory_keeps_objects_behind_checked_signatures():
    async def scenario():
        async with memory_region() as region:
            assert (await region.ask("PUT", "/bucket")).status == 200
            assert (await region.ask("PUT", "/bucket/a/b.txt", b"hello")).status == 200
            return await text(await region.ask("GET", "/bucket/a/b.txt"))

    assert asyncio.run(scenario()) == "hello"


def test_a_region_in_memory_refuses_strangers():
    async def scenario():
        async with memory_region() as region:
            await region.ask("PUT", "/bucket")
            return await region.handler(Request("GET", "/bucket/key", {"host": "127.0.0.1"}))

    assert asyncio.run(scenario()).status == 403


def test_a_region_in_memory_answers_iam_too():
    async def scenario():
        async with memory_region() as region:
            body = b"Action=CreateUser&Version=2010-05-08&UserName=ann"
            kind = {"content-type": "application/x-www-form-urlencoded"}
            return await text(await region.ask("POST", "/", body, kind, service="iam"))

    assert "<UserName>ann</UserName>" in asyncio.run(scenario())


def test_a_fault_of_the_store_reaches_the_client_in_awss_words():
    async def scenario():
        faulty = Faulty(MemoryStore("us-east-1", lambda: 1_800_000_000_000))
        async with memory_region(store=faulty) as region:
            await region.ask("PUT", "/bucket")
            faulty.fail("put", ApiError("ServiceUnavailable", "disk full"))
            refused = await region.ask("PUT", "/bucket/key", b"x")
            after = await region.ask("GET", "/bucket/key")
            return refused.status, await text(refused), after.status

    status, document, after = asyncio.run(scenario())
    assert (status, after) == (503, 404)
    assert "disk full" in document


@pytest.mark.parametrize(("compat", "status"), [("lenient", 200), ("strict", 409)])
def test_the_compat_of_the_region_can_be_chosen(compat, status):
    async def scenario():
        async with memory_region("eu-central-1", compat=compat) as region:
            body = (
                b'<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                b"<LocationConstraint>eu-central-1</LocationConstraint></CreateBucketConfiguration>"
            )
            await region.ask("PUT", "/bucket", body)
            return (await region.ask("PUT", "/bucket", body)).status

    assert asyncio.run(scenario()) == status
