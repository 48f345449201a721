import pytest

from atoll.aws_protocols import form_reader
from atoll.aws_protocols.service_models import load
from atoll.domain.errors import ApiError

IAM = load("iam")


def read(operation, form):
    return form_reader.read(IAM, IAM.operations[operation].input, form_reader.words("", form.encode()))


def refusal(operation, form):
    with pytest.raises(ApiError) as caught:
        read(operation, form)
    assert caught.value.status == 400
    return f"{caught.value}"


def test_lists_of_structures():
    form = "Action=TagUser&Version=1&UserName=a&Tags.member.2.Key=l&Tags.member.2.Value=&Tags.member.1.Key=k&Tags.member.1.Value=a+b%26"
    assert read("TagUser", form) == {"UserName": "a", "Tags": [{"Key": "k", "Value": "a b&"}, {"Key": "l", "Value": ""}]}


def test_ten_comes_after_nine():
    form = "UserName=a&" + "&".join(f"TagKeys.member.{i}=k{i}" for i in range(12, 0, -1))
    assert read("UntagUser", form)["TagKeys"] == [f"k{i}" for i in range(1, 13)]


def test_an_empty_list():
    assert read("TagUser", "UserName=a&Tags=") == {"UserName": "a", "Tags": []}


def test_numbers_and_truth_values():
    assert read("ListUsers", "MaxItems=3") == {"MaxItems": 3}
    assert read("ChangePassword", "OldPassword=a&NewPassword=b") == {"OldPassword": "a", "NewPassword": "b"}
    assert read("UpdateAccountPasswordPolicy", "RequireSymbols=true&HardExpiry=false") == {
        "RequireSymbols": True,
        "HardExpiry": False,
    }


def test_a_policy_keeps_its_line_breaks():
    document = '{"Version":\n"2012-10-17"}'
    form = "RoleName=r&PolicyName=p&PolicyDocument=%7B%22Version%22%3A%0A%222012-10-17%22%7D"
    assert read("PutRolePolicy", form)["PolicyDocument"] == document


def test_authentication_in_the_query_is_no_parameter():
    assert read("ListUsers", "X-Amz-Date=1&x-amz-signature=0&AWSAccessKeyId=A&Timestamp=now&Signature=s&SignatureVersion=2") == {}


@pytest.mark.parametrize(
    ("operation", "form", "result"),
    [
        ("TagUser", "Tags.member.1.Key=k&Tags.member.1.Value=v", "UserName is missing"),
        ("TagUser", "UserName=a&Tags.member.1.Key=k", "Tags.Value is missing"),
        ("TagUser", "UserName=a&Tags.member.x.Key=k", "numbered"),
        ("TagUser", "UserName=a&Tags.member.-1.Key=k", "numbered"),
        ("TagUser", "UserName=a&Tags.item.1.Key=k", "member"),
        ("TagUser", f"UserName=a&Tags.member.{'9' * 5000}.Key=k", "numbered"),
        ("TagUser", "UserName=a&UserName.=b", "no parameter UserName."),
        ("TagUser", "UserName.=b&UserName=a", "no parameter UserName."),
        ("TagUser", "UserName=a&Tags..1.Key=k", "no parameter Tags..1"),
        ("ListUsers", f"MaxItems={'9' * 5000}", "MaxItems: not within integer range"),
        ("ListUsers", "MaxItems=2147483648", "MaxItems: not within integer range"),
        ("TagUser", "UserName=a&Tags.member.1=k", "no parameter"),
        ("ListUsers", "Bogus=1", "Bogus"),
        ("ListUsers", "=1", "no parameter"),
        ("ListUsers", "MaxItems=x", "MaxItems"),
        ("ListUsers", "MaxItems.a=1", "MaxItems has one value"),
        ("ListUsers", "Marker=%FF", "cannot be read"),
        ("GetAccountSummary", "Bogus=1", "Bogus"),
        ("ListUsers", "a." * 20 + "b=1", "too deeply"),
        ("ListUsers", "&".join("a=1" for _ in range(form_reader.FIELDS_MAX + 1)), "cannot be read"),
    ],
)
def test_what_does_not_fit_is_a_named_validation_error(operation, form, result):
    message = refusal(operation, form)
    assert message.startswith("ValidationError")
    assert result in message


def test_a_form_that_is_not_utf_8_is_refused():
    with pytest.raises(ApiError, match="ValidationError"):
        form_reader.words("", b"Action=\xff")


def test_the_query_counts_when_there_is_no_document():
    assert form_reader.words("Action=A", b"") == [("Action", "A")]
    assert form_reader.words("Action=A", b"Action=B\r\n") == [("Action", "B")]


def test_maps_are_entries():
    assert form_reader.read(*entries("Map.entry.1.key=a&Map.entry.1.value=1&Map.entry.2.key=b&Map.entry.2.value=")) == {
        "Map": {"a": "1", "b": ""}
    }


def entries(form):
    """A small model of our own: neither IAM nor STS sends a map."""
    from atoll.aws_protocols.service_models import Model, Ref, Shape, _Document

    shapes = {
        "In": Shape("structure", members={"Map": Ref("Map")}),
        "Map": Shape("map", key=Ref("Text"), value=Ref("Text")),
        "Text": Shape("string"),
    }
    return Model("own", _Document(IAM.metadata, {}, shapes)), Ref("In"), form_reader.words("", form.encode())
