"""Errors: the caller's (ApiError), a peer's (Upstream); everything else is a fault of ours."""

from __future__ import annotations

from collections.abc import Mapping

# HTTP status of each error code that Atoll answers. Source: S3, IAM, STS and S3 Control API references, "Error responses".
STATUS: Mapping[str, int] = {
    "PermanentRedirect": 301,
    "TemporaryRedirect": 307,
    "NotModified": 304,
    "AuthorizationHeaderMalformed": 400,
    "AuthorizationQueryParametersError": 400,
    "BadDigest": 400,
    "BadRequest": 400,
    "BucketHasAccessPointsAttached": 400,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "ExpiredToken": 400,
    "IllegalLocationConstraintException": 400,
    "IllegalVersioningConfigurationException": 400,
    "IncompleteBody": 400,
    "InvalidArgument": 400,
    "InvalidBucketName": 400,
    "InvalidBucketOwnerAWSAccountID": 400,
    "InvalidBucketAclWithObjectOwnership": 400,
    "AccessControlListNotSupported": 400,
    "InvalidDigest": 400,
    "InvalidLocationConstraint": 400,
    "InvalidPart": 400,
    "InvalidPartOrder": 400,
    "InvalidRequest": 400,
    "InvalidStorageClass": 400,
    "InvalidTag": 400,
    "InvalidToken": 400,
    "InvalidURI": 400,
    "KeyTooLongError": 400,
    "MalformedPolicy": 400,
    "MalformedXML": 400,
    "MaxMessageLengthExceeded": 400,
    "MetadataTooLarge": 400,
    "MissingSecurityHeader": 400,
    "RequestTimeout": 400,
    "RequestHeaderSectionTooLarge": 400,
    "TooManyBuckets": 400,
    "TooManyMultiRegionAccessPoints": 400,
    "TooManyMultiRegionAccessPointregionsError": 400,
    "UnexpectedContent": 400,
    "XAmzContentSHA256Mismatch": 400,
    "AccessDenied": 403,
    "InvalidAccessKeyId": 403,
    "RequestTimeTooSkewed": 403,
    "SignatureDoesNotMatch": 403,
    "NoSuchAsyncRequest": 404,
    "NoSuchBucket": 404,
    "NoSuchBucketPolicy": 404,
    "NoSuchCORSConfiguration": 404,
    "NoSuchKey": 404,
    "NoSuchLifecycleConfiguration": 404,
    "NoSuchMultiRegionAccessPoint": 404,
    "NoSuchPublicAccessBlockConfiguration": 404,
    "NoSuchTagSet": 404,
    "NoSuchUpload": 404,
    "NoSuchVersion": 404,
    "NoSuchWebsiteConfiguration": 404,
    "ObjectLockConfigurationNotFoundError": 404,
    "OwnershipControlsNotFoundError": 404,
    "ReplicationConfigurationNotFoundError": 404,
    "ServerSideEncryptionConfigurationNotFoundError": 404,
    "MethodNotAllowed": 405,
    "BucketAlreadyExists": 409,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "ClientTokenConflict": 409,
    "ConditionalRequestConflict": 409,
    "InvalidBucketState": 409,
    "OperationAborted": 409,
    "MissingContentLength": 411,
    "PreconditionFailed": 412,
    "InvalidRange": 416,
    "InvalidPartNumber": 416,
    "InternalError": 500,
    "NotImplemented": 501,
    "ServiceUnavailable": 503,
    "SlowDown": 503,
    # IAM and STS (query protocol)
    "EntityAlreadyExists": 409,
    "DeleteConflict": 409,
    "LimitExceeded": 409,
    "NoSuchEntity": 404,
    "MalformedPolicyDocument": 400,
    "ValidationError": 400,
    "InvalidAction": 400,
    "InvalidInput": 400,
    "PackedPolicyTooLarge": 400,
    "InvalidClientTokenId": 403,
    "MissingAuthenticationToken": 403,
    "IncompleteSignature": 400,
    "ExpiredTokenException": 400,
}


class ApiError(Exception):
    """The caller's fault (or a refusal of ours) in AWS's words.

    `code` and `status` are AWS's, `message` is ours, `details` are further elements of the error document in order,
    `headers` go onto the response. Raised where it is known, written once, by the gateway.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        status: int = 0,
        headers: Mapping[str, str] | None = None,
        **details: str,
    ) -> None:
        self.code = code
        self.message = message or code
        self.status = status or STATUS[code]
        self.headers = dict(headers or {})
        self.details = details
        super().__init__(f"{code}: {self.message}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.code, self.message, self.status, self.headers, self.details))


def _rebuild(code: str, message: str, status: int, headers: dict[str, str], details: dict[str, str]) -> ApiError:
    return ApiError(code, message, status=status, headers=headers, **details)


def not_implemented(what: str) -> ApiError:
    """501 that names what Atoll lacks: an operation, a parameter, a header."""
    return ApiError("NotImplemented", f"Atoll does not implement {what}.")


class Upstream(Exception):
    """A peer's fault: unreachable, cut short, or an answer that makes no sense. Worth a retry elsewhere or later."""


class Unreachable(Upstream):
    """Nobody took the connection: nothing was sent, and nobody is there."""


class Incomplete(Upstream):
    """A body ended before its announced length, or without its end mark: never a success."""
