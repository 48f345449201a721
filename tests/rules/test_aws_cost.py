from dataclasses import replace
from decimal import Decimal

import pytest

from atoll.rules.aws_cost import (
    LEFT_OUT,
    PRICES,
    PUBLISHED,
    Copied,
    Counters,
    MissingPrice,
    Plan,
    Price,
    of_counters,
    of_plan,
)

THREE = ("ap-northeast-1", "us-west-2", "eu-central-1")


def test_the_published_month_comes_out_to_the_last_digit():
    estimate = of_plan(PUBLISHED)
    assert estimate.terms() == {
        "replication_put": Decimal("0.5436"),
        "cross_region_transfer": Decimal("0.00216"),
        "replica_storage": Decimal("0.000087"),
        "mrap_routing": Decimal("0.00099"),
    }
    assert estimate.total == Decimal("0.546837")


def test_puts_are_priced_at_each_destination():
    lines = [line for line in of_plan(PUBLISHED).lines if line.term == "replication_put"]
    assert [(line.where, line.quantity, line.amount) for line in lines] == [
        ("ap-northeast-1", Decimal(36_000), Decimal("0.1692")),
        ("us-west-2", Decimal(36_000), Decimal("0.1800")),
        ("eu-central-1", Decimal(36_000), Decimal("0.1944")),
    ]


def test_transfer_and_routing_count_gigabytes_of_ten_to_the_nine():
    by_term = {line.term: line for line in of_plan(PUBLISHED).lines}
    assert by_term["cross_region_transfer"].quantity * 3 == Decimal("0.108")
    assert by_term["mrap_routing"].quantity == Decimal("0.3")


def test_almost_all_of_it_are_requests():
    assert round(of_plan(PUBLISHED).shares()["replication_put"], 1) == Decimal("99.4")


def test_shares_add_up_to_a_hundred():
    assert round(sum(of_plan(PUBLISHED).shares().values()), 9) == 100


def test_without_destinations_only_routing_is_left():
    estimate = of_plan(replace(PUBLISHED, to=()))
    assert estimate.terms() == {"mrap_routing": Decimal("0.00099")}


def test_twice_the_overwrites_cost_twice_the_requests_and_transfer_but_no_more_storage():
    once, twice = of_plan(PUBLISHED).terms(), of_plan(replace(PUBLISHED, overwrites_a_day=Decimal(2))).terms()
    assert twice["replication_put"] == 2 * once["replication_put"]
    assert twice["cross_region_transfer"] == 2 * once["cross_region_transfer"]
    assert twice["replica_storage"] == once["replica_storage"]


def test_a_users_own_numbers():
    plan = Plan(5000, 20_000, Decimal(2), Decimal(100), 30, ("eu-central-1",))
    assert of_plan(plan).terms() == {
        "replication_put": Decimal("1.62"),  # 300,000 PUTs
        "cross_region_transfer": Decimal("0.12"),  # 6 GB
        "replica_storage": Decimal("0.00245"),  # 0.1 GB
        "mrap_routing": Decimal("0.000198"),  # 0.06 GB
    }


def test_nothing_costs_nothing_and_has_no_shares():
    estimate = of_plan(Plan(0, 0, Decimal(0), Decimal(0), 0, THREE))
    assert estimate.total == 0
    assert set(estimate.shares().values()) == {Decimal(0)}


def test_a_missing_price_is_an_error_that_names_its_key():
    with pytest.raises(MissingPrice, match=r"put_per_1000\.sa-east-1") as raised:
        of_plan(replace(PUBLISHED, to=("sa-east-1",)))
    assert raised.value.key == "put_per_1000.sa-east-1"


def test_an_own_price_is_used_and_listed():
    prices = {**PRICES, "route_gb": Price(Decimal(1), "given", "me")}
    estimate = of_plan(PUBLISHED, prices)
    assert estimate.terms()["mrap_routing"] == Decimal("0.3")
    assert estimate.prices["route_gb"].source == "me"


def test_only_prices_that_were_used_are_listed_and_all_have_a_date():
    estimate = of_plan(replace(PUBLISHED, to=("us-west-2",)))
    assert set(estimate.prices) == {"put_per_1000.us-west-2", "xfer_gb", "storage_gb_month.us-west-2", "route_gb"}
    assert all(price.quoted for price in PRICES.values())


def test_old_versions_are_charged_in_the_source_too():
    prices = {**PRICES, "storage_gb_month.us-east-1": Price(Decimal("0.023"), "given", "me")}
    estimate = of_plan(replace(PUBLISHED, kept_days=10), prices)
    old = [(line.where, line.quantity) for line in estimate.lines if line.term == "old_versions"]
    assert old == [(region, Decimal("0.012")) for region in ("us-east-1", *THREE)]


def test_the_published_plan_keeps_no_old_versions():
    assert "old_versions" not in of_plan(PUBLISHED).terms()


def test_counters_of_the_same_work_give_the_same_sum():
    copied = dict.fromkeys(THREE, Copied(puts=36_000, bytes_sent=36_000_000, bytes_kept=1_200_000))
    counted = of_counters(Counters(copied, mrap_bytes=300_000_000))
    assert counted.total == of_plan(PUBLISHED).total
    assert counted.terms() == of_plan(PUBLISHED).terms()


def test_where_the_figures_come_from_is_told():
    assert of_plan(PUBLISHED).origin == "plan"
    assert of_counters(Counters({}, 0)).origin == "counters"


def test_in_a_mesh_of_three_a_version_costs_at_two_destinations_and_never_at_its_origin():
    one_version_born_in_oregon = {
        "ap-northeast-1": Copied(1, 1000, 0),
        "us-west-2": Copied(0, 0, 0),
        "eu-central-1": Copied(1, 1000, 0),
    }
    assert of_counters(Counters(one_version_born_in_oregon, 0)).terms()["replication_put"] == Decimal("0.0000101")


def test_what_has_no_price_here_is_named():
    assert {"mrap_acceleration", "replication_time_control", "replication_metrics", "source_requests"} <= set(LEFT_OUT)
