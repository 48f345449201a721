import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.domain.resource_names import ALIAS
from atoll.rules.multi_region_access_point import (
    ALIAS_BYTES,
    LENIENT_EXTRA_OPS,
    OPERATIONS,
    REGIONS,
    TOKEN_BYTES,
    RouteUpdate,
    alias,
    alias_of_arn,
    check_control_region,
    check_name,
    check_operation,
    digest,
    is_access_point_arn,
    request_arn,
    update_traffic_dials,
)

ACCOUNT = "123456789012"
ARN = f"arn:aws:s3::{ACCOUNT}:accesspoint/mfzwi23gnjvgw.mrap"
MEMBERS = {"us-east-1": "east", "eu-central-1": "centre", "ap-northeast-1": "tokyo"}
ALL_ON = dict.fromkeys(MEMBERS, 100)


def refusal(function, *arguments):
    with pytest.raises(ApiError) as refused:
        function(*arguments)
    return refused.value


@pytest.mark.parametrize("compat", ["lenient", "strict"])
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_what_an_access_point_takes_is_taken_in_both_modes(operation, compat):
    check_operation(operation, compat)


@pytest.mark.parametrize("operation", sorted(LENIENT_EXTRA_OPS))
def test_what_tools_need_besides_is_taken_where_compat_is_lenient(operation):
    check_operation(operation, "lenient")
    assert (refusal(check_operation, operation, "strict").code, refusal(check_operation, operation, "strict").status) == ("MethodNotAllowed", 405)


@pytest.mark.parametrize("compat", ["lenient", "strict"])
@pytest.mark.parametrize(
    "operation",
    ["ListObjectVersions", "GetBucketLocation", "UploadPartCopy", "SelectObjectContent", "GetObjectAttributes", "PutBucketPolicy",
     "GetBucketVersioning", "DeleteBucket", "PostObject", "ListBuckets"],
)  # fmt: skip
def test_everything_else_is_405(operation, compat):
    error = refusal(check_operation, operation, compat)
    assert (error.code, error.status) == ("MethodNotAllowed", 405)
    assert operation in error.message


def test_there_are_seventeen_regions():
    assert len(REGIONS) == 17


@pytest.mark.parametrize(
    ("operation", "region", "answers"),
    [
        ("CreateMultiRegionAccessPoint", "us-west-2", True),
        ("CreateMultiRegionAccessPoint", "us-east-1", False),
        ("GetMultiRegionAccessPoint", "eu-west-1", False),
        ("SubmitMultiRegionAccessPointRoutes", "us-east-1", True),
        ("SubmitMultiRegionAccessPointRoutes", "ap-northeast-1", True),
        ("GetMultiRegionAccessPointRoutes", "eu-central-1", False),
        ("GetMultiRegionAccessPointRoutes", "", False),
    ],
)
def test_where_strict_control_operations_are_answered(operation, region, answers):
    check_control_region(operation, region, "lenient")
    if answers:
        check_control_region(operation, region, "strict")
    else:
        error = refusal(check_control_region, operation, region, "strict")
        assert (error.code, error.status, error.details) == ("PermanentRedirect", 301, {})


@pytest.mark.parametrize("name", ["abc", "a-1", "a" * 50, "0-0"])
def test_names_that_aws_takes(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "ab", "a" * 51, "-ab", "ab-", "Abc", "a_b", "a.b", "a/b", "abc\n"])
def test_names_that_aws_refuses(name):
    assert refusal(check_name, name).code == "InvalidRequest"


@given(st.binary(min_size=ALIAS_BYTES, max_size=ALIAS_BYTES))
def test_an_alias_has_the_shape_that_was_seen(random_bytes):
    assert re.fullmatch(r"m[0-9a-z]{12}\.mrap", alias(random_bytes))
    assert ALIAS.fullmatch(alias(random_bytes))


def test_different_dice_make_different_aliases():
    assert len({alias(number.to_bytes(ALIAS_BYTES)) for number in range(1000)}) == 1000


@given(st.binary(min_size=TOKEN_BYTES, max_size=TOKEN_BYTES), st.sampled_from(("create", "delete", "put-policy")))
def test_a_request_token_is_94_characters_of_base64url(random_bytes, verb):
    arn = request_arn(ACCOUNT, verb, random_bytes)
    assert re.fullmatch(rf"arn:aws:s3:us-west-2:{ACCOUNT}:async-request/mrap/{verb}/[A-Za-z0-9_-]{{94}}", arn)


def test_the_arn_of_an_access_point_holds_its_alias():
    assert is_access_point_arn(ARN)
    assert alias_of_arn(ARN) == "mfzwi23gnjvgw.mrap"


