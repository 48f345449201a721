import asyncio
import json

import pytest

from atoll.domain.http_message import Request
from atoll.gateway.request_log import RequestLog
from atoll.gateway.service_time_emulation import ServiceTimeSettings
from atoll.processes.process_mains import StopProcess, _bug_logger, _service_time_action, _service_times, _stoppable_group
from atoll.processes.world_config import load
from atoll.rules.published_latency import S3_API
from s3world import Ticks

WORLD = load(None)


def test_native_answers_go_at_once():
    assert _service_times(WORLD, "us-east-1") == ServiceTimeSettings()


def test_in_profile_aws_each_region_has_the_distribution_that_was_measured_inside_it():
    tokyo = _service_times(WORLD.with_settings("aws", None), "ap-northeast-1")
    assert tokyo.paths.keys() == {"mrap"}
    home = _service_times(WORLD.with_settings("aws", None), "us-east-1")
    assert home.paths.keys() == {"mrap", "single"}
    assert 2.718281828 ** home.paths["single"].mu == pytest.approx(S3_API["us-east-1", "single"].p50, rel=1e-6)


def test_a_lab_sets_the_pace_in_json():
    result = []
    body = json.dumps({"paths": {"mrap": {"mu": 3, "sigma": 0.1, "overhead_ms": 1.5}}, "seed": 9}).encode()
    assert asyncio.run(_service_time_action(result.append)(body)) == b"{}"
    assert (result[0].seed, result[0].paths["mrap"].overhead_ms) == (9, 1.5)


def test_to_leave_ends_all_tasks_quietly():
    async def whole():
        ended = []

        async def lasting():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(1)

        async with _stoppable_group() as group:
            group.create_task(lasting())
            await asyncio.sleep(0)
            raise StopProcess
        return ended

    assert asyncio.run(whole()) == [1]


def test_a_task_that_fails_is_not_hushed_up():
    async def whole():
        async def failing():
            raise ZeroDivisionError

        async with _stoppable_group() as group:
            group.create_task(failing())

    with pytest.raises(ExceptionGroup):
        asyncio.run(whole())


def test_a_bug_is_told_without_the_query_which_may_hold_a_signature(tmp_path, capsys):
    record = RequestLog(tmp_path / "p.jsonl", "p")
    _bug_logger(record, Ticks(1.0))(Request("GET", "/b/k?X-Amz-Signature=5ec7e7", {}), ValueError("x"))
    record.flush()
    assert "5ec7e7" not in (tmp_path / "p.jsonl").read_text() + capsys.readouterr().err
    assert "/b/k" in (tmp_path / "p.jsonl").read_text()
