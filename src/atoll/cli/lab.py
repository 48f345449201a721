"""`atoll lab`: the published experiment in a world of its own, and what such a set-up would cost a month on AWS."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from atoll.cli.exits import FAILED, INTERRUPTED, USAGE, print_error
from atoll.cli.typer_style import App, examples
from atoll.domain.os_error_messages import in_words
from atoll.lab import cost_report
from atoll.rules import aws_cost

app = App(
    help="Measure a world of its own, and reckon what it would cost on AWS.",
    epilog=examples("atoll lab mrap --quick", "atoll lab cost"),
)

FILES, ROUNDS, OVERWRITES = 200, 8, 5  # as published
QUICK_FILES, QUICK_OVERWRITES = 40, 2
QUICK_ROUNDS = {"native": 2, "aws": 5}  # profile aws waits for copies anyway, and reads meanwhile

JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result here, samples beside it.")]


@app.command(epilog=examples("atoll lab mrap --quick --profile aws --html report.html"))
def mrap(
    profile: Annotated[str, typer.Option(metavar="native|aws", help="native: as fast as we are; aws: as slow as AWS was measured.")] = "native",
    files: Annotated[int | None, typer.Option(min=1, max=10_000, help=f"Objects (default {FILES}).")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=1000, help=f"Reads of each (default {ROUNDS}).")] = None,
    overwrites: Annotated[int | None, typer.Option(min=0, max=100, help=f"Propagation runs (default {OVERWRITES}).")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="40 files, 2 overwrites, 2 rounds (aws: 5); the access point is made at once.")] = False,
    seed: Annotated[int, typer.Option(help="Of the files and of the drawn service times.")] = 1,
    json_file: JsonOption = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report that opens without a network.")] = None,
) -> None:
    """Read gzip JSON files from four regions, through the access point and from a single bucket in Virginia.

    Starts a world of its own in a temporary folder and takes it down again. Interrupted, it tells and writes what it has
    measured so far, marked as partial.
    """
    if profile not in ("native", "aws"):
        print_error(f"--profile {profile}: expected native or aws")
        raise typer.Exit(USAGE)
    for option, file in (("--json", json_file), ("--html", html)):
        if file is not None and file.is_dir():
            print_error(f"{option} {file}: this is a folder where a file is needed")
            raise typer.Exit(USAGE)
    from atoll.lab import mrap_experiment as experiment

    defaults = (QUICK_FILES, QUICK_ROUNDS[profile], QUICK_OVERWRITES) if quick else (FILES, ROUNDS, OVERWRITES)
    plan = experiment.Plan(
        profile="aws" if profile == "aws" else "native",
        files=defaults[0] if files is None else files,
        rounds=defaults[1] if rounds is None else rounds,
        overwrites=defaults[2] if overwrites is None else overwrites,
        seed=seed,
        quick=quick,
    )
    try:
        experiment.main(plan, json_file=json_file, html_file=html)
    except experiment.LabFailed as error:
        print_error(str(error))
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt:
        print_error("interrupted; the lab's world is down")
        raise typer.Exit(INTERRUPTED) from None


def _number(name: str, text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(-1)
    if not number.is_finite() or number < 0:
        raise typer.BadParameter(f"{text!r} is no number of at least 0", param_hint=name)
    return number


def _regions(given: list[str]) -> tuple[str, ...]:
    """`--to a --to b` and `--to a,b` say the same."""
    return tuple(dict.fromkeys(region.strip() for text in given for region in text.split(",") if region.strip()))


def _prices(given: list[str], regions: Iterable[str]) -> dict[str, aws_cost.Price]:
    prices, known = dict(aws_cost.PRICES), aws_cost.price_keys(regions)
    for text in given:
        key, equals, usd = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not KEY=USD, such as put_per_1000.us-east-1=0.005", param_hint="--price")
        if key not in known:
            print_error(f"--price {key}: there is no such price; there are: {', '.join(sorted(known))}")
            raise typer.Exit(USAGE)
        prices[key] = aws_cost.Price(_number("--price", usd), "given", "--price")
    return prices


@app.command(epilog=examples(
        "atoll lab cost --files 5000 --bytes 20000 --overwrites 2 --to eu-central-1",
        "atoll lab cost --price put_per_1000.eu-central-1=0.0054 --json",
    )
)
def cost(
    files: Annotated[int | None, typer.Option(min=0, help="Objects.")] = None,
    size: Annotated[int | None, typer.Option("--bytes", min=0, help="Size of each.")] = None,
    overwrites: Annotated[str | None, typer.Option(metavar="N", help="Of each file, a day.")] = None,
    reads: Annotated[str | None, typer.Option(metavar="N", help="Through the access point, a day.")] = None,
    days: Annotated[int | None, typer.Option(min=0, help="Days (default: a month of 30).")] = None,
    to: Annotated[list[str] | None, typer.Option(metavar="REGION", help="A region copied to; repeat it or use commas.")] = None,
    keep_days: Annotated[int, typer.Option(min=0, help="How long old versions stay.")] = 0,
    price: Annotated[list[str] | None, typer.Option(metavar="KEY=USD", help="Your own price; wins over the quoted one.")] = None,
    counters: Annotated[Path | None, typer.Option(metavar="FILE", help="Reckon what a lab run counted: its JSON file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Reckon what replication and an access point add to a month's bill over a single bucket.

    Without options: the published plan, 1,200 files of 1 KB overwritten daily and 10,000 reads a day.
    """
    own = {
        "files": files,
        "size_bytes": size,
        "overwrites_a_day": None if overwrites is None else _number("--overwrites", overwrites),
        "reads_a_day": None if reads is None else _number("--reads", reads),
        "days": days,
        "to": None if to is None else _regions(to),
        "kept_days": keep_days or None,
    }
    changed: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    if counters is not None and changed:
        raise typer.BadParameter("counters say it all; leave the plan's options away", param_hint="--counters")
    try:
        if counters is not None:
            counted = cost_report.read_counters(counters)
            prices = _prices(price or [], counted.copied)
            _print_estimate(aws_cost.of_counters(counted, prices), cost_report.counter_inputs(counted), as_json=as_json, published=False)
        else:
            plan = replace(aws_cost.PUBLISHED, **changed)
            prices = _prices(price or [], (plan.source, *plan.to))
            beside = plan == aws_cost.PUBLISHED
            _print_estimate(aws_cost.of_plan(plan, prices), cost_report.plan_inputs(plan), as_json=as_json, published=beside)
    except aws_cost.MissingPrice as error:
        print_error(f"{error}; give it with --price {error.key}=USD")
        raise typer.Exit(USAGE) from error
    except OSError as error:
        print_error(in_words(error))
        raise typer.Exit(USAGE) from error
    except ValueError as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error


def _print_estimate(estimate: aws_cost.Estimate, inputs: dict[str, Any], *, as_json: bool, published: bool) -> None:
    if as_json:
        typer.echo(json.dumps(cost_report.as_json(estimate, inputs, published=published), indent=1))
        return
    origin = {"plan": "a plan", "counters": "what a lab run counted"}[estimate.origin]
    table = Table(title=f"USD over a single bucket, from {origin}", title_justify="left", box=None, pad_edge=False)
    table.add_column("term")
    for column in ("quantity", "USD", "share", *(("published",) if published else ())):
        table.add_column(column, justify="right")
    for row in cost_report.rows(estimate, published=published):
        table.add_row(*row if published else row[:-1])
    console = Console()
    console.print(table)
    quoted = sorted({one.quoted for one in estimate.prices.values()})
    console.print(f"prices quoted {', '.join(quoted)}; left out: {', '.join(aws_cost.LEFT_OUT)}", style="dim", markup=False)
