"""The cost of a workload on AWS a month, over a single bucket: sums over a price table; prices are quoted, never fetched.

1 GB = 10^9 bytes, a month has 30 days, money is an exact decimal: the published example comes out to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

GB = Decimal(10**9)
THOUSAND = Decimal(1000)
MONTH_DAYS = 30

Term = Literal["replication_put", "cross_region_transfer", "replica_storage", "old_versions", "mrap_routing"]

# Real charges that no price here stands for; a report names them (specs: cost.md, section 5).
LEFT_OUT: Mapping[str, str] = {
    "mrap_acceleration": "Multi-Region Access Point internet acceleration: for callers outside AWS, per GB",
    "replication_time_control": "S3 Replication Time Control, per GB",
    "replication_metrics": "replication metrics, per rule, as custom CloudWatch metrics",
    "source_requests": "what replication itself asks of the source: about 1 PUT and up to 5 GET or HEAD per object",
    "other": "KMS calls, PrivateLink hours, CloudFront, logs",
}


class MissingPrice(LookupError):
    """The table has no such row. A missing price is an error, not zero."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"there is no price {key}")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per unit, when it was quoted, and by whom."""

    usd: Decimal
    quoted: str
    source: str


_MRAP = ("2026-10-21", "S3 Multi-Region Access Points article")
_EXPRESS = ("2023-12-07", "S3 Express One Zone article")
_ASSUMED = ("2026-10-21", "assumed; the article only bounds replica storage from above")

PRICES: Mapping[str, Price] = {
    "put_per_1000.ap-northeast-1": Price(Decimal("0.0047"), *_MRAP),
    "put_per_1000.us-west-2": Price(Decimal("0.005"), *_MRAP),
    "put_per_1000.eu-central-1": Price(Decimal("0.0054"), *_MRAP),
    "storage_gb_month.ap-northeast-1": Price(Decimal("0.025"), *_EXPRESS),
    "storage_gb_month.us-west-2": Price(Decimal("0.023"), *_ASSUMED),
    "storage_gb_month.eu-central-1": Price(Decimal("0.0245"), *_ASSUMED),
    "xfer_gb": Price(Decimal("0.02"), *_MRAP),
    "route_gb": Price(Decimal("0.0033"), *_MRAP),
}


def price_keys(regions: Iterable[str]) -> frozenset[str]:
    """Every key that a price may have where `regions` are copied from and to. A key beyond them would be without effect."""
    return frozenset(PRICES) | {f"{price}.{region}" for price in ("put_per_1000", "storage_gb_month") for region in regions}


@dataclass(frozen=True, slots=True)
class Plan:
    """A workload: `files` of `size_bytes`, each overwritten so often a day and copied `to` regions; reads through the access point.

    `kept_days`: how long old versions stay, in the source's bucket and in every copy.
    """

    files: int
    size_bytes: int
    overwrites_a_day: Decimal
    reads_a_day: Decimal
    days: int
    to: tuple[str, ...]
    source: str = "us-east-1"
    kept_days: int = 0


PUBLISHED = Plan(1200, 1000, Decimal(1), Decimal(10_000), MONTH_DAYS, ("ap-northeast-1", "us-west-2", "eu-central-1"))


@dataclass(frozen=True, slots=True)
class Copied:
    """What one destination received: PUT-class requests, bytes sent there, and bytes that lie there now."""

    puts: int
    bytes_sent: int
    bytes_kept: int


@dataclass(frozen=True, slots=True)
class Counters:
    """What was counted: per destination, and bytes read and written through the access point."""

    copied: Mapping[str, Copied]
    mrap_bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """One product: `quantity` times the price of `key` per `per` units. `where` is a region, or "" for all."""

    term: Term
    where: str
    quantity: Decimal
    unit: str
    per: Decimal
    key: str
    usd: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Estimate:
    """Exact products and their sum; rounding is the reader's business, and rounded terms do not add up to the rounded sum."""

    lines: tuple[Line, ...]
    origin: Literal["plan", "counters"]
    prices: Mapping[str, Price] = field(default_factory=dict)

    @property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines), Decimal(0))

    def terms(self) -> dict[Term, Decimal]:
        """Amount per term, in the order of the lines."""
        found: dict[Term, Decimal] = {}
        for line in self.lines:
            found[line.term] = found.get(line.term, Decimal(0)) + line.amount
        return found

    def shares(self) -> dict[Term, Decimal]:
        """Percent per term."""
        total = self.total
        return {term: amount / total * 100 if total else Decimal(0) for term, amount in self.terms().items()}


class _Sheet:
    """Lines in the making, against one price table."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self._lines: list[Line] = []
        self._used: dict[str, Price] = {}

    def add(self, term: Term, quantity: Decimal, unit: str, price: str, *, region: str = "", per: Decimal = Decimal(1)) -> None:
        key = f"{price}.{region}" if region else price
        row = self._prices.get(key)
        if row is None:
            raise MissingPrice(key)
        self._used[key] = row
        self._lines.append(Line(term, region, quantity, unit, per, key, row.usd, quantity / per * row.usd))

    def done(self, origin: Literal["plan", "counters"]) -> Estimate:
        return Estimate(tuple(self._lines), origin, self._used)


def of_plan(plan: Plan, prices: Mapping[str, Price] = PRICES) -> Estimate:
    """A month (or `plan.days`) of a workload. Raises MissingPrice."""
    sheet = _Sheet(prices)
    written = plan.files * plan.overwrites_a_day * plan.days
    held_gb = plan.files * plan.size_bytes / GB
    for region in plan.to:
        sheet.add("replication_put", written, "PUT", "put_per_1000", region=region, per=THOUSAND)
    for _region in plan.to:
        sheet.add("cross_region_transfer", written * plan.size_bytes / GB, "GB", "xfer_gb")
    for region in plan.to:
        sheet.add("replica_storage", held_gb, "GB-month", "storage_gb_month", region=region)
    if plan.kept_days:
        for region in (plan.source, *plan.to):
            old_gb = held_gb * plan.overwrites_a_day * plan.kept_days
            sheet.add("old_versions", old_gb, "GB-month", "storage_gb_month", region=region)
    sheet.add("mrap_routing", plan.size_bytes * plan.reads_a_day * plan.days / GB, "GB", "route_gb")
    return sheet.done("plan")


def of_counters(counters: Counters, prices: Mapping[str, Price] = PRICES) -> Estimate:
    """What was counted, at the same prices; what lies there is taken as lying there for the month. Raises MissingPrice."""
    sheet, copied = _Sheet(prices), counters.copied
    for region, one in copied.items():
        sheet.add("replication_put", Decimal(one.puts), "PUT", "put_per_1000", region=region, per=THOUSAND)
    for one in copied.values():
        sheet.add("cross_region_transfer", one.bytes_sent / GB, "GB", "xfer_gb")
    for region, one in copied.items():
        sheet.add("replica_storage", one.bytes_kept / GB, "GB-month", "storage_gb_month", region=region)
    sheet.add("mrap_routing", counters.mrap_bytes / GB, "GB", "route_gb")
    return sheet.done("counters")
