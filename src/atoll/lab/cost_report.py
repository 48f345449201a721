"""A month's cost as a table of exact terms, and as JSON with every product, price and omission."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from atoll.rules.aws_cost import LEFT_OUT, Copied, Counters, Estimate, Line, Plan, Price

# As published (article of 2026-10-21), for the column beside ours.
PUBLISHED_USD: Mapping[str, float] = {"replication_put": 0.54, "cross_region_transfer": 0.002, "mrap_routing": 0.001, "total": 0.54}
PUBLISHED_BELOW_USD: Mapping[str, float] = {"replica_storage": 0.001}

Json = dict[str, Any]


def plan_inputs(plan: Plan) -> Json:
    return {
        "files": plan.files,
        "size_bytes": plan.size_bytes,
        "overwrites_a_day": float(plan.overwrites_a_day),
        "reads_a_day": float(plan.reads_a_day),
        "days": plan.days,
        "source": plan.source,
        "to": list(plan.to),
        "kept_days": plan.kept_days,
    }


def counter_inputs(counters: Counters) -> Json:
    """The form that `atoll lab cost --counters` reads again."""
    copied = {
        region: {"puts": one.puts, "bytes_sent": one.bytes_sent, "bytes_kept": one.bytes_kept}
        for region, one in counters.copied.items()
    }
    return {"copied": copied, "mrap_bytes": counters.mrap_bytes}


def read_counters(path: Path) -> Counters:
    """From a lab run's JSON (its "counters") or from a file that is the counters alone. Raises ValueError, OSError."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    try:
        result = result.get("counters", result)
        _refuse_unknown(path, result, {"copied", "mrap_bytes"})
        for row in result["copied"].values():
            _refuse_unknown(path, row, {"puts", "bytes_sent", "bytes_kept"})
        copied = {
            str(region): Copied(int(row["puts"]), int(row["bytes_sent"]), int(row["bytes_kept"]))
            for region, row in result["copied"].items()
        }
        return Counters(copied, int(result["mrap_bytes"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} has no counters of a lab run ({error!r})") from error


def _refuse_unknown(path: Path, table: Json, known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{path}: {key} is no counter; there are: {', '.join(sorted(known))}")


def exact_text(amount: Decimal) -> str:
    """All digits and no exponent."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _line(line: Line) -> Json:
    return {
        "term": line.term,
        "where": line.where,
        "quantity": float(line.quantity),
        "unit": line.unit,
        "price": line.key,
        "per": float(line.per),
        "usd": float(line.usd),
        "amount_usd": float(line.amount),
    }


def _price(price: Price) -> Json:
    return {"usd": float(price.usd), "quoted": price.quoted, "source": price.source}


def as_json(estimate: Estimate, inputs: Json, *, published: bool = False) -> Json:
    """`terms` and `total_usd` as everybody wants them, and beneath them all that they were made of."""
    result: Json = {
        "terms": {term: float(amount) for term, amount in estimate.terms().items()},
        "total_usd": float(estimate.total),
        "total_usd_rounded": float(round(estimate.total, 2)),
        "shares_percent": {term: round(float(share), 3) for term, share in estimate.shares().items()},
        "origin": estimate.origin,
        "inputs": inputs,
        "lines": [_line(line) for line in estimate.lines],
        "prices": {key: _price(price) for key, price in estimate.prices.items()},
        "left_out": dict(LEFT_OUT),
    }
    if published:
        result["published"] = {**PUBLISHED_USD, **{f"{term}_below": usd for term, usd in PUBLISHED_BELOW_USD.items()}}
    return result


def rows(estimate: Estimate, *, published: bool) -> Iterator[tuple[str, str, str, str, str]]:
    """Term, quantity, USD, share, published: one row per term, the sum last."""
    shares = estimate.shares()
    for term, amount in estimate.terms().items():
        beside = _published_text(term) if published else ""
        yield term.replace("_", " "), _quantity(estimate, term), exact_text(amount), f"{shares[term]:.1f} %", beside
    yield "sum", "", exact_text(estimate.total), "", f"{PUBLISHED_USD['total']}" if published else ""


def _published_text(term: str) -> str:
    if term in PUBLISHED_BELOW_USD:
        return f"< {PUBLISHED_BELOW_USD[term]}"
    return str(PUBLISHED_USD.get(term, ""))


def _quantity(estimate: Estimate, term: str) -> str:
    lines = [line for line in estimate.lines if line.term == term]
    return f"{exact_text(sum((line.quantity for line in lines), Decimal(0)))} {lines[0].unit}"
