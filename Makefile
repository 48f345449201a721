# Every command a person needs. `make setup` is what the others stand on; it fetches packages once and then does nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-$(shell cat requirements.lock pyproject.toml tests/clients/node/package-lock.json 2>/dev/null | sha256sum | cut -c1-16)
CLIENTS := $(VENV)/.clients-$(shell sha256sum tests/clients/requirements.lock 2>/dev/null | cut -c1-16)
BENCH := $(VENV)/.bench-$(shell sha256sum bench.lock | cut -c1-16)
STEP := sh tools/step.sh $(VENV)/setup.log
# The clients under test must meet this world's CA and proxy only, whatever the shell has set.
CLEAN := env -u AWS_CA_BUNDLE -u REQUESTS_CA_BUNDLE -u SSL_CERT_FILE -u NODE_EXTRA_CA_CERTS -u HTTPS_PROXY -u HTTP_PROXY

.PHONY: setup clients-setup demo test soak lint types house unit clients bench-setup bench coverage reference lock clean

setup: $(STAMP)
$(STAMP):
	@sh tools/setup.sh $(PYTHON) $(VENV)
	@rm -f $(VENV)/.setup-*; touch $@

demo: setup          ## the main job: four regions, one endpoint, the published experiment as slow as AWS; two minutes at most
	$(BIN)/atoll lab mrap --quick --profile aws --html demo.html

test: setup clients-setup lint types house unit

clients-setup: setup $(CLIENTS)
$(CLIENTS):          # pandas, pyarrow, minio and DuckDB, as clients under test: a venv of their own
	@$(STEP) "making an environment for the clients that only tests use" "begin anew: make clean setup" $(BIN)/python -m venv $(VENV)/clients
	@$(STEP) "installing the clients that only tests use (once)" "Is the package index reachable? Then again: make clients-setup" \
	  $(VENV)/clients/bin/pip install --disable-pip-version-check --require-hashes -r tests/clients/requirements.lock
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
	@$(STEP) "installing the servers that Atoll is measured against (once)" "Is the package index reachable? Then again: make bench-setup" \
	  $(BIN)/pip install --disable-pip-version-check --require-hashes -r bench.lock
	@touch $@
bench: bench-setup
	$(BIN)/python bench/peers.py

coverage: setup      ## write docs/COVERAGE.md anew
	$(BIN)/python -m atoll.processes.coverage > docs/COVERAGE.md

reference: setup     ## write docs/CLI.md anew
	$(BIN)/python -m atoll.cli.reference > docs/CLI.md

clean:
	rm -rf $(VENV) tests/clients/node/node_modules demo.html
