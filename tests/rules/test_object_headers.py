import pytest

from atoll.domain.errors import ApiError
from atoll.rules import object_headers


def test_names_are_lower_case_and_utf_8_in_a_header_is_text():
    assert object_headers.user_metadata({"MTime": "1", "n": "ü".encode().decode("latin-1"), "l": "\xfc"}) == {"mtime": "1", "n": "ü", "l": "ü"}
    assert object_headers.user_metadata(None) == {}


def test_text_that_no_header_can_carry_is_an_encoded_word():
    assert object_headers.response_metadata({"a": "plain", "b": "名", "c": "two\nlines"}) == {
        "a": "plain",
        "b": "=?UTF-8?B?5ZCN?=",
        "c": "=?UTF-8?B?dHdvCmxpbmVz?=",
    }


def test_two_kib_of_names_and_values_is_the_most():
    object_headers.user_metadata({"k": "x" * 2047})
    with pytest.raises(ApiError) as caught:
        object_headers.user_metadata({"k": "x" * 2048})
    assert caught.value.details == {"Size": "2049", "MaxSizeAllowed": "2048"}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("aws-chunked", None), ("gzip,aws-chunked", "gzip"), ("AWS-Chunked, gzip , br", "gzip,br"), ("gzip", "gzip"), ("", None)],
)
def test_aws_chunked_is_framing_and_not_stored(sent, kept):
    assert object_headers.system_headers({"content-encoding": sent}).get("content-encoding") == kept


def test_what_was_not_sent_is_not_stored_except_a_type():
    assert object_headers.system_headers({"content-type": None, "cache-control": None}) == {"content-type": "binary/octet-stream"}
    assert object_headers.system_headers({"content-type": "a/b", "expires": "0"}) == {"content-type": "a/b", "expires": "0"}


@pytest.mark.parametrize(("name", "code"), [("STANDARD_IA", "NotImplemented"), ("cold", "InvalidStorageClass"), ("", "InvalidStorageClass")])
def test_everything_is_standard(name, code):
    object_headers.check_storage_class(None)
    object_headers.check_storage_class("STANDARD")
    with pytest.raises(ApiError, match=code):
        object_headers.check_storage_class(name)
