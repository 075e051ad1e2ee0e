# `make demo` and `make test` need make and Python 3.11 or newer with venv, and nothing else.

VENV := .venv
BIN := $(VENV)/bin
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

# The first python that is new enough; `make PYTHON=/path/to/python` takes another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)

# One thread a process: the tests run in several processes already.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-all lint docs clean

help:
	@echo 'make demo      private components of the digits data, into demo/'
	@echo 'make test      the quick tests: less than 4 minutes on two cores'
	@echo 'make test-all  every test, those marked slow too'
	@echo 'make lint      style, types, and the layers of setup.cfg'
	@echo 'make docs      the documentation into doc/_build/html, and its examples'
	@echo 'make clean     remove the environment and what was built'

demo: $(VENV)/.installed-plot,cli
	$(BIN)/skdppca demo --force

test: $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m 'not slow'

test-slow: $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m slow

test-all: test test-slow

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy skdppca
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.installed-doc $(VENV)/.installed-test
	$(BIN)/sphinx-build -W --keep-going -q -b html doc doc/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b doctest doc doc/_build/doctest
	$(ONE_THREAD) $(BIN)/pytest -q --doctest-modules skdppca

clean:
	rm -rf $(VENV) build doc/_build *.egg-info

# A stamp a set of extras: installing again is skipped until pyproject.toml changes.
$(VENV)/.installed-%: $(VENV)/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch '$@'

$(VENV)/pyvenv.cfg:
	@'$(PYTHON)' -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		echo 'skdppca needs Python 3.11 or newer; install it, or: make PYTHON=/path/to/python'; \
		exit 1; }
	@'$(PYTHON)' -m venv $(VENV) || { rm -rf $(VENV); \
		echo 'skdppca needs the venv module of $(PYTHON) (Debian: apt install python3-venv)'; \
		exit 1; }
