# One virtual environment, .venv, holds the library and its tools. A stamp file in it says what was installed from
# which pyproject.toml, so that a second run does not install again.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTEST_ARGS ?=

.PHONY: help demo test check bench docs wheel clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    run the example application against an engine on this machine"
	@echo "make test    run all tests (needs node and npm for the second engine)"
	@echo "make check   formatting, lint, types, layers"
	@echo "make bench   the benchmarks"
	@echo "make docs    build the documentation into docs/_build"
	@echo "make wheel   build the wheel into dist, and try it in an environment of its own"
	@echo "make clean   remove what these made"

demo: $(VENV)/.installed-demo
	$(BIN)/python -m examples.workspace

test: $(VENV)/.installed-test $(VENV)/.installed-lint tests/node_modules/.installed
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-test $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright --project pyproject.toml
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-test $(VENV)/.installed-docs
	$(BIN)/sphinx-build --fail-on-warning --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

wheel: $(BIN)/python
	rm -rf dist build/wheel-env
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python -m venv build/wheel-env
	build/wheel-env/bin/python -m pip --disable-pip-version-check install --quiet "$$(ls dist/*.whl)[local]"
	cd build && wheel-env/bin/python ../.ci/try_wheel.py ../README.md

clean:
	rm -rf $(VENV) tests/node_modules docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "tablekit needs Python 3.10 or later; none was found. Give one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[local,cli]"
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[all]" --group test
	@touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-lint $(VENV)/.installed-docs: $(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(PIP) --group $*
	@touch $@

tests/node_modules/.installed: tests/package.json tests/package-lock.json
	@command -v npm >/dev/null || { echo "The tests also run against dynalite, which needs node 18 or later and npm. Install both, then run make test again." >&2; exit 1; }
	npm ci --prefix tests --no-audit --no-fund --loglevel=error
	@touch $@
