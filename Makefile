# Every target sets itself up: a virtual environment in .venv, made anew only when its inputs change.
#
#   make demo     a broken training cluster, diagnosed (embedded AWS, nothing leaves the machine)
#   make test     every test
#   make check    the quick part: formatting, lint, types, and the tests that need no AWS and no installing
#   make lint     formatting, lint and types alone
#   make packets  the verdicts against a real packet filter, and real frameworks (Linux, as root; see docs/verification.md)
#   make packets-nightly   the same on 5,000 random networks; seeds that fail are kept in tests/packets/seeds.json
#   make bench    each speed and memory target beside what was measured
#   make golden   rewrites the expected outputs of tests/golden; read the diff before you commit it
#   make clean    removes the virtual environment and everything that tools leave behind

PYTHON ?= python3
WORKERS ?= auto
EXTRAS ?= test,lint

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip -qq --disable-pip-version-check
PYTEST := $(PY) -m pytest
QUICK := not moto and not install and not slow and not packets and not browser

.DEFAULT_GOAL := help
.PHONY: help demo test check lint packets packets-nightly bench golden clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.demo
	$(PY) -m sgaudit demo

test: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --dist loadfile

check: lint
	$(PYTEST) -n $(WORKERS) -m '$(QUICK)'

lint: $(VENV)/.dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

packets: $(VENV)/.packets
	$(PYTEST) tests/packets

packets-nightly: export SGAUDIT_PACKETS_NETWORKS ?= 5000
packets-nightly: export SGAUDIT_PACKETS_SEED ?= $(shell date +%Y%m%d)0000
packets-nightly: export SGAUDIT_PACKETS_KEEP ?= 1
packets-nightly: packets

bench: $(VENV)/.dev
	$(PY) -m benchmarks.run $(BENCH)

golden: $(VENV)/.dev
	SGAUDIT_GOLDEN=write $(PYTEST) tests/golden

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo 'sgaudit needs Python 3.11 or newer; say which one with: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo 'this Python has no venv; on Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.demo: setup.cfg pyproject.toml | $(PY)
	@echo 'installing into $(VENV) ...'
	@$(PIP) install --editable '.[demo]'
	@touch $@

$(VENV)/.dev: setup.cfg pyproject.toml | $(PY)
	@echo 'installing into $(VENV) ...'
	@$(PIP) install --editable '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.demo

$(VENV)/.packets: $(VENV)/.dev
	@echo 'installing PyTorch and Dask into $(VENV) ...'
	@$(PIP) install --editable '.[packets]'
	@touch $@
