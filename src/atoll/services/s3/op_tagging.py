"""How are an object's tags and its access control list seen and changed?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atoll.domain import objects
from atoll.domain.call import Answer, Call
from atoll.domain.limits import OBJECT_TAGS_MAX
from atoll.domain.objects import Facts
from atoll.rules import bodysum, owners, replication, tags
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here
from atoll.services.s3.op_settings import check_acl
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.versions import check_version, missing, present, shown


async def GetObjectTagging(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    facts = await _meant(here, call, record, Key, VersionId)
    return Answer({"TagSet": tags.tag_set(facts.tags), **shown(record, facts.version)})


async def PutObjectTagging(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    Tagging: Mapping[str, Any] | None = None,
    VersionId: str | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Replaces all tags of one version."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    wanted = tags.read((Tagging or {}).get("TagSet") or (), OBJECT_TAGS_MAX)
    facts = await _retag(here, call, record, (Key, VersionId), wanted)
    return Answer(shown(record, facts.version))


async def DeleteObjectTagging(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    facts = await _retag(here, call, record, (Key, VersionId), {})
    return Answer(shown(record, facts.version), 204)


async def _retag(
    here: Here, call: Call, record: BucketRecord, meant: tuple[str, str | None], wanted: Mapping[str, str]
) -> Facts:
    """Change the tags of one version, and owe the change to where its copies are."""
    key, version = meant
    facts = await _meant(here, call, record, key, version)
    changed = await here.store.amend(objects.Key(record.name, key), facts.version, _with(here, call, record, key, wanted))
    if changed is None:
        raise missing(call, record, key, version)
    return changed


def _with(
    here: Here, call: Call, record: BucketRecord, key: str, wanted: Mapping[str, str]
) -> Callable[[Facts], Facts]:
    rules, now_ms = here.rules.of(record), call.now_ms
    return lambda facts: replication.retagged(rules, key, facts, wanted, now_ms=now_ms)


async def _meant(here: Here, call: Call, record: BucketRecord, key: str, version: str | None) -> Facts:
    found = await here.store.head(objects.Key(record.name, key), check_version(record, version))
    return present(call, record, key, version, found)


async def GetObjectAcl(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    facts = await _meant(here, call, record, Key, VersionId)
    account = owners.of_object(facts.owner, record.account, record.ownership)
    return Answer({"Owner": owners.owner(account), "Grants": owners.full_control(account)})


async def PutObjectAcl(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    ACL: str | None = None,
    AccessControlPolicy: Mapping[str, Any] | None = None,
    VersionId: str | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """As PutBucketAcl."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    await _meant(here, call, record, Key, VersionId)
    check_acl(record, ACL, AccessControlPolicy)
    return Answer()
