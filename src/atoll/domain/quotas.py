"""Every quota of AWS that Atoll keeps, with its unit and source. Limits of our own stand beside what they bound."""

from __future__ import annotations

KiB, MiB, GiB = 1024, 1024**2, 1024**3

OBJECT_PUT_MAX_BYTES = 5 * GiB  # S3 quotas: one PUT, one part, one copy
PART_MIN_BYTES = 5 * MiB  # S3 quotas: all parts but the last
PARTS_MAX = 10_000  # S3 quotas
KEY_MAX_BYTES = 1024  # S3 quotas: UTF-8
METADATA_MAX_BYTES = 2 * KiB  # S3 quotas: user metadata, names and values
LIST_MAX_KEYS = 1000  # S3 API: ListObjectsV2
DELETE_MAX_KEYS = 1000  # S3 API: DeleteObjects
OBJECT_TAGS_MAX = 10  # S3 quotas
BUCKET_TAGS_MAX = 50  # S3 quotas
BUCKET_POLICY_MAX_BYTES = 20 * KiB  # S3 quotas
DOCUMENT_MAX_BYTES = 2 * MiB  # S3: replication configuration, the largest document; one of ours for the rest
REPLICATION_RULES_MAX = 1000  # S3: replication configuration
BUCKETS_MAX = 10_000  # S3 quotas: general purpose buckets per account
ACCOUNTS_MAX = 100  # accounts per world; one of ours
MRAPS_MAX = 100  # S3: Multi-Region Access Points per account
MRAP_REGIONS_MAX = 20  # S3: regions per Multi-Region Access Point
PRESIGN_MAX_S = 604_800  # SigV4: seven days
SKEW_MAX_S = 900  # SigV4: fifteen minutes
