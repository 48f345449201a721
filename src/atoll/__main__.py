"""`python -m atoll`: the same as the console script."""

from atoll.cli.main import entry

entry()
