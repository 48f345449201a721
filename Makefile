# Every command a person needs. `make setup` is what the others stand on; it fetches packages once and then does nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-$(shell cat requirements.lock pyproject.toml tests/clients/node/package-lock.json 2>/dev/null | sha256sum | cut -c1-16)
CLIENTS := $(VENV)/.clients-$(shell sha256sum tests/clients/requirements.lock | cut -c1-16)
BENCH := $(VENV)/.bench-$(shell sha256sum bench.lock | cut -c1-16)
# The clients under test must meet this world's CA and proxy only, whatever the shell has set.
CLEAN := env -u AWS_CA_BUNDLE -u REQUESTS_CA_BUNDLE -u SSL_CERT_FILE -u NODE_EXTRA_CA_CERTS -u HTTPS_PROXY -u HTTP_PROXY

.PHONY: setup clients-setup demo test soak lint types house unit clients bench-setup bench coverage lock clean

setup: $(STAMP)
$(STAMP):
	@command -v $(PYTHON) >/dev/null || { echo "python3 is missing: apt-get install make git python3-venv curl"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "the venv module is missing: apt-get install python3-venv"; exit 1; }
	@echo "installing what the lock file names (once, about a minute)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python tools/link_node.py
	@cd tests/clients/node && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --silent --no-audit --no-fund
	@rm -f $(VENV)/.setup-*; touch $@

demo: setup          ## the main job: four regions, one endpoint, the table of the published experiment
	$(BIN)/atoll lab mrap --quick

test: setup clients-setup lint types house unit

clients-setup: setup $(CLIENTS)
$(CLIENTS):          # pandas, pyarrow, minio and DuckDB, as clients under test: a venv of their own
	@echo "installing the clients that only tests use (once)"
	@$(BIN)/python -m venv $(VENV)/clients
	@$(VENV)/clients/bin/pip install --quiet --disable-pip-version-check --require-hashes -r tests/clients/requirements.lock
	@rm -f $(VENV)/.clients-*; touch $@

lint:
	$(BIN)/ruff check src tests bench tools
types:
	$(BIN)/mypy
house:
	$(BIN)/lint-imports
unit:
	$(CLEAN) $(BIN)/pytest -n 2 --dist loadgroup -m "not soak" tests

soak: setup          ## the long form: 200 kills, a minute of outage
	$(CLEAN) $(BIN)/pytest -m soak tests

bench-setup: setup $(BENCH)
$(BENCH):
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r bench.lock
	@touch $@
bench: bench-setup
	$(BIN)/python bench/peers.py

coverage: setup      ## write docs/COVERAGE.md anew
	$(BIN)/python -m atoll.node.coverage > docs/COVERAGE.md

clean:
	rm -rf $(VENV) tests/clients/node/node_modules
