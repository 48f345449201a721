"""How is a page of a listing gathered from the store, and how does one row look?"""

from __future__ import annotations

from typing import Any

from atoll.domain.limits import LIST_MAX_KEYS
from atoll.domain.objects import Entry, Mark
from atoll.domain.shapes import Store
from atoll.rules import listing, owners
from atoll.services.s3.reading import modified

STEP_MIN = 16  # rows asked for after a step over a common prefix: the next one may be just as long


async def fill(store: Store, bucket: str, page: listing.Page[Entry], after: Mark, *, versions: bool = False) -> None:
    """Offer the rows behind `after` until the page is full or the bucket ends; step over what is rolled up."""
    room = min(page.size, LIST_MAX_KEYS) + 1  # one more than fits tells whether there is more
    limit = room
    while page.size:
        batch = await store.scan(bucket, prefix=page.prefix, after=after, limit=limit, versions=versions)
        before = page.count
        for entry in batch:
            if not page.offer(entry.name, entry, version=entry.facts.version if versions else None):
                return
        if len(batch) < limit:
            return
        last = batch[-1]
        after = listing.past(page.group) if page.group else Mark(last.name, last.facts.version if versions else None)
        limit = min(STEP_MIN if page.count - before <= 1 else limit * 2, room)


def row(entry: Entry, *, encode: bool, owner: bool) -> dict[str, Any]:
    """An element of Contents."""
    facts = entry.facts
    members: dict[str, Any] = {
        "Key": listing.url(entry.name) if encode else entry.name,
        "LastModified": modified(facts),
        "ETag": f'"{facts.etag}"',
        "Size": facts.size,
        "StorageClass": facts.storage_class,
    }
    if facts.checksum is not None:
        members["ChecksumAlgorithm"] = [facts.checksum.algorithm]
        members["ChecksumType"] = facts.checksum.kind
    if owner:
        members["Owner"] = owners.owner(facts.owner)
    return members


def groups(page: listing.Page[Any], *, encode: bool) -> list[dict[str, str]]:
    return [{"Prefix": listing.url(group) if encode else group} for group in page.groups]


def said(members: dict[str, Any]) -> dict[str, Any]:
    """Without what is not there."""
    return {name: value for name, value in members.items() if value is not None}
