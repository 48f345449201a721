import pytest

from atoll.lab import headline

LOSS = {
    "region": "ap-northeast-1", "before_p50_ms": 30.4, "after_p50_ms": 135.2, "reads": 62, "failed_reads": 2,
    "failed_for_s": 0.034, "first_answer_after_s": 0.21, "answered_by": "us-west-2",
}  # fmt: skip


def without(result, *names):
    return {**result, "cells": [], "propagation": {**result["propagation"], **{name: [] for name in names}}}


def test_it_is_computed_from_the_run(result):
    assert headline.headline(result("aws")) == (
        "Read in Tokyo: 100 ms from one bucket in Virginia, 10 ms through the access point. "
        "An overwrite is stale there for 21.8 s. "
        "The set-up costs $0.55 a month for 1,200 files of 1 KB overwritten daily and 10,000 reads a day."
    )


def test_the_published_figures_stand_beside_it(result):
    assert headline.published(result("aws")) == "Published for AWS: 174 ms, 30 ms, 22.2 s, $0.54."


def test_what_was_not_measured_is_not_told(result):
    reads_only = {**result("aws"), "propagation": {"readable_through_mrap_s": []}}
    assert "stale" not in headline.headline(reads_only)
    assert "Read in Tokyo" in headline.headline(reads_only)
    overwrites_only = without(result("aws"))
    assert headline.headline(overwrites_only).startswith("An overwrite is stale there for 21.8 s. The set-up costs")
    assert headline.headline(without(result("aws"), "readable_through_mrap_s")) == ""


def test_short_times_are_not_rounded_to_nothing(result):
    result = result("native")
    result["propagation"]["readable_through_mrap_s"] = [0.123]
    assert "stale there for 0.12 s" in headline.headline(result)


def test_the_loss_of_a_region_says_how_long_reads_failed(result):
    assert headline.loss({**result("aws"), "loss": LOSS}) == (
        "Tokyo's region was killed under reads through the access point (client without retries): 2 of 62 reads failed, within "
        "0.03 s; the first answer came after 0.21 s, from Oregon. A read took 30 ms before and 135 ms after."
    )
    assert "no read failed;" in headline.loss({**result("aws"), "loss": {**LOSS, "failed_reads": 0}})
    assert headline.loss(result("aws")) == ""


def test_native_says_why_it_is_faster(result):
    assert "faster than AWS because it adds no service time (AWS: 28.6 ms" in headline.native(result("native"))
    assert headline.native(result("aws")) == ""


def test_a_busy_machine_is_named(result):
    result = {**result("aws"), "machine": {"cpus": 2}}
    assert headline.busy({**result, "load_before": 3.14}) == "The machine was busy (load 3.1 on 2 CPUs): times here are too high."
    assert headline.busy({**result, "load_before": 2.0}) == headline.busy(result) == ""


def test_what_is_real_and_what_is_emulated_is_told_apart(result):
    assert "replication lag" in headline.instrument(result("aws"))
    assert headline.instrument(result("native")).endswith("Emulated: distances.")


@pytest.mark.parametrize("profile", ["aws", "native"])
def test_a_partial_result_names_what_is_missing(result, profile):
    stages = {"finished": ["world", "setup"], "unfinished": ["copies", "reads"], "stopped": "interrupted"}
    text = headline.partial({**result(profile), "partial": True, "stages": stages})
    assert text == "PARTIAL: interrupted; finished: world, setup; not finished: copies, reads."
    assert headline.partial({**result(profile), "partial": False, "stages": stages}) == ""
