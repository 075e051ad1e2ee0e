# `make demo` and `make test` need make and Python 3.11 or newer with venv, and nothing else.

VENV := .venv
BIN := $(VENV)/bin
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

# The first python that is new enough; `make PYTHON=/path/to/python` takes another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)

# The oldest versions that pyproject.toml allows; numpy 1.26 has no wheels for a newer Python.
OLD_ENOUGH := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))
OLDEST := $(VENV)-oldest
# With a newer one matplotlib 3.9 warns, and the tests of pictures allow no warning.
FOR_OLDEST := 'pyparsing>=3.1,<3.3'
OLDEST_PYTHON ?= $(shell for p in $(PYTHON) python3.11 python3.12; do \
	$$p -c '$(OLD_ENOUGH)' 2>/dev/null && echo $$p && break; done)

# Nothing but what the wheel asks for.
ALONE := $(VENV)-alone

# One thread a process: the tests run in several processes already.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# The tests of the rooms that a fit of rows in memory needs, and the audits of its privacy.
CORE_TESTS := $(addprefix tests/,audit decomposition mechanisms noise privacy records statistics)

# What needs the extras dask and federated; without them these tests are left out.
EXTRA_TESTS := tests/federated tests/cli/test_site_command.py tests/out_of_core/test_cluster.py \
	tests/out_of_core/test_cluster_processes.py tests/package/test_import.py tests/package/test_documented.py \
	tests/cli/test_help.py tests/benchmarks/test_published.py

# What measures one cell of every table again.
CANARIES := tests/benchmarks/test_no_regression.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-core test-around test-slow test-extras test-oldest test-all lint size \
	pages docs docs-look figures canaries published measure test-pages browser dist clean

help:
	@echo 'make demo      private components of public digits, into demo/, charged to a ledger beside it'
	@echo 'make test      the quick tests: about 5 minutes on two cores'
	@echo 'make test-core  of these, the tests of fits, their noise and their accounts'
	@echo 'make test-all  every test, those marked slow too'
	@echo 'make test-oldest  the quick tests with the oldest versions that are allowed'
	@echo 'make lint      style, types, the layers of setup.cfg, words, circles and sizes'
	@echo 'make size      lines, files, classes, words: by room, and beside their limits'
	@echo 'make docs      the documentation into doc/_build/html, and its examples'
	@echo 'make test-pages the built pages in Chromium: light, dark, by keyboard, on a phone'
	@echo 'make docs-look pictures of four of its pages, light and dark (needs chromium)'
	@echo 'make figures   the figures in sentences: each has its key or its marker'
	@echo 'make published  the same, and one cell of every table measured again: about 5 minutes'
	@echo 'make measure   the published tables again, for hours on an idle machine'
	@echo 'make dist      the wheel and the source archive into dist/, and the wheel alone tried'
	@echo 'make clean     remove the environment and what was built'

demo: $(VENV)/.installed-plot,cli
	$(BIN)/skdppca demo --force

test: test-core test-around

# COVERAGE=1 measures the branches of the core that its own tests take, for `make size`.
test-core: $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m 'not slow' $(CORE_TESTS) \
		$(if $(COVERAGE),--cov=skdppca --cov-branch --cov-report=json:.coverage.json)

test-around: $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m 'not slow' $(addprefix --ignore ,$(CORE_TESTS))

# Without the canaries, which `published` holds.
test-slow: $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m slow --ignore $(CANARIES)

# What `make test` leaves out where these extras are missing; once they are there, `test-slow` has all.
test-extras: $(VENV)/.installed-test,dask,federated
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m 'not slow' $(EXTRA_TESTS)

test-oldest: $(OLDEST)/.installed
	$(ONE_THREAD) $(OLDEST)/bin/pytest -n 2 -m 'not slow'

test-all: test test-extras test-slow canaries

# mypy follows the imports of all extras.
lint: $(VENV)/.installed-test,dask,federated
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy skdppca
	$(BIN)/lint-imports --no-cache
	$(BIN)/python .ci/check_words_and_rooms.py
	$(BIN)/python .ci/measure_size.py --check

# Beside the limits of .ci/sizes.json, which `lint` holds.
size: $(VENV)/.installed-test
	$(BIN)/python .ci/measure_size.py

pages: $(VENV)/.installed-doc
	rm -rf doc/api/generated
	$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going -q -d doc/_build/trees -b html doc doc/_build/html

docs: pages $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going -q -d doc/_build/trees -b doctest doc doc/_build/doctest
	$(ONE_THREAD) $(BIN)/pytest -q --doctest-modules skdppca

published: figures canaries

figures: $(VENV)/.installed-test
	$(BIN)/python benchmarks/published.py

# One cell is of fits over sites, which need the extra federated.
canaries: $(VENV)/.installed-test,dask,federated
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m slow $(CANARIES)

# Stopped, it goes on where it was; `python benchmarks/measure.py` lists its parts and hours.
measure: $(VENV)/.installed-test,benchmark,plot,cli,dask,federated
	$(ONE_THREAD) $(BIN)/python benchmarks/measure.py --run

docs-look: docs
	$(BIN)/python doc/look.py

test-pages: browser pages $(VENV)/.installed-test,pages
	$(BIN)/pytest -q doc/browser

# The distribution's Chromium and its driver. Root installs them; anyone else is told what to type.
browser:
	@found() { command -v "$${CHROMIUM:-chromium}" && command -v "$${CHROMEDRIVER:-chromedriver}"; }; \
	{ found || { test "$$(id -u)" = 0 && apt-get update && apt-get install --yes chromium chromium-driver; }; } > /dev/null && \
	found > /dev/null || { \
		echo 'test-pages needs a browser; type: sudo apt install chromium chromium-driver'; \
		exit 1; }

dist: $(VENV)/.installed-release
	rm -rf build dist $(ALONE)
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	'$(PYTHON)' -m venv $(ALONE)
	$(ALONE)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd $(ALONE) && bin/skdppca demo

clean:
	rm -rf $(VENV) $(OLDEST) $(ALONE) build dist doc/_build doc/api/generated doc/api/backreferences doc/auto_* *.egg-info

# A stamp a set of extras: installing again is skipped until pyproject.toml changes.
$(VENV)/.installed-%: $(VENV)/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch '$@'

$(OLDEST)/.installed: pyproject.toml
	@'$(OLDEST_PYTHON)' -c '$(OLD_ENOUGH)' 2>/dev/null || { \
		echo 'the oldest versions need Python 3.11 or 3.12; install one, or: make OLDEST_PYTHON=/path/to/python'; \
		exit 1; }
	@'$(OLDEST_PYTHON)' -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
		--editable '.[test]' $(FOR_OLDEST)
	@touch '$@'

$(VENV)/pyvenv.cfg:
	@'$(PYTHON)' -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		echo 'skdppca needs Python 3.11 or newer; install it, or: make PYTHON=/path/to/python'; \
		exit 1; }
	@'$(PYTHON)' -m venv $(VENV) || { rm -rf $(VENV); \
		echo 'skdppca needs the venv module of $(PYTHON) (Debian: apt install python3-venv)'; \
		exit 1; }
