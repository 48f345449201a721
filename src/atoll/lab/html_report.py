"""The HTML report, which needs no network: tables, distributions, a map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from atoll.lab import headline, terminal_tables
from atoll.lab.svg_charts import Line, Series, distribution, map_of
from atoll.processes.world_config import World

Json = Mapping[str, Any]
Samples = Mapping[str, Mapping[str, Sequence[Sequence[float]]]]

PATH_NAMES = {"single": "single bucket in us-east-1", "mrap": "access point", "direct": "bucket in the same region"}
SOURCES = {
    "2026": "published ping matrix of EC2 instances, 2026-09-18",
    "2017": "published ping table of AWS regions, 2017",
    "article": "derived from the measured article itself; no prediction rests on it",
    "estimate": "estimated from the great circle",
}


def html(result: Json, samples: Samples, world: World) -> str:
    """The whole page."""
    style = resources.files("atoll.lab").joinpath("report.css").read_text(encoding="utf-8")
    sections = (
        _section("In short", _story(result)),
        _section("Reads", _reads(result) + _plots(result, samples)),
        _section("What our own paths cost", _native(result)) if terminal_tables.cells_of_table(result, "native") else "",
        _section("Propagation of overwrites", _propagation(result)) if result["propagation"]["all_buckets_s"] else "",
        _section("Loss of a region", f"<p>{escape(headline.loss(result))}</p>") if result.get("loss") else "",
        _section("Cost of the published workload", _cost(result)),
        _section("Places and links", _map(result, world)),
        _section("How it was measured", _method(result)),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>atoll lab mrap</title><style>{style}</style></head><body><main>"
        f"<h1>One access point, four regions</h1>{_lead(result)}{''.join(sections)}</main></body></html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _lead(result: Json) -> str:
    plan = result["plan"]
    words = (
        f"{plan['files']} gzip JSON files of 128 to 714 bytes, {plan['rounds']} rounds, one read at a time from each of four "
        f"regions: through a Multi-Region Access Point, and from a single bucket in us-east-1. Profile {result['profile']}: {_profile(result)}"
    )
    return f'<p class="lead">{escape(words)}</p>'


def _story(result: Json) -> str:
    beside = headline.published(result) if result["profile"] == "aws" else headline.native(result)
    texts = (headline.partial(result), headline.headline(result), beside, headline.instrument(result), headline.busy(result))
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def _profile(result: Json) -> str:
    if result["profile"] == "aws":
        return (
            "each region's service time is drawn from a distribution fitted to what was measured inside that region on AWS, "
            "so the near cells are fitted; what is read from far is predicted from them and from the links."
        )
    return "faster than AWS, for no service time is added: nothing is drawn; what is seen is the emulated distance and the server itself, so it is not meant to equal AWS."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is a heading; cells are text and are escaped here."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _reads(result: Json) -> str:
    found = terminal_tables.by_name(terminal_tables.cells_of_table(result, "s3_api"))
    fitted = result["profile"] == "aws"
    rows = []
    for place, path in dict.fromkeys((place, path) for place, path, _stat in found):
        row = [place, PATH_NAMES[path]]
        for stat in ("p50", "p95"):
            cell = found[place, path, stat]
            row += [f"{cell['value']:.1f}", f"{cell['published'] or ''}", *((terminal_tables.deviation(cell),) if fitted else ())]
        rows.append([*row, found[place, path, "p50"].get("kind", "not fitted"), str(found[place, path, "p50"]["n"])])
    beside = ("published", "deviation") if fitted else ("published",)
    head = ("from", "path", "p50 ms", *beside, "p95 ms", *beside, "cell", "reads")
    return _table(head, rows)


def _plots(result: Json, samples: Samples) -> str:
    found = terminal_tables.by_name(terminal_tables.cells_of_table(result, "s3_api"))
    whole = [place for place in samples if all((place, path, "p50") in found for path in ("single", "mrap"))]
    figures = "".join(_plot(place, samples[place], found) for place in whole)
    legend = "".join(f'<span><i class="{path}"></i>{PATH_NAMES[path]}</span>' for path in ("single", "mrap"))
    note = "Share of reads answered within so many milliseconds. Rings: the published p50 and p95."
    return f'<p class="legend">{legend}</p><div class="plots">{figures}</div><p class="note">{note}</p>'


def _plot(place: str, by_path: Mapping[str, Sequence[Sequence[float]]], found: Mapping[tuple[str, str, str], Json]) -> str:
    series = []
    for path in ("single", "mrap"):
        values = [value for one in by_path[path] for value in one]
        cells = ((share, found[place, path, stat]["published"]) for share, stat in ((0.5, "p50"), (0.95, "p95")))
        series.append(Series(PATH_NAMES[path], path, values, [(share, ms) for share, ms in cells if ms is not None]))
    drawing = distribution(series, f"distribution of read times from {place}")
    return f"<figure><figcaption>from {escape(place)}</figcaption>{drawing}</figure>"


def _native(result: Json) -> str:
    cells = terminal_tables.cells_of_table(result, "native")
    found, cpu = terminal_tables.by_name(cells), terminal_tables.by_name(terminal_tables.cells_of_table(result, "client_cpu"))
    rows = []
    for place in terminal_tables.places(cells):
        row = [place, f"{found[place, 'direct', 'p50']['value']:.2f}", f"{cpu[place, 'direct', 'p50']['value']:.2f}"]
        for path in ("mrap_over_direct", "single_over_link"):
            cell = found[place, path, "p50_difference"]
            row += [f"{cell['value']:+.2f}", f"{cell['limit']}"]
        less = found[place, "single_over_link_less_client_cpu", "p50_difference"]
        rows.append([*row, f"{less['value']:+.2f}"])
    head = ("from", "direct read, p50 ms", "client's own CPU in it", "access point over it", "wanted at most", "single bucket over its link", "wanted at most", "less the client's CPU")
    return _table(head, rows)


def _propagation(result: Json) -> str:
    one = result["propagation"]
    rows = [
        [f"{number}", f"{buckets:.2f}", f"{readable:.2f}", f"{stale}"]
        for number, (buckets, readable, stale) in enumerate(
            zip(one["all_buckets_s"], one["readable_through_mrap_s"], one["stale_reads_each"], strict=True), 1
        )
    ]
    published = one["published"]
    ranges = (f"{min(values)} to {max(values)}" for values in (published["all_buckets_s"], published["readable_through_mrap_s"]))
    rows.append(["published", *ranges, "old content with 200 until then"])
    note = (
        f"Seconds since the overwrite was sent in us-east-1. The first copy of all {result['plan']['files']} files was complete "
        f"{result['initial_copy_s'] or 0.0:.1f} s after the upload ended. Stale reads: answers through the access point with 200 and old content."
    )
    head = ("overwrite", "in all buckets, s", "readable through the access point in Tokyo, s", "stale reads")
    return _table(head, rows) + f'<p class="note">{escape(note)}</p>'


def _cost(result: Json) -> str:
    cost = result["cost"]
    published = cost["published"]
    rows = []
    for term, amount in cost["terms"].items():
        below = published.get(f"{term}_below")
        beside = f"< {below}" if below is not None else str(published.get(term, ""))
        rows.append([term.replace("_", " "), f"{amount:.8f}".rstrip("0"), f"{cost['shares_percent'][term]:.1f} %", beside])
    rows.append(["sum", f"{cost['total_usd']:.8f}".rstrip("0"), "", str(published["total"])])
    quoted = ", ".join(sorted({price["quoted"] for price in cost["prices"].values()}))
    note = f"USD a month over a single bucket; prices quoted {quoted}. Left out: {'; '.join(cost['left_out'].values())}."
    return _table(("term", "USD", "share", "published"), rows) + f'<p class="note">{escape(note)}</p>'


def _map(result: Json, world: World) -> str:
    ends = dict.fromkeys(end for row in result["distances"] for end in row["between"])
    coordinates = {name: world.coordinates[name] for name in ends}
    home = next(iter(ends))
    lines = [
        Line(row["between"][0], row["between"][1], f"{row['rtt_ms']:.1f}", "link home" if home in row["between"] else "link")
        for row in sorted(result["distances"], key=lambda row: home in row["between"])
    ]
    rows = [
        [" - ".join(row["between"]), f"{row['rtt_ms']:.1f}", SOURCES.get(row["source"], row["source"])] for row in result["distances"]
    ]
    drawing = map_of(coordinates, lines, "map of the places with round-trip times in milliseconds")
    return drawing + _table(("link", "round trip, ms", "source"), rows)


def _method(result: Json) -> str:
    machine = result["machine"]
    rows = [
        ["distance", result["instrument"]],
        ["processors kept awake during the reads", "yes" if result["processors_awake"] else "no"],
        ["error of a 1-byte echo", ", ".join(f"{ms:.2f} ms over {rtt} ms" for rtt, ms in result["echo_error_ms"].items())],
        ["client", "unmodified botocore, a process and one connection per path in each place; first GET not timed"],
        ["order", "regions side by side" if result["profile"] == "aws" else "one region after another"],
        ["profile, seed", f"{result['profile']}, {result['seed']}"],
        ["machine", f"{machine['system']}, {machine['architecture']}, {machine['cpus']} CPUs, Python {machine['python']}"],
        ["commit", result["commit"]],
        ["took", f"{result['took_s']} s"],
    ]
    rows += [
        [f"overhead of {PATH_NAMES[path]}", ", ".join(f"{ms:.2f} ms in {region}" for region, ms in by.items())]
        for path, by in result["overhead_ms"].items()
    ]
    return _table(("what", "how"), rows)
