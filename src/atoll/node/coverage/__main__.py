"""How much of AWS's APIs does this build take? `python -m atoll.node.coverage` prints docs/COVERAGE.md."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from atoll.services.iam.control import OPERATIONS as IAM
from atoll.services.s3.control import OPERATIONS as S3
from atoll.services.s3control.control import OPERATIONS as S3CONTROL
from atoll.services.sts.control import OPERATIONS as STS
from atoll.wire.coverage import Row, coverage, markdown

SERVICES: Mapping[str, Mapping[str, Callable[..., Any]]] = {"s3": S3, "s3control": S3CONTROL, "iam": IAM, "sts": STS}


def rows() -> Iterator[Row]:
    """One for each operation of each service's model."""
    for service, operations in SERVICES.items():
        yield from coverage(service, operations)


if __name__ == "__main__":
    sys.stdout.write(markdown(rows()))
