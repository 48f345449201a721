import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import Key, Part
from atoll.domain.quotas import PART_MIN_BYTES
from atoll.rules import multipart_uploads
from atoll.rules.multipart_uploads import Claim


def test_an_upload_id_tells_its_region_and_is_url_safe():
    upload = multipart_uploads.upload_id("ap-southeast-2", bytes(range(232, 256)))
    assert multipart_uploads.region_of_upload(upload) == "ap-southeast-2"
    assert upload.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("text", ["", "x", "nonsense", "a/b", "ü", "fGFiYw"])
def test_other_texts_are_no_upload_ids(text):
    assert multipart_uploads.region_of_upload(text) is None


def test_an_upload_id_that_a_region_can_have_issued_has_all_its_random_bytes():
    issued = multipart_uploads.upload_id("eu-west-1", bytes(multipart_uploads.UPLOAD_ID_BYTES))
    assert multipart_uploads.issued_by(issued) == "eu-west-1"
    for text in ("", "whatever", issued[:-1], issued + "A", multipart_uploads.upload_id("eu-west-1", b"short"), multipart_uploads.upload_id("", bytes(24))):
        assert multipart_uploads.issued_by(text) is None


def test_parts_lie_in_the_folder_of_their_upload_in_order_of_their_numbers():
    assert multipart_uploads.folder("bkt", "id") == Key("bkt!uploads", "id/")
    names = [multipart_uploads.part_key("bkt", "id", number).name for number in (1, 9, 10, 9999, 10_000)]
    assert names == sorted(names)
    assert [multipart_uploads.part_number(name) for name in names] == [1, 9, 10, 9999, 10_000]


@pytest.mark.parametrize("number", [-1, 0, 10_001])
def test_numbers_go_from_1_to_10000(number):
    with pytest.raises(ApiError, match="InvalidArgument"):
        multipart_uploads.check_number(number)


def _claims(*numbers: int) -> list[Claim]:
    return [Claim(number, f"e{number}", {}) for number in numbers]


@pytest.mark.parametrize(("numbers", "code"), [((2, 1), "InvalidPartOrder"), ((1, 1), "InvalidPartOrder"), ((), "InvalidRequest")])
def test_claims_rise_strictly(numbers, code):
    with pytest.raises(ApiError, match=code):
        multipart_uploads.check_order(_claims(*numbers), "id")


def test_gaps_matter_only_for_checksummed_parts():
    multipart_uploads.check_order(_claims(1, 3), "id")
    multipart_uploads.check_numbering(_claims(1, 2), "id")
    with pytest.raises(ApiError, match="InvalidPartOrder"):
        multipart_uploads.check_numbering(_claims(1, 3), "id")


def test_claims_pick_parts_and_only_the_last_may_be_small():
    held = {1: Part(1, PART_MIN_BYTES, "e1"), 2: Part(2, PART_MIN_BYTES - 1, "e2"), 3: Part(3, 0, "e3")}
    assert multipart_uploads.select_parts(_claims(1, 2), held, "id") == [held[1], held[2]]
    with pytest.raises(ApiError) as caught:
        multipart_uploads.select_parts(_claims(1, 2, 3), held, "id")
    assert (caught.value.code, caught.value.details["PartNumber"]) == ("EntityTooSmall", "2")


@pytest.mark.parametrize("claim", [Claim(2, "e2", {}), Claim(1, "other", {})])
def test_a_claim_that_fits_no_part_is_invalid(claim):
    with pytest.raises(ApiError) as caught:
        multipart_uploads.select_parts([claim], {1: Part(1, 5, "e1")}, "id")
    details = {"UploadId": "id", "PartNumber": str(claim.number), "ETag": claim.etag}
    assert (caught.value.code, caught.value.details) == ("InvalidPart", details)
