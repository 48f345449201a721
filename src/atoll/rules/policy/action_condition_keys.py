"""Which actions of S3 carry which condition keys: PutBucketPolicy refuses a key that its action never carries.

Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3".
"""

from __future__ import annotations

from collections.abc import Mapping

_LISTINGS = "ListBucket ListBucketVersions"
_WRITES = "PutObject BypassGovernanceRetention"
_ACLS = f"CreateBucket PutBucketAcl PutObjectAcl PutObjectVersionAcl {_WRITES}"
_RETENTIONS = "PutObject PutObjectRetention"
_TAGGED = """
DeleteObjectTagging DeleteObjectVersionTagging GetObject GetObjectAcl GetObjectAttributes GetObjectTagging GetObjectVersion
GetObjectVersionAcl GetObjectVersionAttributes GetObjectVersionTagging PutObjectAcl PutObjectTagging PutObjectVersionAcl
PutObjectVersionTagging
"""
_TAGGING = f"PutObjectTagging PutObjectVersionTagging {_WRITES}"
_VERSIONS = """
DeleteObjectVersion DeleteObjectVersionTagging GetObjectVersion GetObjectVersionAcl GetObjectVersionAttributes
GetObjectVersionTagging GetObjectVersionTorrent PutObjectVersionAcl PutObjectVersionTagging
"""
_ENCRYPTED = f"ReplicateObject UpdateObjectEncryption {_WRITES}"
_JOBS = "DeleteJobTagging PutJobTagging UpdateJobPriority UpdateJobStatus"


def _actions(names: str) -> frozenset[str]:
    return frozenset(f"s3:{name.lower()}" for name in names.split())


# Keys of single actions; of keys with a tag's name only the part before the slash. Every other key may stand anywhere: all
# of aws:, what every request carries (s3:authType, s3:TlsVersion...), and what access points add.
_CARRIED_BY: Mapping[str, frozenset[str]] = {
    f"s3:{key}": _actions(names)
    for key, names in {
        "delimiter": _LISTINGS,
        "max-keys": _LISTINGS,
        "prefix": _LISTINGS,
        "existingobjecttag": _TAGGED,
        "requestobjecttag": _TAGGING,
        "requestobjecttagkeys": _TAGGING,
        "versionid": _VERSIONS,
        "if-match": "DeleteObject PutObject",
        "if-none-match": "PutObject",
        "objectcreationoperation": "PutObject",
        "object-lock-legal-hold": "PutObject PutObjectLegalHold",
        "object-lock-mode": _RETENTIONS,
        "object-lock-remaining-retention-days": _RETENTIONS,
        "object-lock-retain-until-date": _RETENTIONS,
        "x-amz-acl": f"CreateAccessPoint {_ACLS}",
        "x-amz-grant-full-control": _ACLS,
        "x-amz-grant-read": _ACLS,
        "x-amz-grant-read-acp": _ACLS,
        "x-amz-grant-write": _ACLS,
        "x-amz-grant-write-acp": _ACLS,
        "x-amz-copy-source": _WRITES,
        "x-amz-metadata-directive": _WRITES,
        "x-amz-server-side-encryption": _ENCRYPTED,
        "x-amz-server-side-encryption-aws-kms-key-id": _ENCRYPTED,
        "x-amz-server-side-encryption-customer-algorithm": f"ReplicateObject {_WRITES}",
        "x-amz-storage-class": f"PutObjectAcl PutObjectVersionAcl {_WRITES}",
        "x-amz-website-redirect-location": _WRITES,
        "x-amz-object-ownership": "CreateBucket",
        "locationconstraint": "CreateAccessPoint CreateBucket",
        "inventoryaccessibleoptionalfields": "PutInventoryConfiguration",
        "isreplicationpauserequest": "PutReplicationConfiguration",
        "destinationregion": "PauseReplication",
        "existingjoboperation": _JOBS,
        "existingjobpriority": _JOBS,
        "jobsuspendedcause": "UpdateJobStatus",
        "requestjoboperation": "CreateJob",
        "requestjobpriority": "CreateJob UpdateJobPriority",
    }.items()
}


def carries(action: str, key: str) -> bool:
    """Can a request for this action carry this condition key? Both in lower case."""
    actions = _CARRIED_BY.get(key.partition("/")[0])
    return actions is None or action in actions
