"""Conditions: the tables of RFC 9110 §13.2.2 and of S3's conditional writes, row by row."""

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import ALWAYS, Condition, ObjectMetadata, Stamp
from atoll.rules.conditional_requests import bare_etag, copy_condition, judge_read, judge_write, same_etag, write_condition

DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
BEFORE = "Wed, 21 Oct 2015 07:27:59 GMT"
AFTER = "Wed, 21 Oct 2015 07:28:01 GMT"
NOW = ObjectMetadata(etag="e", modified_ms=1_445_412_480_999)  # 07:28:00.999: clients see whole seconds


def code(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ApiError as fault:
        return (fault.status, fault.code, *fault.details.values())
    return 200


def current(etag="e", *, ms=100, marker=False):
    return ObjectMetadata(etag=etag, marker=marker, stamp=Stamp(ms, "here", "v1"))


@pytest.mark.parametrize(
    ("condition", "now", "output"),
    [
        (ALWAYS, None, 200),
        (ALWAYS, current(), 200),
        (Condition(if_none_match=True), None, 200),
        (Condition(if_none_match=True), current(marker=True), 200),
        (Condition(if_none_match=True), current(), (412, "PreconditionFailed", "If-None-Match")),
        (Condition(if_match="e"), current(), 200),
        (Condition(if_match='"e"'), current(), 200),
        (Condition(if_match="other"), current(), (412, "PreconditionFailed", "If-Match")),
        (Condition(if_match="e"), None, (404, "NoSuchKey")),
        (Condition(if_match="e"), current(marker=True), (404, "NoSuchKey")),
    ],
)
def test_a_write_is_judged_against_what_is_current(condition, now, output):
    assert code(judge_write, condition, now) == output


@pytest.mark.parametrize(
    ("condition", "now", "output"),
    [
        (Condition(if_none_match=True, began_ms=50), None, 200),
        (Condition(if_none_match=True, began_ms=50, was_there=True), None, (409, "ConditionalRequestConflict", "If-None-Match")),
        (Condition(if_none_match=True, began_ms=50), current(ms=99), (412, "PreconditionFailed", "If-None-Match")),
        (Condition(if_none_match=True, began_ms=50), current(ms=99, marker=True), (409, "ConditionalRequestConflict", "If-None-Match")),
        (Condition(if_none_match=True, began_ms=50), current(ms=49, marker=True), 200),
        (Condition(if_match="e", began_ms=50), current(ms=49), 200),
        (Condition(if_match="e", began_ms=50), current(ms=50), 200),
        (Condition(if_match="old", began_ms=50), current(ms=49), (412, "PreconditionFailed", "If-Match")),
        (Condition(if_match="e", began_ms=50), current(ms=51), (409, "ConditionalRequestConflict", "If-Match")),
        (Condition(if_match="old", began_ms=50), current(ms=51), (409, "ConditionalRequestConflict", "If-Match")),
        (Condition(if_match="e", began_ms=50), None, (404, "NoSuchKey")),
        (Condition(if_match="e", began_ms=50), current(ms=51, marker=True), (404, "NoSuchKey")),
    ],
)
def test_a_completion_is_judged_against_what_happened_during_the_upload(condition, now, output):
    assert code(judge_write, condition, now) == output


@pytest.mark.parametrize(
    ("if_match", "if_none_match", "condition"),
    [
        (None, None, ALWAYS),
        (None, "*", Condition(if_none_match=True)),
        ('"e"', None, Condition(if_match="e")),
        ("e", None, Condition(if_match="e")),
        ("&quot;e&quot;", None, Condition(if_match="e")),
    ],
)
def test_the_forms_of_write_conditions_that_s3_takes(if_match, if_none_match, condition):
    assert write_condition(if_match, if_none_match) == condition


@pytest.mark.parametrize(
    ("if_match", "if_none_match", "header"),
    [(None, '"e"', "If-None-Match"), ("*", None, "If-Match"), ('"e"', "*", "If-Match,If-None-Match")],
)
def test_the_other_forms_are_refused_by_name(if_match, if_none_match, header):
    assert code(write_condition, if_match, if_none_match) == (501, "NotImplemented", header)


MATCH_FAILED = (412, "PreconditionFailed", "If-Match")
UNMODIFIED_FAILED = (412, "PreconditionFailed", "If-Unmodified-Since")
NOT_MODIFIED = (304, "NotModified")


@pytest.mark.parametrize(
    ("headers", "output"),
    [
        ({}, 200),
        ({"if_match": '"e"'}, 200),
        ({"if_match": "*"}, 200),
        ({"if_match": '"x", "e"'}, 200),
        ({"if_match": '"x"'}, MATCH_FAILED),
        ({"if_unmodified_since": DATE}, 200),
        ({"if_unmodified_since": AFTER}, 200),
        ({"if_unmodified_since": BEFORE}, UNMODIFIED_FAILED),
        ({"if_match": '"e"', "if_unmodified_since": BEFORE}, 200),
        ({"if_match": '"x"', "if_unmodified_since": AFTER}, MATCH_FAILED),
        ({"if_none_match": '"x"'}, 200),
        ({"if_none_match": '"e"'}, NOT_MODIFIED),
        ({"if_none_match": "*"}, NOT_MODIFIED),
        ({"if_none_match": 'W/"e"'}, NOT_MODIFIED),
        ({"if_none_match": '"x","e"'}, NOT_MODIFIED),
        ({"if_modified_since": DATE}, NOT_MODIFIED),
        ({"if_modified_since": AFTER}, NOT_MODIFIED),
        ({"if_modified_since": BEFORE}, 200),
        ({"if_none_match": '"e"', "if_modified_since": BEFORE}, NOT_MODIFIED),
        ({"if_none_match": '"x"', "if_modified_since": AFTER}, 200),
        ({"if_match": '"x"', "if_none_match": '"e"'}, MATCH_FAILED),
        ({"if_match": '"e"', "if_none_match": '"e"'}, NOT_MODIFIED),
        ({"if_modified_since": "yesterday"}, 200),
        ({"if_unmodified_since": "0"}, 200),
        ({"if_modified_since": ""}, 200),
        ({"if_modified_since": "Wed, 99 Oct 2015 07:28:00 GMT"}, 200),
        ({"if_modified_since": "Wed, 21 Oct 2015 07:28:00"}, NOT_MODIFIED),
    ],
)
def test_reads_are_judged_in_the_order_of_the_rfc(headers, output):
    assert code(judge_read, NOW, **headers) == output


def test_not_modified_carries_the_validators():
    with pytest.raises(ApiError) as caught:
        judge_read(NOW, if_none_match="*")
    assert caught.value.headers == {"etag": '"e"', "last-modified": DATE}


@pytest.mark.parametrize(
    ("headers", "output"),
    [
        ({}, 200),
        ({"if_match": '"e"', "if_unmodified_since": BEFORE}, 200),
        ({"if_match": '"x"'}, "If-Match"),
        ({"if_unmodified_since": BEFORE}, "If-Unmodified-Since"),
        ({"if_none_match": '"e"'}, "If-None-Match"),
        ({"if_modified_since": AFTER}, "If-Modified-Since"),
        ({"if_none_match": '"x"', "if_modified_since": AFTER}, 200),
        ({"if_match": '"e"', "if_none_match": '"e"'}, "If-None-Match"),
    ],
)
def test_a_copy_whose_source_condition_fails_is_always_412(headers, output):
    wanted = output if output == 200 else (412, "PreconditionFailed", f"x-amz-copy-source-{output}")
    assert code(copy_condition, NOW, **headers) == wanted


@pytest.mark.parametrize("text", ["e", '"e"', ' "e" ', 'W/"e"', "&quot;e&quot;", "&#34;e&#34;"])
def test_an_etag_is_the_same_in_any_dress(text):
    assert bare_etag(text) == "e"
    assert same_etag(text, "e")
