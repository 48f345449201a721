"""Gathers a page of a listing from the store, and writes its rows."""

from __future__ import annotations

from typing import Any

from atoll.domain.interfaces import Store
from atoll.domain.objects import ScanCursor, ScanEntry
from atoll.domain.quotas import LIST_MAX_KEYS
from atoll.rules import access_control_lists, list_pages
from atoll.services.s3.object_response import modified

STEP_MIN = 16  # rows asked for after a step over a common prefix: the next one may be just as long


async def fill_page(store: Store, bucket: str, page: list_pages.Page[ScanEntry], after: ScanCursor, *, versions: bool = False) -> None:
    """Offer the rows behind `after` until the page is full or the bucket ends; step over what is rolled up."""
    room = min(page.size, LIST_MAX_KEYS) + 1  # one more than fits tells whether there is more
    limit = room
    while page.size:
        batch = await store.scan(bucket, prefix=page.prefix, after=after, limit=limit, versions=versions)
        before = page.count
        for entry in batch:
            if not page.add_row(entry.name, entry, version=entry.metadata.version if versions else None):
                return
        if len(batch) < limit:
            return
        last = batch[-1]
        after = list_pages.after_prefix(page.group) if page.group else ScanCursor(last.name, last.metadata.version if versions else None)
        limit = min(STEP_MIN if page.count - before <= 1 else limit * 2, room)


def row(entry: ScanEntry, *, encode: bool, owner: bool) -> dict[str, Any]:
    """An element of Contents."""
    metadata = entry.metadata
    members: dict[str, Any] = {
        "Key": list_pages.url(entry.name) if encode else entry.name,
        "LastModified": modified(metadata),
        "ETag": f'"{metadata.etag}"',
        "Size": metadata.size,
        "StorageClass": metadata.storage_class,
    }
    if metadata.checksum is not None:
        members["ChecksumAlgorithm"] = [metadata.checksum.algorithm]
        members["ChecksumType"] = metadata.checksum.kind
    if owner:
        members["Owner"] = access_control_lists.owner(metadata.owner)
    return members


def groups(page: list_pages.Page[Any], *, encode: bool) -> list[dict[str, str]]:
    return [{"Prefix": list_pages.url(group) if encode else group} for group in page.groups]


def without_none(members: dict[str, Any]) -> dict[str, Any]:
    """Without what is not there."""
    return {name: value for name, value in members.items() if value is not None}