@pytest.mark.parametrize(
    "text",
    [
        "", "random", "mfzwi23gnjvgw.mrap", "name", f"{ARN}/object/k", "arn:aws:s3::1:accesspoint/m.mrap",
        f"arn:aws:s3:us-east-1:{ACCOUNT}:accesspoint/name", f"arn:aws:s3::{ACCOUNT}:accesspoint/name", "arn:aws:s3:::bucket", f"{ARN}\n",
    ],
)  # fmt: skip
def test_anything_else_is_not_the_arn_of_an_access_point(text):
    assert not is_access_point_arn(text)
    assert alias_of_arn(text) is None


def test_the_order_of_members_does_not_change_what_a_request_says():
    assert digest({"Name": "a", "Regions": [{"Bucket": "b", "BucketAccountId": "1"}]}) == digest(
        {"Regions": [{"BucketAccountId": "1", "Bucket": "b"}], "Name": "a"}
    )


@pytest.mark.parametrize("other", [{"Name": "b"}, {"Name": "a", "Regions": []}, {}, {"Name": ["a"]}])
def test_another_body_is_another_request(other):
    assert digest({"Name": "a"}) != digest(other)


@pytest.mark.parametrize("update", [RouteUpdate("east", "", 0), RouteUpdate("", "us-east-1", 0), RouteUpdate("east", "us-east-1", 0)])
def test_a_route_is_named_by_bucket_by_region_or_by_both(update):
    assert update_traffic_dials(MEMBERS, ALL_ON, [update]) == {**ALL_ON, "us-east-1": 0}


def test_failover_swaps_one_active_and_one_passive_region():
    before = {"us-east-1": 100, "eu-central-1": 0, "ap-northeast-1": 0}
    updates = [RouteUpdate("", "us-east-1", 0), RouteUpdate("", "eu-central-1", 100)]
    assert update_traffic_dials(MEMBERS, before, updates) == {"us-east-1": 0, "eu-central-1": 100, "ap-northeast-1": 0}


def test_the_last_active_route_stays():
    error = refusal(update_traffic_dials, MEMBERS, {**ALL_ON, "us-east-1": 0, "eu-central-1": 0}, [RouteUpdate("tokyo", "", 0)])
    assert (error.code, error.status) == ("InvalidRequest", 400)
    assert "one route must stay active" in error.message


@pytest.mark.parametrize(
    "updates",
    [
        pytest.param([RouteUpdate("", "us-east-1", 50)], id="half"),
        pytest.param([RouteUpdate("", "us-east-1", -1)], id="negative"),
        pytest.param([RouteUpdate("", "us-east-1", 101)], id="too much"),
        pytest.param([RouteUpdate("", "sa-east-1", 0)], id="a region without a member"),
        pytest.param([RouteUpdate("elsewhere", "", 0)], id="a bucket that is no member"),
        pytest.param([RouteUpdate("tokyo", "us-east-1", 0)], id="a bucket in another region"),
        pytest.param([RouteUpdate("", "", 0)], id="nothing named"),
        pytest.param([RouteUpdate("east", "", 0), RouteUpdate("", "us-east-1", 100)], id="twice"),
        pytest.param([], id="nothing at all"),
    ],
)
def test_updates_that_make_no_sense_are_refused(updates):
    error = refusal(update_traffic_dials, MEMBERS, ALL_ON, updates)
    assert (error.code, error.status) == ("InvalidRequest", 400)


def test_one_region_has_nowhere_to_fail_over_to():
    error = refusal(update_traffic_dials, {"us-east-1": "east"}, {"us-east-1": 100}, [RouteUpdate("", "us-east-1", 100)])
    assert (error.code, error.status) == ("MethodNotAllowed", 405)


updates = st.lists(
    st.builds(lambda region, traffic_dial: RouteUpdate("", region, traffic_dial), st.sampled_from(sorted(MEMBERS)), st.sampled_from((0, 100))),
    min_size=1,
    max_size=3,
    unique_by=lambda update: update.region,
)


@given(st.lists(updates, max_size=20))
def test_whatever_is_submitted_one_route_stays_active_and_unnamed_ones_keep_their_value(history):
    traffic_dials = ALL_ON
    for submitted in history:
        wanted = {**traffic_dials, **{update.region: update.traffic_dial for update in submitted}}
        if any(wanted.values()):
            traffic_dials = update_traffic_dials(MEMBERS, traffic_dials, submitted)
            assert traffic_dials == wanted
        else:
            assert refusal(update_traffic_dials, MEMBERS, traffic_dials, submitted).code == "InvalidRequest"
