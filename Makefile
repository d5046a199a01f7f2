# make run: PageRank on rmat:20, or on the file in GRAPH=.   make test: the tests.   Both need python3 and a
# package registry, and make their own virtual environment in .venv first.
# make bundle: compile the kernels of all algorithms ahead.   make wheel: wheels with compiled kernels, in dist.

PYTHON ?= python3
VENV ?= .venv
GRAPH ?= rmat:20
# Up to four processes, one more than cores, because some tests wait. Each begins elsewhere, so that two seldom
# compile the same kernel.
PROCESSES = $(shell $(PYTHON) -c 'import os; print(min(4, 1 + os.cpu_count()))')
PYTEST ?= -n $(PROCESSES) --dist worksteal -m "not slow and not release"

# Tests start hundreds of processes. If the user sets this variable, each process compiles all modules.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run test test-networkx check bundle wheel clean

run: $(VENV)/.installed
	$(VENV)/bin/evener run pagerank "$(GRAPH)" --tol 0 --max-iter 20

test: $(VENV)/.installed-test
	$(VENV)/bin/python -m pytest $(PYTEST)

# NetworkX's own tests on the backend, with fallback and without. They need a long time. SUITE= names a part of them.
SUITE ?= networkx
test-networkx: $(VENV)/.installed-test
	$(VENV)/bin/python benchmarks/networkx_suite.py --suite $(SUITE) --processes $(PROCESSES)

check: $(VENV)/.installed-test
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

# Takes many CPU minutes. ALGORITHMS= names some algorithms.
ALGORITHMS ?=
bundle: $(VENV)/.installed
	$(VENV)/bin/python tools/bundle.py build $(ALGORITHMS)

# A wheel for each Python from 3.11 on, and a wheel without kernels for all others.
wheel: $(VENV)/.installed
	$(VENV)/bin/python tools/wheel.py

clean:
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov src/evener/kernels/compiled

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Evener needs Python 3.11 or newer, and $(PYTHON) is older or missing: name another with make PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 2; }

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --no-compile --editable . # imports compile what a run needs
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable ".[test]"
	@touch $@ $(VENV)/.installed
