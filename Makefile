# One virtual environment, .venv, holds the library and its tools. A stamp file in it says what was installed from
# which pyproject.toml, so that a second run does not install again.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTEST_ARGS ?=
WHEEL_TRANSPORTS ?= pynamodb aio

.PHONY: help demo app needs test check bench docs wheel audit lock compat clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    run the example application against an engine on this machine"
	@echo "make app     the same application in a browser, on 127.0.0.1"
	@echo "make test    run all tests; installs node, Java and Chromium first where it may, or names what to install"
	@echo "make check   formatting, lint, types, layers"
	@echo "make bench   the benchmarks"
	@echo "make docs    build the documentation into docs/_build"
	@echo "make wheel   build the wheel into dist, try it in an environment of its own, and run part of the tests there"
	@echo "make audit   bandit, a build that is reproducible, and the wheel's bill of materials"
	@echo "make lock    write the releases that the library stands on, with their hashes, into .ci/lock-X.Y.txt"
	@echo "make compat  part of the tests with the oldest and the newest releases of what tablekit depends on"
	@echo "make clean   remove what these made"

demo: $(VENV)/.installed-demo
	$(BIN)/python -m examples.workspace

test: needs $(VENV)/.installed-test $(VENV)/.installed-lint tests/node_modules/.installed
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-test $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright --project pyproject.toml
	$(BIN)/python -m pytest -q tests/test_layers.py

needs:
	@.ci/needs

app: $(VENV)/.installed-app
	$(BIN)/python -m examples.workspace.web

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
	build/wheel-env/bin/python -m pip --disable-pip-version-check install --quiet --upgrade "pip>=25.1"
	build/wheel-env/bin/python -m pip --disable-pip-version-check install --quiet "$$(ls dist/*.whl)[async,cursors,local]" --group wheel
	build/wheel-env/bin/python .ci/test_wheel.py build/wheel-tests $(WHEEL_TRANSPORTS)

audit:
	$(BIN)/python .ci/audit.py dist

lock: $(BIN)/python
	.ci/lock $(BIN)/python

compat: $(BIN)/python
	$(BIN)/python .ci/compat/matrix.py

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

$(VENV)/.installed-app: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[local,cli,cursors]" --group web
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[all]" --group test
	@touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-lint $(VENV)/.installed-docs: $(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(PIP) --group $*
	@touch $@

tests/node_modules/.installed: tests/package.json tests/package-lock.json
	npm ci --prefix tests --no-audit --no-fund --loglevel=error
	@touch $@
