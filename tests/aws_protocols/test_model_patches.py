"""Patches name what exists, and only what the model lacks."""

from atoll.aws_protocols import model_patches
from atoll.aws_protocols.service_models import load

S3 = load("s3")


def test_roots_belong_to_operations_whose_body_is_not_one_member():
    for name in model_patches.S3_ROOTS:
        assert not S3.shape(S3.operations[name].output).payload


def test_statuses_differ_from_the_model():
    for name, status in model_patches.S3_STATUS.items():
        assert S3.operations[name].http.response_code != status


def test_interleaved_members_are_lists_of_the_answer():
    for name, members in model_patches.INTERLEAVED.items():
        known = S3.members(S3.operations[name].output)
        assert all(known[member].type == "list" and known[member].flattened for member in members)


def test_codes_for_absent_documents_belong_to_operations():
    assert set(model_patches.EMPTY_DOCUMENT) <= set(S3.operations)


def test_conditions_by_date_are_headers_of_the_model():
    headers = {
        f.wire.lower() for op in S3.operations.values() for f in S3.members(op.input).values() if f.ref.location == "header"
    }
    assert headers >= model_patches.LENIENT_DATES
