# Everything a newcomer needs. `make run` and `make test` each set up what they need, once: a second call installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A stamp per set of dependencies; they are installed again only when pyproject.toml changes.
RUN_STAMP := $(VENV)/.run-stamp
TEST_STAMP := $(VENV)/.test-stamp
DOCS_STAMP := $(VENV)/.docs-stamp
DEPLOY_STAMP := $(VENV)/.deploy-stamp
# Real agents are large (2.5 GB): one cache can serve many clones.
CLIENTS_CACHE ?= $(if $(wildcard $(HOME)/.cache/streamfuse-clients),$(HOME)/.cache/streamfuse-clients,$(CURDIR)/.cache/clients)
export CLIENTS_CACHE

.PHONY: help run demo test lint faults heals fuzz soak mutate test-clients test-deploy real docs image bench-detect bench-outage fit clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# tools/environment.py makes the environment, and says what it does, or why it cannot.
SETUP := @$(PYTHON) tools/environment.py "$(VENV)"
HAS_PYTHON := @command -v $(PYTHON) >/dev/null || \
  { echo "streamfuse: $(PYTHON) is not there; Python 3.11 or newer is needed (make PYTHON=python3.12 …)." >&2; exit 2; }

$(RUN_STAMP): pyproject.toml
	$(HAS_PYTHON)
	$(SETUP)
	@touch $@

$(TEST_STAMP): pyproject.toml
	$(HAS_PYTHON)
	$(SETUP) test
	@touch $@ $(RUN_STAMP)

$(DEPLOY_STAMP): pyproject.toml
	$(HAS_PYTHON)
	$(SETUP) test,deploy
	@touch $@ $(TEST_STAMP) $(RUN_STAMP)

$(DOCS_STAMP): pyproject.toml
	$(HAS_PYTHON)
	$(SETUP) docs
	@touch $@

run: $(RUN_STAMP) ## start the proxy: UPSTREAM=URL, else config.yaml, else a demo provider with a curl line to try
	@if [ -n "$(UPSTREAM)" ]; then exec $(BIN)/streamfuse serve --upstream "$(UPSTREAM)"; \
	elif [ -f config.yaml ]; then exec $(BIN)/streamfuse serve -c config.yaml; \
	else exec $(BIN)/streamfuse demo --keep; fi

demo: $(RUN_STAMP) ## see it work, in ten seconds once its packages are there: no key, no network
	@$(BIN)/streamfuse demo

JOBS ?= auto
test: $(TEST_STAMP) ## run the tests, about three minutes on two cores (ARGS="-k cut" for some of them, JOBS=0 in one process)
	@echo "the tests: some 11,000, in $(JOBS) processes; about three minutes on two free cores (ARGS=\"-k cut\" runs some of them)"
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: $(TEST_STAMP) ## ruff and mypy; the tests are type-checked, too (tests/mypy.ini)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini

faults: $(TEST_STAMP) ## every fault of a provider at every place on every wire, and every odd answer (some 10,500; minutes)
	$(BIN)/python -m tests.attacks.faults
	$(BIN)/python -m tests.attacks.overload

heals: $(TEST_STAMP) ## every useless second answer after a loop, on every wire, streamed and whole
	HEALS=all $(BIN)/python -m pytest tests/proxy/exchange/test_healing.py

N ?= 20000
SEED ?= 1
fuzz: $(TEST_STAMP) ## N random inputs through all that reads strangers' bytes (N=1000000 takes hours; SEED=2 draws others)
	$(BIN)/python -m tests.attacks.fuzz --inputs $(N) --seed $(SEED) $(ARGS)

SAMPLE ?= 0.1
mutate: $(TEST_STAMP) ## break the core one line at a time: does a test notice? (SAMPLE=1 tries every break: hours)
	$(BIN)/python -m tests.mutation --sample $(SAMPLE) $(ARGS)

soak: $(TEST_STAMP) ## five minutes of mixed streams: memory, descriptors, tasks and objects over time (ARGS=--help tells more)
	@$(BIN)/python -m tests.attacks.soak $(ARGS)

test-clients: $(TEST_STAMP) ## real agents and Node SDKs through the proxy (installs them, pinned, into CLIENTS_CACHE)
	$(BIN)/python -m tests.clients.install
	# Other people's programs, on a machine that may be busy: what fails is run again, at most twice, and told (R).
	$(BIN)/python -m pytest -m agents -rsR -n 2 --dist worksteal --reruns 2 tests/clients $(ARGS)

test-deploy: $(DEPLOY_STAMP) ## chart, manifests, compose and unit, with Helm's own engine and Kubernetes' schemas (installs 100 MB)
	$(BIN)/python -m pytest -rs tests/deploy tests/test_deploy.py $(ARGS)

real: $(TEST_STAMP) ## a real model on this machine falls into a real loop, and is cut (installs 300 MB into CLIENTS_CACHE)
	$(BIN)/python -m tests.clients.real

docs: $(DOCS_STAMP) ## the documentation as a site in site/; a link that leads nowhere fails it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean

image: ## the container image, with whatever builds images here
	@if command -v docker >/dev/null && docker info >/dev/null 2>&1; then docker build -t streamfuse .; \
	elif command -v podman >/dev/null; then podman build --format docker -t streamfuse .; \
	else buildah bud --format docker -t streamfuse .; fi

bench-detect: $(RUN_STAMP) ## detection figures beside reference detectors: LOOPBENCH=folder (ARGS=--help tells more)
	@LOOPBENCH="$(LOOPBENCH)" $(BIN)/python -m benchmarks.bench_detect $(ARGS)

bench-outage: $(TEST_STAMP) ## agents whose provider fails for a while, without and with the fuse (ARGS=--help tells more)
	@$(BIN)/python -m benchmarks.outage $(ARGS)

fit: $(RUN_STAMP) ## fit the score anew, write it and its picture: LOOPBENCH=folder (ARGS="--more NAME=FILE" adds texts)
	$(SETUP) fit
	@$(BIN)/python -m benchmarks.fit "$(LOOPBENCH)" --out rules/detect/packs/odds.json --picture docs/detection.svg $(ARGS)

clean: ## remove what make built (not CLIENTS_CACHE)
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
