import math
from dataclasses import replace

import pytest

from atoll.gateway.service_time_emulation import PathServiceTime, ServiceTimeSettings
from atoll.lab import service_time_settings
from atoll.lab.client_workers import Callers, LabFailed
from atoll.lab.dataset import make
from atoll.lab.setup_resources import upload
from atoll.lab.temporary_world import temporary
from atoll.rules.published_latency import S3_API
from atoll.rules.service_time_distribution import Fit

pytestmark = pytest.mark.xdist_group("world")
OVERHEADS = {"single": {"us-east-1": 4.0}, "mrap": {"us-east-1": 5.0, "us-west-2": 6.0}}


def test_at_home_both_paths_are_drawn_each_less_its_own_cost():
    settings = service_time_settings.drawn("us-east-1", OVERHEADS, seed=1)
    fit = Fit.through(S3_API["us-east-1", "single"])
    assert settings.paths["single"] == PathServiceTime(fit.mu, fit.sigma, 4.0)
    assert settings.paths["mrap"].overhead_ms == 5.0


def test_elsewhere_only_the_access_point_is_drawn():
    assert set(service_time_settings.drawn("us-west-2", OVERHEADS, seed=1).paths) == {"mrap"}


def test_regions_draw_from_different_dice_and_the_same_ones_for_the_same_seed():
    one, other = service_time_settings.drawn("us-east-1", OVERHEADS, seed=1), service_time_settings.drawn("us-west-2", OVERHEADS, seed=1)
    assert one.seed != other.seed
    assert one == service_time_settings.drawn("us-east-1", OVERHEADS, seed=1)
    assert one.seed != service_time_settings.drawn("us-east-1", OVERHEADS, seed=2).seed


@pytest.fixture(scope="module")
def world():
    with temporary("native") as running:
        yield running


def test_a_region_takes_its_pace_and_reads_then_take_as_long_as_drawn(world):
    [file] = files = make(1, seed=1)
    with Callers(world.run, world.home.root, ["us-east-1"]) as callers:
        caller = callers["us-east-1"]
        caller.call("s3", "us-east-1", "CreateBucket", Bucket="pacing-test")
        caller.ask("open", ways={"single": ["us-east-1", "pacing-test"]})
        upload(caller, files)
        service_time_settings.set_service_times(world, {"us-east-1": ServiceTimeSettings({"single": PathServiceTime(math.log(300), 0.0, 50.0)})})
        slow = caller.ask("read", paths=["single"], files=[[file.key, file.md5]], rounds=1)["samples"]["single"]
        service_time_settings.set_service_times(world, {"us-east-1": service_time_settings.NO_DRAWS})
        fast = caller.ask("read", paths=["single"], files=[[file.key, file.md5]], rounds=3)["samples"]["single"]
    assert slow[0][0] >= 250
    assert min(value for one in fast for value in one) < 100


def test_a_pace_under_a_foreign_key_is_refused(world, tmp_path):
    (tmp_path / "node.key").write_bytes(b"x" * 32)
    foreign = replace(world, home=replace(world.home, root=tmp_path))
    with pytest.raises(LabFailed, match="us-east-1 did not take its pace: 403"):
        service_time_settings.set_service_times(foreign, {"us-east-1": service_time_settings.NO_DRAWS})


def test_a_region_that_is_not_there_is_named(world):
    nowhere = replace(world, run={"regions": {"us-west-2": {"port": 1}}})
    with pytest.raises(LabFailed, match="us-west-2 did not take its pace"):
        service_time_settings.set_service_times(nowhere, {"us-west-2": service_time_settings.NO_DRAWS})
