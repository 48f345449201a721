"""The world file: places, links and settings, read once and checked whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Literal

from atoll.domain.os_error_messages import reason
from atoll.rules.distance import Coordinates, Distance, distance

Profile = Literal["native", "aws"]
Compat = Literal["lenient", "strict"]
PlaceKind = Literal["region", "city"]

PORT_MAX = 65535
WORKERS_MAX = 64  # processes of one region
_NAME = re.compile(r"[a-z][a-z0-9-]{1,30}")
_KEYS = {"profile", "compat", "same_place_rtt_ms", "jitter_ms", "places", "links", "state", "workers", "create_delay_s"}
_PLACE_KEYS = {"kind", "at", "address", "node"}
_LINK_KEYS = {"between", "rtt_ms", "source"}
_LISTENER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([A-Za-z0-9.-]+)):([1-9]\d{0,4})")


class WorldError(Exception):
    """The world file is wrong. `complaints` has every fault found, each with what to do; `source` is the file, or "" for options."""

    def __init__(self, source: str, complaints: list[str]) -> None:
        self.complaints = complaints
        super().__init__("\n".join(f"{source}: {text}" if source else text for text in complaints))


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a place of a world that spans machines is reached: a host name or IP address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere clients enter; a region also keeps objects.

    With `atoll serve` only: `address` is where clients enter, `node` where the other nodes call a region.
    """

    name: str
    kind: PlaceKind
    coordinates: Coordinates
    address: Listener | None = None
    node: Listener | None = None


@dataclass(frozen=True)
class World:
    """Places in the order of the file, links, and the two settings. `state`: the region that holds the control state of a
    world that spans machines, "" on one machine. `workers`: processes of each region; one of them writes. `create_delay_s`: how long an access point takes to be made, None as the profile
    has it."""

    places: tuple[Place, ...]
    links: Mapping[frozenset[str], Distance]
    same_ms: float = 0.3
    jitter_ms: float = 1.0
    profile: Profile = "native"
    compat: Compat = "lenient"
    state: str = ""
    workers: int = 1
    create_delay_s: float | None = None

    @cached_property
    def coordinates(self) -> Mapping[str, Coordinates]:
        return {place.name: place.coordinates for place in self.places}

    @cached_property
    def by_name(self) -> Mapping[str, Place]:
        return {place.name: place for place in self.places}

    @cached_property
    def regions(self) -> tuple[str, ...]:
        return tuple(place.name for place in self.places if place.kind == "region")

    def distance(self, a: str, b: str) -> Distance:
        """Round trip between two places of this world."""
        return distance(a, b, links=self.links, coordinates=self.coordinates, same_ms=self.same_ms)

    def nearest_regions(self, place: str) -> tuple[str, ...]:
        """All regions, the nearest first."""
        return tuple(sorted(self.regions, key=lambda region: (self.distance(place, region).rtt_ms, region)))

    def with_settings(self, profile: Profile | None, compat: Compat | None, workers: int | None = None) -> World:
        return replace(self, profile=profile or self.profile, compat=compat or self.compat, workers=workers or self.workers)


def _number(table: Mapping[str, object], key: str, default: float, complaints: list[str], unit: str = "milliseconds") -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        complaints.append(f"{key} = {value!r} is not a number of {unit}")
        return default
    return float(value)


def _coordinates(at: object) -> Coordinates | None:
    match at:
        case [int() | float() as north, int() | float() as east] if -90 <= north <= 90 and -180 <= east <= 180:
            return Coordinates(float(north), float(east))
    return None


def _listener(place: str, row: Mapping[str, object], key: str, complaints: list[str]) -> Listener | None:
    text = row.get(key)
    if text is None:
        return None
    match = _LISTENER.fullmatch(text) if isinstance(text, str) else None
    if match is None or int(match[3]) > PORT_MAX:
        complaints.append(f'place {place}: {key} = {text!r}, expected "HOST:PORT"')
        return None
    return Listener(match[1] or match[2], int(match[3]))


