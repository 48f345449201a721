"""The actions that a call requires, and on which resources.

One entry for all services; the tables are in actions_s3.py and actions_iam.py. An operation that stands in no table needs
the action of its own name on everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll.domain.arn import object_arn
from atoll.rules.policy.action_names import known_action
from atoll.rules.policy.required_action import ActionResolver, CallDetails, RequiredAction, own_name
from atoll.rules.policy.required_actions_control_plane import (
    iam_required_actions,
    s3control_required_actions,
    sts_required_actions,
)
from atoll.rules.policy.required_actions_s3 import (
    OBJECTS,
    copy_tags_required_actions,
    delete_required_actions,
    s3_required_actions,
    source_required_action,
)

__all__ = ["RequiredAction", "copy_tags_required_actions", "delete_required_actions", "known_action", "object_required_action", "required", "source_required_action"]

_SERVICES: Mapping[str, ActionResolver] = {"s3": s3_required_actions, "s3control": s3control_required_actions, "iam": iam_required_actions, "sts": sts_required_actions}
_NO_HEADERS: Mapping[str, str] = {}


def object_required_action(operation: str, bucket: str, key: str, *, version: bool) -> RequiredAction | None:
    """The one need of an S3 operation that takes one action on its object: the data plane's way. None for the others."""
    actions = OBJECTS.get(operation)
    return None if actions is None else RequiredAction(actions[version], object_arn(bucket, key))


def required(
    service: str,
    operation: str,
    params: Mapping[str, object],
    *,
    bucket: str = "",
    key: str = "",
    version: bool = False,
    account: str = "",
    headers: Mapping[str, str] = _NO_HEADERS,
    source: tuple[str, str, str] | None = None,
    access_point: str = "",
    caller_arn: str = "",
    identity: str = "",
) -> tuple[RequiredAction, ...]:
    """What must be allowed before the operation runs; empty when nothing must, or when the operation asks per key.

    `service` is botocore's name, `account` the one that owns the world. `source` is (bucket, key, version or "") of a copy.
    `access_point`: ARN of the Multi-Region Access Point that an s3control call names, when its alias is known.
    `identity`: ARN, with its path, of the user or role that an IAM call names, when there is such a one.
    `caller_arn` stands in where IAM takes a missing UserName as the caller.
    """
    plain = object_required_action(operation, bucket, key, version=version) if service == "s3" else None
    if plain is not None:
        return (plain,)
    call = CallDetails(operation, params, bucket, key, version, account, headers, source, access_point, caller_arn, identity)
    return tuple(_SERVICES.get(service, own_name(service))(call))
