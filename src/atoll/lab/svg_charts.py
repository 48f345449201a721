"""Small SVG charts and a map that need no script, font or network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from atoll.lab.quantiles import quantile
from atoll.rules.distance import Coordinates

CURVE_POINTS = 160
TICKS = 5


@dataclass(frozen=True, slots=True)
class Series:
    """Readings of one path. `style` is a class of the style sheet; `marks` are published figures on its curve: share, ms."""

    name: str
    style: str
    values: Sequence[float]
    marks: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a plot's axes lie, in the drawing's units."""

    left: float = 40
    top: float = 10
    width: float = 410
    height: float = 160
    most: float = 1

    def x(self, ms: float) -> float:
        return round(self.left + self.width * min(ms / self.most, 1.0), 1)

    def y(self, share: float) -> float:
        return round(self.top + self.height * (1 - share), 1)


def nice_ceiling(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten, for an axis."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value)


def distribution(series: Sequence[Series], title: str) -> str:
    """Share of reads that were answered within so many ms, one curve per path; dots are the published p50 and p95."""
    highest = max(max([quantile(one.values, 0.995), *(ms for _share, ms in one.marks)]) for one in series)
    frame = Frame(most=nice_ceiling(highest))
    parts = [*_axes(frame), *(_curve(one, frame) for one in series)]
    parts += [mark for one in series for mark in _marks(one, frame)]
    return _svg(470, 205, title, parts)


def _axes(frame: Frame) -> Iterable[str]:
    for share in (0.0, 0.5, 0.95):
        y = frame.y(share)
        yield f'<line class="grid" x1="{frame.left}" x2="{frame.left + frame.width}" y1="{y}" y2="{y}"/>'
        yield f'<text class="tick" x="{frame.left - 5}" y="{y + 4}" text-anchor="end">{share:.0%}</text>'
    for tick in range(TICKS + 1):
        ms = frame.most * tick / TICKS
        yield f'<text class="tick" x="{frame.x(ms)}" y="{frame.top + frame.height + 16}" text-anchor="middle">{ms:g}</text>'
    end = frame.left + frame.width
    yield f'<text class="tick" x="{end}" y="{frame.top + frame.height + 31}" text-anchor="end">ms</text>'


def _curve(one: Series, frame: Frame) -> str:
    ordered = sorted(one.values)
    shares = [index / CURVE_POINTS for index in range(CURVE_POINTS + 1)]
    coordinates = " ".join(f"{frame.x(quantile(ordered, share))},{frame.y(share)}" for share in shares)
    return f'<polyline class="{one.style}" points="{coordinates}"><title>{escape(one.name)}</title></polyline>'


def _marks(one: Series, frame: Frame) -> Iterable[str]:
    for share, ms in one.marks:
        label = f"{escape(one.name)}, published p{share * 100:.0f}: {ms} ms"
        yield f'<circle class="{one.style} mark" cx="{frame.x(ms)}" cy="{frame.y(share)}" r="4"><title>{label}</title></circle>'


@dataclass(frozen=True, slots=True)
class Line:
    """A link to draw: its ends, and what to write on it. `style` is a class of the style sheet."""

    a: str
    b: str
    text: str
    style: str


MAP_WIDTH, MAP_HEIGHT = 960, 430
TEXT_MARGIN = 24
NORTH, SOUTH = 70.0, -5.0  # shown; extended when a place lies outside


def map_of(places: Mapping[str, Coordinates], lines: Sequence[Line], title: str) -> str:
    """Places and links, equirectangular, the Atlantic in the middle and the seam in the Pacific."""
    south = min([SOUTH, *(coordinates.latitude - 8 for coordinates in places.values())])
    at = {name: _projected(coordinates, south) for name, coordinates in places.items()}
    parts = [*_graticule(south)]
    for index, line in enumerate(lines):
        parts += _link(line, at[line.a], at[line.b], index)
    for name, (x, y) in at.items():
        parts.append(f'<circle class="place" cx="{x}" cy="{y}" r="6"/>')
        anchor, shift = ("end", -10) if x > MAP_WIDTH * 0.8 else ("start", 10)
        parts.append(f'<text class="name" x="{x + shift}" y="{y + 20}" text-anchor="{anchor}">{escape(name)}</text>')
    return _svg(MAP_WIDTH, MAP_HEIGHT, title, parts)


def _projected(coordinates: Coordinates, south: float) -> tuple[float, float]:
    x = (coordinates.longitude + 180) / 360 * MAP_WIDTH
    y = (NORTH - coordinates.latitude) / (NORTH - south) * MAP_HEIGHT
    return round(x, 1), round(y, 1)


def _graticule(south: float) -> Iterable[str]:
    for longitude in range(-180, 181, 30):
        x, _ = _projected(Coordinates(0, longitude), south)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{MAP_HEIGHT}"/>'
    for latitude in range(math.ceil(south / 15) * 15, int(NORTH) + 1, 15):
        _, y = _projected(Coordinates(latitude, 0), south)
        yield f'<line class="grid" x1="0" x2="{MAP_WIDTH}" y1="{y}" y2="{y}"/>'
        yield f'<text class="tick" x="4" y="{y - 3}">{abs(latitude)}° {"N" if latitude >= 0 else "S"}</text>'


def _link(line: Line, a: tuple[float, float], b: tuple[float, float], index: int) -> Iterable[str]:
    """An arc the short way round; one that leaves the map on one side comes in again on the other."""
    (ax, ay), (bx, by) = a, b
    around = math.copysign(MAP_WIDTH, ax - bx) if abs(ax - bx) > MAP_WIDTH / 2 else 0.0
    arcs = [((ax, ay), (bx + around, by))]
    if around:
        arcs.append(((ax - around, ay), (bx, by)))
    for start, end in arcs:
        yield from _arc(line, start, end, SHARES[index % len(SHARES)])


SHARES = (0.5, 0.42, 0.58, 0.46, 0.54, 0.38)  # where along its arc a link's text sits, so that texts do not meet


def _arc(line: Line, a: tuple[float, float], b: tuple[float, float], share: float) -> Iterable[str]:
    """It bows upward, the more the longer it is; what lies outside the map is cut off by the drawing's edge."""
    (ax, ay), (bx, by) = a, b
    mx, my = (ax + bx) / 2, max(10.0, (ay + by) / 2 - math.hypot(bx - ax, by - ay) * 0.22)
    tx, ty = (_bezier(start, middle, end, share) for start, middle, end in ((ax, mx, bx), (ay, my, by)))
    yield f'<path class="{line.style}" d="M{ax:.1f},{ay} Q{mx:.1f},{my:.1f} {bx:.1f},{by}"/>'
    if 0 <= tx <= MAP_WIDTH:
        x = min(max(tx, TEXT_MARGIN), MAP_WIDTH - TEXT_MARGIN)
        yield f'<text class="link-text" x="{x:.1f}" y="{ty - 4:.1f}" text-anchor="middle">{escape(line.text)}</text>'


def _bezier(start: float, middle: float, end: float, share: float) -> float:
    return (1 - share) ** 2 * start + 2 * share * (1 - share) * middle + share**2 * end


def _svg(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
