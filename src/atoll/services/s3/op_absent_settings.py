"""Operations on settings that a bucket cannot have yet: they answer that nothing is set.

Their Put operations are not built and answer NotImplemented. Nothing at rest is encrypted, so GetBucketEncryption gives
S3's answer for a bucket without encryption.
"""

from __future__ import annotations

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies


async def GetBucketCors(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    raise ApiError("NoSuchCORSConfiguration", "The CORS configuration does not exist", BucketName=Bucket)


async def GetBucketLifecycleConfiguration(
    deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    raise ApiError("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist", BucketName=Bucket)


async def GetBucketWebsite(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    raise ApiError(
        "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration", BucketName=Bucket
    )


async def GetBucketEncryption(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    raise ApiError(
        "ServerSideEncryptionConfigurationNotFoundError",
        "The server side encryption configuration was not found",
        BucketName=Bucket,
    )


async def GetObjectLockConfiguration(
    deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    raise ApiError(
        "ObjectLockConfigurationNotFoundError",
        "Object Lock configuration does not exist for this bucket",
        BucketName=Bucket,
    )


async def GetBucketLogging(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    return OperationOutput()


async def GetBucketAccelerateConfiguration(
    deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    return OperationOutput()


async def GetBucketNotificationConfiguration(
    deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    return OperationOutput()


async def GetBucketRequestPayment(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    return OperationOutput({"Payer": "BucketOwner"})
