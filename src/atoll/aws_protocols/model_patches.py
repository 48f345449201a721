"""What the service models lack, each with its reason.

The models do not name the root elements that S3 answers with (its SDKs ignore them, other clients do not), nor the namespaces
of answers; and a few statuses and routes differ from what AWS really does. Source: S3 API reference, "Response Syntax" of each
operation.
"""

from __future__ import annotations

from collections.abc import Mapping

S3_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"

NAMESPACES: Mapping[str, str] = {
    "s3": S3_NAMESPACE,
    "s3control": "http://awss3control.amazonaws.com/doc/2018-08-20/",
    "cloudfront": "http://cloudfront.amazonaws.com/doc/2020-05-31/",
    "route53": "https://route53.amazonaws.com/doc/2013-04-01/",
}

# Root elements of S3 answers whose body is not a single member. The rest is called after the operation, plus "Result".
S3_ROOTS: Mapping[str, str] = {
    "CreateMultipartUpload": "InitiateMultipartUploadResult",
    "DeleteObjects": "DeleteResult",
    "GetBucketAccelerateConfiguration": "AccelerateConfiguration",
    "GetBucketAcl": "AccessControlPolicy",
    "GetBucketCors": "CORSConfiguration",
    "GetBucketLifecycle": "LifecycleConfiguration",
    "GetBucketLifecycleConfiguration": "LifecycleConfiguration",
    "GetBucketLocation": "LocationConstraint",
    "GetBucketLogging": "BucketLoggingStatus",
    "GetBucketNotification": "NotificationConfiguration",
    "GetBucketNotificationConfiguration": "NotificationConfiguration",
    "GetBucketRequestPayment": "RequestPaymentConfiguration",
    "GetBucketTagging": "Tagging",
    "GetBucketVersioning": "VersioningConfiguration",
    "GetBucketWebsite": "WebsiteConfiguration",
    "GetObjectAcl": "AccessControlPolicy",
    "GetObjectAttributes": "GetObjectAttributesResponse",
    "GetObjectTagging": "Tagging",
    "ListBucketAnalyticsConfigurations": "ListBucketAnalyticsConfigurationResult",
    "ListBucketIntelligentTieringConfigurations": "ListBucketIntelligentTieringConfigurationsOutput",
    "ListBucketInventoryConfigurations": "ListInventoryConfigurationsResult",
    "ListBucketMetricsConfigurations": "ListMetricsConfigurationsResult",
    "ListBuckets": "ListAllMyBucketsResult",
    "ListDirectoryBuckets": "ListAllMyDirectoryBucketsResult",
    "ListObjectVersions": "ListVersionsResult",
    "ListObjects": "ListBucketResult",
    "ListObjectsV2": "ListBucketResult",
}

# Statuses of success where the model says 200 and S3 says otherwise.
S3_STATUS: Mapping[str, int] = {"PutBucketPolicy": 204}

# Two lists of one answer that S3 writes interleaved. The operation gives `_entries`: (member, item) pairs in order.
ENTRIES = "_entries"
INTERLEAVED: Mapping[str, tuple[str, ...]] = {"ListObjectVersions": ("Versions", "DeleteMarkers")}

# Error code of an absent document where it is not MalformedXML.
EMPTY_DOCUMENT: Mapping[str, str] = {"PutBucketVersioning": "IllegalVersioningConfigurationException"}

# Query names without which another one makes no sense: an UploadPart without its upload must never become a PutObject.
INSEPARABLE: Mapping[tuple[str, str], str] = {("PUT", "partNumber"): "uploadId"}

# Presigned query names that are not applied as headers: JavaScript's getSignedUrl puts the checksum of nothing there.
UNSIGNED_HINTS: tuple[str, ...] = ("x-amz-checksum-", "x-amz-sdk-checksum-algorithm")

# RFC 9110 §13.1.3, §13.1.4: a date that cannot be read makes the condition absent.
LENIENT_DATES = frozenset(
    {
        "if-modified-since",
        "if-unmodified-since",
        "x-amz-copy-source-if-modified-since",
        "x-amz-copy-source-if-unmodified-since",
    }
)
