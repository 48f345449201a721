"""`python -m atoll.cli.reference > docs/CLI.md`."""

import sys

from atoll.cli.reference import document

sys.stdout.write(document())
