"""`python -m atoll.processes.coverage` prints docs/COVERAGE.md."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from atoll.aws_protocols.api_coverage import Row, coverage, markdown
from atoll.services.iam.operations import OPERATIONS as IAM
from atoll.services.s3.operations import OPERATIONS as S3
from atoll.services.s3control.operations import OPERATIONS as S3CONTROL
from atoll.services.sts.operations import OPERATIONS as STS

SERVICES: Mapping[str, Mapping[str, Callable[..., Any]]] = {"s3": S3, "s3control": S3CONTROL, "iam": IAM, "sts": STS}


def rows() -> Iterator[Row]:
    """One for each operation of each service's model."""
    for service, operations in SERVICES.items():
        yield from coverage(service, operations)


if __name__ == "__main__":
    sys.stdout.write(markdown(rows()))
