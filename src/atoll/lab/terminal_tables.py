"""Results on a terminal: each figure beside the published one; the story in the last 25 lines."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from atoll.lab import headline

Json = Mapping[str, Any]

PLAIN_COLUMNS = 100  # where there is no terminal
TEXT_COLUMNS = 80


def cells_of_table(result: Json, table: str) -> list[Json]:
    return [cell for cell in result["cells"] if cell["table"] == table]


def places(cells: Iterable[Json]) -> list[str]:
    """In the order of the cells, each once."""
    return list(dict.fromkeys(cell["place"] for cell in cells))


def by_name(cells: Iterable[Json]) -> dict[tuple[str, str, str], Json]:
    return {(cell["place"], cell["path"], cell["stat"]): cell for cell in cells}


def deviation(cell: Json) -> str:
    found = cell.get("deviation_percent")
    return "" if found is None else f"{found:+.1f} %"


def title(result: Json) -> str:
    plan = result["plan"]
    return f"GetObject as the caller sees it, ms; profile {result['profile']}, {plan['files']} files, {plan['rounds']} rounds"


def _new_table(title_text: str, columns: Sequence[str]) -> Table:
    table = Table(title=title_text or None, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _reads(result: Json) -> Table:
    fitted = result["profile"] == "aws"
    beside = ("AWS", "") if fitted else ("AWS",)
    table = _new_table("", ("from", "path", "p50", *beside, "p95", *beside, *(("cell",) if fitted else ())))
    found = by_name(cells_of_table(result, "s3_api"))
    for place, path in dict.fromkeys((place, path) for place, path, _stat in found):
        row = [place, {"single": "single bucket", "mrap": "access point"}[path]]
        for stat in ("p50", "p95"):
            cell = found[place, path, stat]
            row += [f"{cell['value']:.1f}", f"{cell['published'] or ''}", *((deviation(cell),) if fitted else ())]
        table.add_row(*row, *((found[place, path, "p50"]["kind"],) if fitted else ()))
    return table


def _caption(result: Json) -> str:
    counts = sorted({cell["n"] for cell in cells_of_table(result, "s3_api")})
    caption = f"AWS: as published; n = {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} reads each"
    if result["profile"] != "aws":
        return caption
    return f"{caption}. fitted: drawn from the region's own published figures; predicted: from links and draws in us-east-1"


def _native(result: Json) -> Table:
    table = _new_table(
        "What our own paths cost, ms (p50)",
        ("from", "direct", "client CPU", "mrap - direct", "max", "single - link", "max", "less CPU"),
    )
    cells = cells_of_table(result, "native")
    found, cpu = by_name(cells), by_name(cells_of_table(result, "client_cpu"))
    for place in places(cells):
        row = [place, f"{found[place, 'direct', 'p50']['value']:.2f}", f"{cpu[place, 'direct', 'p50']['value']:.2f}"]
        for path in ("mrap_over_direct", "single_over_link"):
            cell = found[place, path, "p50_difference"]
            row += [f"{cell['value']:+.2f}", f"{cell['limit']}"]
        less = found[place, "single_over_link_less_client_cpu", "p50_difference"]
        table.add_row(*row, f"{less['value']:+.2f}")
    table.caption_justify = "left"
    table.caption = "processors kept awake" if result["processors_awake"] else "processors not kept awake: the first work after a wait is slower"
    return table


def _propagation(result: Json) -> Table:
    found = result["propagation"]
    table = _new_table("Seconds from an overwrite in us-east-1", ("overwrite", "in all buckets", "readable in Tokyo", "stale reads"))
    rows = zip(found["all_buckets_s"], found["readable_through_mrap_s"], found["stale_reads_each"], strict=True)
    for number, (buckets, readable, stale) in enumerate(rows, 1):
        table.add_row(str(number), f"{buckets:.2f}", f"{readable:.2f}", str(stale))
    published = found["published"]
    table.add_row("published", _joined_values(published["all_buckets_s"]), _joined_values(published["readable_through_mrap_s"]), "until then")
    return table


def _joined_values(values: Sequence[float]) -> str:
    return f"{min(values)} to {max(values)}"


def _cost(result: Json) -> Table:
    cost = result["cost"]
    table = _new_table("Published workload, USD a month over one bucket", ("term", "USD", "published"))
    for term, amount in cost["terms"].items():
        table.add_row(term.replace("_", " "), f"{amount:f}".rstrip("0"), _published(cost, term))
    table.add_row("sum", f"{cost['total_usd']:f}", _published(cost, "total"))
    return table


def _published(cost: Json, term: str) -> str:
    published = cost["published"]
    below = published.get(f"{term}_below")
    return f"< {below}" if below is not None else str(published.get(term, ""))


def _console() -> Console:
    """As wide as the terminal; a pipe has no width, and is given one."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal or "COLUMNS" in os.environ else Console(highlight=False, width=PLAIN_COLUMNS)


def show(result: Json, report: Path | None = None) -> None:
    """On standard output, what matters most last. `report`: where the page was written."""
    console = _console()
    _show_details(result, console)
    _show_text(headline.headline(result), console, style="bold")
    if result["profile"] == "aws" and headline.headline(result):
        _show_text(headline.published(result), console)
    _show_text(headline.native(result), console)
    if cells_of_table(result, "s3_api"):
        console.print()
        _show_text(title(result), console)
        console.print(_reads(result))
        _show_text(_caption(result), console)
    _show_text(headline.loss(result), console)
    if cells_of_table(result, "s3_api"):
        _show_text(headline.instrument(result), console)
        _show_text(headline.busy(result), console)
    last = f"seed {result['seed']}, commit {result['commit'][:12]}, {result['machine']['cpus']} CPUs, {result['took_s']} s"
    console.print(last, style="dim", markup=False)
    _show_text(headline.partial(result), console, style="bold")
    if report is not None:
        console.print(f"HTML report: {report.absolute()}", markup=False, soft_wrap=True)


def _show_details(result: Json, console: Console) -> None:
    if result["cells"]:
        console.print(_cost(result))
    if result["propagation"]["all_buckets_s"]:
        console.print(_propagation(result))
    if cells_of_table(result, "native"):
        console.print(_native(result))
    if result["overhead_ms"]:
        shown = ", ".join(f"{path} {ms:.2f} in {region}" for path, by in result["overhead_ms"].items() for region, ms in by.items())
        console.print(f"overhead of the paths without draws, ms (p50): {shown}", style="dim", markup=False)
    if result["cells"]:
        console.print()


def _show_text(text: str, console: Console, style: str = "") -> None:
    for line in textwrap.wrap(text, min(TEXT_COLUMNS, console.width)):
        console.print(line, style=style, markup=False)
