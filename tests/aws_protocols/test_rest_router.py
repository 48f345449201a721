import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError

ACCOUNT = {"x-amz-account-id": "123456789012"}


def route(service, method, target, headers=ACCOUNT):
    path, _, query = target.partition("?")
    return codec(service).route(method, path, query, headers)


MRAP = "/v20180820/mrap/instances"
ASYNC = "/v20180820/async-requests/mrap"


@pytest.mark.parametrize(
    ("method", "target", "operation"),
    [
        ("POST", f"{ASYNC}/create", "CreateMultiRegionAccessPoint"),
        ("POST", f"{ASYNC}/delete", "DeleteMultiRegionAccessPoint"),
        ("POST", f"{ASYNC}/put-policy", "PutMultiRegionAccessPointPolicy"),
        ("GET", f"{ASYNC}/token", "DescribeMultiRegionAccessPointOperation"),
        ("GET", MRAP, "ListMultiRegionAccessPoints"),
        ("GET", f"{MRAP}/", "ListMultiRegionAccessPoints"),
        ("GET", f"{MRAP}?maxResults=3&nextToken=x", "ListMultiRegionAccessPoints"),
        ("GET", f"{MRAP}/name", "GetMultiRegionAccessPoint"),
        ("GET", f"{MRAP}/name/policy", "GetMultiRegionAccessPointPolicy"),
        ("GET", f"{MRAP}/name/policystatus", "GetMultiRegionAccessPointPolicyStatus"),
        ("GET", f"{MRAP}/name/routes", "GetMultiRegionAccessPointRoutes"),
        ("PATCH", f"{MRAP}/name/routes", "SubmitMultiRegionAccessPointRoutes"),
    ],
)
def test_the_ten_operations_of_multi_region_access_points(method, target, operation):
    assert route("s3control", method, target).operation == operation


def test_a_greedy_label_keeps_its_slashes_and_is_decoded_last():
    arn = "arn%3Aaws%3As3%3Aus-west-2%3A123456789012%3Aasync-request/mrap/create/tok123"
    assert route("s3control", "GET", f"{ASYNC}/{arn}").labels == {
        "request_token": "arn:aws:s3:us-west-2:123456789012:async-request/mrap/create/tok123"
    }


def test_a_known_suffix_is_stripped_from_a_greedy_label():
    arn = "arn%3Aaws%3As3%3A%3A123456789012%3Aaccesspoint/mfzwi23gnjvgw.mrap"
    found = route("s3control", "PATCH", f"{MRAP}/{arn}/routes")
    assert found.labels == {"mrap": "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap"}


def test_an_encoded_slash_is_part_of_a_label_that_is_not_greedy():
    found = route("lambda", "GET", "/2015-03-31/functions/arn%3Aaws%2Fx/policy", {})
    assert (found.operation, found.labels) == ("GetPolicy", {"FunctionName": "arn:aws/x"})


def test_a_word_in_the_query_tells_operations_apart():
    assert route("cloudfront", "POST", "/2020-05-31/tagging?Operation=Tag&Resource=x", {}).operation == "TagResource"
    assert route("cloudfront", "POST", "/2020-05-31/tagging?Operation=Untag&Resource=x", {}).operation == "UntagResource"


def test_operations_are_named_as_botocore_names_them():
    assert route("cloudfront", "GET", "/2020-05-31/distribution", {}).operation == "ListDistributions"


def test_an_operation_is_found_although_a_required_member_is_missing():
    assert route("s3control", "GET", MRAP, {}).operation == "ListMultiRegionAccessPoints"


def test_another_method_is_not_allowed_and_the_right_one_is_named():
    with pytest.raises(ApiError) as caught:
        route("s3control", "PUT", f"{MRAP}/name/routes")
    assert (caught.value.code, caught.value.headers) == ("MethodNotAllowed", {"allow": "GET, PATCH"})


def test_an_unknown_path_is_an_invalid_uri_in_xml_services():
    with pytest.raises(ApiError, match="InvalidURI"):
        route("s3control", "GET", "/v20180820/nothing/here")


def test_an_unknown_path_is_an_unknown_operation_in_json_services():
    with pytest.raises(ApiError, match="UnknownOperationException") as caught:
        route("lambda", "GET", "/nothing", {})
    assert caught.value.status == 404


def test_a_label_that_is_not_utf_8_is_invalid():
    with pytest.raises(ApiError, match="InvalidURI"):
        route("s3control", "GET", f"{MRAP}/%FF")
