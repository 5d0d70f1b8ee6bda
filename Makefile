# Development and demonstration of tt_kernel. `make help` lists the targets.
#
# Nothing is installed outside this folder, except, on a bare Debian, the two packages that .ci/venv names.
# Stamps in .venv tell what is installed; a target whose stamp is newer than pyproject.toml costs nothing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

BIN := .venv/bin
DEMO := build/demo
NOTEBOOK ?= $(firstword $(wildcard $(DEMO)/00-hello.ipynb) notebooks/00-hello.ipynb)
PACKAGED := pyproject.toml $(wildcard tt_kernel/ipython/kernelspec/*)

.PHONY: help venv demo test lint types contracts unit nbval bench lab labextension protocol install-kernel clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- what is installed

$(BIN)/python:
	@.ci/venv

.venv/.installed: $(BIN)/python $(PACKAGED)
	@.ci/venv
	@echo "Installing tt_kernel with the local model's engine and JupyterLab into .venv"
	@TT_SKIP_LABEXTENSION=1 .ci/pip -e ".[local,lab]"
	@touch $@

.venv/.model: .venv/.installed
	@$(BIN)/tt model install smollm2
	@touch $@

.venv/.developer: .venv/.installed $(PACKAGED)
	@echo "Installing what the tests need into .venv"
	@TT_SKIP_LABEXTENSION=1 .ci/pip -e ".[dev]"
	@touch $@

venv: .venv/.developer .venv/.model ## create .venv with everything that development needs

# ---- see it work

demo: .venv/.installed .venv/.model ## run the first notebook live on the local model (no key, no account)
	@mkdir -p $(DEMO)
	@cp notebooks/00-hello.ipynb $(DEMO)/
	@$(BIN)/tt run --live $(DEMO)/00-hello.ipynb
	@echo
	@echo "What the agent saw, said and did:  $(DEMO)/00-hello.agent"
	@echo "Open the notebook in JupyterLab:   make lab"

lab: .venv/.installed .venv/.model labextension ## open JupyterLab on the demonstration (NOTEBOOK=path opens another)
	@$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(NOTEBOOK)

install-kernel: .venv/.installed ## register the kernel "tt-agent" for this user's Jupyter
	@$(BIN)/tt install --user

# ---- the front end

labextension: .venv/.installed ## build the JupyterLab extension from labextension/ (needs node 20.19 or 22.12 and newer)
	@.ci/labextension

protocol: .venv/.installed ## write labextension/src/protocol.ts from domain/views.py
	@$(BIN)/python -m tt_kernel.widgets.protocol > labextension/src/protocol.ts

# ---- check it

test: venv ## everything that CI checks
	@$(MAKE) lint
	@$(MAKE) types
	@$(MAKE) contracts
	@$(MAKE) nbval
	@$(MAKE) unit

lint: .venv/.developer ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: .venv/.developer ## mypy --strict
	@$(BIN)/mypy

contracts: .venv/.developer ## import contracts: layers, strangers, cycles
	@$(BIN)/lint-imports --no-logo --no-cache

unit: venv labextension ## unit tests, the front end's and the browser's included (ARGS="-k name" selects)
	@.ci/chromium
	@.ci/sandbox
	@$(BIN)/pytest -v -n 2 --dist=loadfile tests --ignore=tests/bench $(ARGS)

nbval: venv ## the notebooks as tests: strictly, twice, under each kernel
	@.ci/nbval

bench: venv ## measure: import times, cost per call, replay, shell
	@for bench in tests/bench/bench_*.py; do echo "== $$bench"; $(BIN)/python "$$bench"; done

clean: ## remove .venv, build products and caches
	rm -rf labextension/node_modules labextension/build
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
