"""The support matrix against AWS's model, as botocore has it."""

import inspect

import botocore.session
import pytest

from atoll.services.iam.operations import OPERATIONS

MODEL = botocore.session.get_session().get_service_model("iam")
LATER = {"CreateRole": {"MaxSigninSessionDuration"}, "ListPolicies": {"PolicyUsageFilter"}}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_is_called_as_aws_calls_it_and_takes_its_members(name):
    taken = {
        parameter.name: parameter.default is parameter.empty
        for parameter in inspect.signature(OPERATIONS[name]).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    shape = MODEL.operation_model(name).input_shape
    assert OPERATIONS[name].__name__ == name
    assert {member for member, needed in taken.items() if needed} == set(shape.required_members)
    assert set(shape.members) - set(taken) == LATER.get(name, set())
    assert set(taken) <= set(shape.members)
