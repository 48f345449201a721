"""Finds the version that a call means, or the error that the caller may see."""

from __future__ import annotations

import re

from atoll.domain.api_call import Call
from atoll.domain.arn import bucket_arn
from atoll.domain.errors import ApiError
from atoll.domain.objects import NULL_VERSION, ObjectMetadata
from atoll.rules.access_control_lists import of_object
from atoll.services.s3.records import BucketRecord

VERSION_BYTES = 24  # of chance; 32 characters in base64url, as long as AWS's
_VERSION = re.compile(r"[A-Za-z0-9_.-]{32}")


def check_version(record: BucketRecord, version: str | None) -> str | None:
    """Raises InvalidArgument for an id that no version of this bucket can have."""
    if version in (None, NULL_VERSION):
        return version
    if not record.versioning or not _VERSION.fullmatch(version or ""):
        raise _invalid_version("versionId", version or "")
    return version


def check_version_marker(marker: str) -> str:
    """Raises InvalidArgument for a version-id-marker that is no version id. One that is gone still marks its place."""
    if marker != NULL_VERSION and not _VERSION.fullmatch(marker):
        raise _invalid_version("version-id-marker", marker)
    return marker


def _invalid_version(argument: str, value: str) -> ApiError:
    return ApiError("InvalidArgument", "Invalid version id specified", ArgumentName=argument, ArgumentValue=value)


def existing(call: Call, record: BucketRecord, key: str, version: str | None, metadata: ObjectMetadata | None) -> ObjectMetadata:
    """The version that was found, if it is an object.

    Raises NoSuchKey or NoSuchVersion (AccessDenied for who may not list the bucket), and for markers NoSuchKey or
    MethodNotAllowed with x-amz-delete-marker.
    """
    if metadata is None:
        raise not_found_error(call, record, key, version)
    if metadata.marker:
        raise _marker(call, record, key, version, metadata)
    check_reach(call, record, metadata)
    return metadata


def check_reach(call: Call, record: BucketRecord, metadata: ObjectMetadata) -> None:
    """A bucket's policy does not reach objects of other accounts: of them there may be some where lists are on, and then
    their list says that their owner has full control. Raises AccessDenied.

    Source: S3 user guide, "Controlling ownership of objects", "Bucket policies and user policies".
    """
    owner = of_object(metadata.owner, record.account, record.ownership)
    if owner not in (record.account, call.account):
        raise ApiError("AccessDenied", "Access Denied")


def not_found_error(call: Call, record: BucketRecord, key: str, version: str | None) -> ApiError:
    if not call.may("s3:ListBucket", bucket_arn(record.name)):
        return ApiError("AccessDenied", "Access Denied")
    if version is not None:
        return ApiError("NoSuchVersion", "The specified version does not exist.", Key=key, VersionId=version)
    return ApiError("NoSuchKey", "The specified key does not exist.", Key=key)


def _marker(call: Call, record: BucketRecord, key: str, version: str | None, metadata: ObjectMetadata) -> ApiError:
    headers = {"x-amz-delete-marker": "true", "x-amz-version-id": metadata.version}
    if version is not None:
        return ApiError(
            "MethodNotAllowed",
            "The specified method is not allowed against this resource.",
            headers={**headers, "allow": "DELETE"},
            Method=call.request.method,
            ResourceType="DeleteMarker",
        )
    error = not_found_error(call, record, key, None)
    if error.code == "NoSuchKey":
        error.headers.update(headers)
    return error


def version_members(record: BucketRecord, version: str) -> dict[str, str]:
    """The VersionId member of an answer: nothing in a bucket that never had versioning."""
    return {"VersionId": version} if record.versioning else {}
