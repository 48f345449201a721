"""What do settings say that this bucket cannot have yet? Clients ask before they work; the truth is: nothing is set.

Their Put operations are not built and answer NotImplemented. Nothing at rest is encrypted, so GetBucketEncryption gives
S3's answer for a bucket without encryption.
"""

from __future__ import annotations

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here


async def GetBucketCors(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    raise ApiError("NoSuchCORSConfiguration", "The CORS configuration does not exist", BucketName=Bucket)


async def GetBucketLifecycleConfiguration(
    here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    raise ApiError("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist", BucketName=Bucket)


async def GetBucketWebsite(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    raise ApiError(
        "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration", BucketName=Bucket
    )


async def GetBucketEncryption(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    raise ApiError(
        "ServerSideEncryptionConfigurationNotFoundError",
        "The server side encryption configuration was not found",
        BucketName=Bucket,
    )


async def GetObjectLockConfiguration(
    here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    raise ApiError(
        "ObjectLockConfigurationNotFoundError",
        "Object Lock configuration does not exist for this bucket",
        BucketName=Bucket,
    )


async def GetBucketLogging(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    return Answer()


async def GetBucketAccelerateConfiguration(
    here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    return Answer()


async def GetBucketNotificationConfiguration(
    here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    return Answer()


async def GetBucketRequestPayment(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    return Answer({"Payer": "BucketOwner"})
