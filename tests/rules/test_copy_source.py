import pytest

from atoll.domain.errors import ApiError
from atoll.rules.copy_source import CopySource, parse


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("bkt/key", CopySource("bkt", "key")),
        ("/bkt/key", CopySource("bkt", "key")),
        ("bkt//key", CopySource("bkt", "/key")),
        ("bkt/a%20b%2Bc+d", CopySource("bkt", "a b+c+d")),
        ("bkt/a b", CopySource("bkt", "a b")),
        ("bkt%2Fa%252F", CopySource("bkt", "a%2F")),
        ("bkt/key?versionId=v1", CopySource("bkt", "key", "v1")),
        ("bkt/key%3FversionId=v1", CopySource("bkt", "key?versionId=v1")),
        ("bkt/key?other=v1", CopySource("bkt", "key?other=v1")),
        ("bkt/%C3%BC?versionId=null", CopySource("bkt", "ü", "null")),
    ],
)
def test_a_source_is_decoded_once_and_only_a_bare_question_mark_ends_the_key(text, source):
    assert parse(text) == source


@pytest.mark.parametrize("text", ["", "/", "bkt", "bkt/", "/bkt", "bkt/key?versionId="])
def test_a_source_without_bucket_key_or_version_is_malformed(text):
    with pytest.raises(ApiError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.details["ArgumentName"]) == ("InvalidArgument", "x-amz-copy-source")


def test_the_arn_of_an_access_point_is_refused_by_name():
    with pytest.raises(ApiError, match="NotImplemented.*access point"):
        parse("arn%3Aaws%3As3%3A%3A123456789012%3Aaccesspoint/m.mrap/object/a%20b/c")