def _places(table: object, complaints: list[str]) -> Iterator[Place]:
    if not isinstance(table, dict) or not table:
        complaints.append("there are no [places.NAME] tables")
        return
    for name, row in table.items():
        if not isinstance(row, dict):
            complaints.append(f"places.{name} = {row!r}, expected a table [places.{name}]")
            continue
        complaints.extend(_unknown(row, _PLACE_KEYS, "place", f"place {name}: "))
        kind, coordinates = row.get("kind"), _coordinates(row.get("at"))
        address, node = (_listener(name, row, key, complaints) for key in ("address", "node"))
        if not _NAME.fullmatch(name):
            complaints.append(f"place {name!r}: a name has 2 to 31 small letters, digits and hyphens")
        if kind not in ("region", "city"):
            complaints.append(f'place {name}: kind = {kind!r}, expected "region" or "city"')
        elif coordinates is None:
            complaints.append(f"place {name}: at = {row.get('at')!r}, expected [degrees north, degrees east]")
        else:
            yield Place(name, kind, coordinates, address, node)


def _unknown(table: Mapping[str, object], known: set[str], of: str, where: str = "") -> Iterator[str]:
    for key in table:
        if key not in known:
            yield f"{where}{key} is no setting of a {of}; there are: {', '.join(sorted(known))}"


def _links(rows: object, complaints: list[str]) -> Iterator[tuple[frozenset[str], Distance]]:
    if not isinstance(rows, list):
        complaints.append(f"links = {rows!r}, expected a list")
        return
    for row in rows:
        if isinstance(row, dict):
            complaints.extend(_unknown(row, _LINK_KEYS, "link", "link: "))
        match row:
            case {"between": [str(a), str(b)], "rtt_ms": int() | float() as rtt, **rest} if a != b and rtt >= 0:
                yield frozenset((a, b)), Distance(float(rtt), str(rest.get("source", "world file")))
            case _:
                complaints.append(f'link {row!r}: expected {{ between = ["A", "B"], rtt_ms = N, source = "..." }}')


def parse(text: str, source: str) -> World:
    """A world from TOML. Raises WorldError with all complaints together."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorldError(source, [str(error)]) from error
    complaints = list(_unknown(table, _KEYS, "world"))
    places = tuple(_places(table.get("places"), complaints))
    links = dict(_links(table.get("links", []), complaints))
    if not any(place.kind == "region" for place in places):
        complaints.append('a world needs at least one place with kind = "region"')
    for key, allowed in (("profile", ("native", "aws")), ("compat", ("lenient", "strict"))):
        if table.get(key, allowed[0]) not in allowed:
            complaints.append(f"{key} = {table[key]!r}, expected one of {', '.join(allowed)}")
    state = table.get("state", "")
    if state and not any(place.name == state and place.kind == "region" for place in places):
        complaints.append(f"state = {state!r} is no region of this world")
    workers = table.get("workers", 1)
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= WORKERS_MAX:
        complaints.append(f"workers = {workers!r} is not a number of processes from 1 to {WORKERS_MAX}")
    same = _number(table, "same_place_rtt_ms", 0.3, complaints)
    jitter = _number(table, "jitter_ms", 1.0, complaints)
    create = _number(table, "create_delay_s", 0.0, complaints, "seconds") if "create_delay_s" in table else None
    if complaints:
        raise WorldError(source, complaints)
    profile, compat = table.get("profile", "native"), table.get("compat", "lenient")
    return World(places, links, same, jitter, profile, compat, state, workers, create)


def builtin_text() -> str:
    return resources.files("atoll.processes").joinpath("builtin.toml").read_text(encoding="utf-8")


def load(path: Path | None) -> World:
    """The world in a file, or the built-in one. Raises WorldError."""
    if path is None:
        return parse(builtin_text(), "built-in world")
    return parse(read(path), str(path))


def read(path: Path) -> str:
    """The text of a world file. Raises WorldError for a file that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorldError(str(path), [reason(error)]) from error
    except UnicodeDecodeError as error:
        raise WorldError(str(path), ["it is not UTF-8 text"]) from error
