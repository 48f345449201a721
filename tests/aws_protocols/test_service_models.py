import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from atoll.aws_protocols.service_models import Model, Ref, load

SERVICES = "s3 s3control iam sts cloudfront globalaccelerator transfer s3files lambda route53 efs".split()


@pytest.mark.parametrize("service", SERVICES)
def test_operations_and_members_are_those_of_botocore(service):
    theirs = ServiceModel(Loader().load_service_model(service, "service-2"), service)
    ours = load(service)
    assert list(ours.operations) == list(theirs.operation_names)
    for name in theirs.operation_names:
        shape = theirs.operation_model(name).input_shape
        assert list(ours.members(ours.operations[name].input)) == (list(shape.members) if shape else [])


def test_a_service_without_a_model_is_a_lookup_error():
    with pytest.raises(LookupError, match="'nothing'"):
        load("nothing")


def test_a_model_is_loaded_once():
    assert load("sts") is load("sts")


def test_names_carry_no_api_version():
    assert load("cloudfront").operations["CreateDistribution"].name == "CreateDistribution"


def test_a_reference_adds_to_its_shape():
    model = load("s3")
    fields = model.members(model.operations["PutObject"].input)
    assert (fields["ACL"].ref.location, fields["ACL"].wire, fields["ACL"].type) == ("header", "x-amz-acl", "string")
    assert fields["Body"].streaming
    assert model.payload(model.operations["PutObject"].input) is fields["Body"]
    assert model.payload(model.operations["ListBuckets"].output) is None
    assert model.members(None) == {}


def test_lists_and_maps_know_what_they_hold():
    iam = load("iam")
    tags = iam.members(iam.operations["TagUser"].input)["Tags"]
    assert iam.item(tags.shape).type == "structure"
    with pytest.raises(AssertionError):
        iam.entry(tags.shape)
    with pytest.raises(AssertionError):
        iam.item(iam.item(tags.shape).shape)


def test_prose_is_not_kept():
    assert not hasattr(load("s3").shape(Ref("GetObjectRequest")), "documentation")
    assert isinstance(load("s3"), Model)
