"""Is there one order of these operations that explains every answer? Wing and Gong's search, for one key of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

ControlStore = Hashable
# the state after the operation, given the one before; None when the answer cannot have come from it
Step = Callable[[ControlStore], tuple[ControlStore] | None]


@dataclass(frozen=True)
class Operation:
    """`began` and `ended` on one clock; an operation whose answer never came has no end, and may also never have happened."""

    began: float
    ended: float
    steps: tuple[Step, ...]  # each is one way in which it may have happened
    maybe: bool = False
    name: str = ""


def is_linearizable(operations: Sequence[Operation], start: ControlStore = None) -> bool:
    """Raises nothing; takes exponential time in the number of operations that run at once, so histories are short."""
    seen: set[tuple[int, ControlStore]] = set()
    everything = (1 << len(operations)) - 1
    must = sum(1 << index for index, one in enumerate(operations) if not one.maybe)
    stack: list[tuple[int, ControlStore]] = [(everything, start)]
    while stack:
        left, state = stack.pop()
        if not left & must:
            return True
        if (left, state) in seen:
            continue
        seen.add((left, state))
        stack += _next(operations, left, state)
    return False


def _next(operations: Sequence[Operation], left: int, state: ControlStore) -> list[tuple[int, ControlStore]]:
    """Whatever may come first of what is left: what began before everything else had ended."""
    waiting = [(index, one) for index, one in enumerate(operations) if left >> index & 1]
    first_end = min(one.ended for _, one in waiting)
    found = []
    for index, one in waiting:
        if one.began <= first_end:
            for step in one.steps:
                after = step(state)
                if after is not None:
                    found.append((left & ~(1 << index), after[0]))
    return found
