# Everything a newcomer needs: `make run` and `make test` each set up what they need, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A stamp per set of dependencies: a second call does not reinstall until pyproject.toml changes.
RUN_STAMP := $(VENV)/.run-stamp
TEST_STAMP := $(VENV)/.test-stamp

.PHONY: help run test lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(TEST_STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@ $(RUN_STAMP)

test: $(TEST_STAMP) ## set up and run the tests, lint and types
	$(BIN)/python -m pytest $(ARGS)

lint: $(TEST_STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean: ## remove what make built
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
