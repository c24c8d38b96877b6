# Gougi. `make play` and `make test` need Linux, GNU make and Python 3.11 or newer; everything else comes from the lock file.
#
#   make play [ARGS="--games 2"]        a whole game, live in this terminal
#   make test                           the fast tests; `make test TESTS=` runs all, as CI does
#   make lint                           ruff, mypy, import-linter, shellcheck
#   make docs                          the documentation's site, in build/site (docs-serve: shown while it is written)
#   make diagrams                      draw docs/explanation/diagrams/*.mmd again; needs npm and Chromium
#   make torch                         PyTorch for `gougi train` and its tests, which are skipped without it
#   make wheel [COMPILED=1]             a wheel in dist; with compiled code for this machine's CPU level and AVX2
#   make lock                           make the lock files again, from pyproject.toml
#   make clean                          remove the environment and the tools' caches

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: play test lint format docs docs-serve docs-venv diagrams torch wheel lock venv clean help

VENV := .venv
BIN := $(VENV)/bin
# The stamps' names hold a hash of the installed packages, because file times mean nothing after a clone or a checkout.
hash = $(shell sha256sum <$(1) | cut -c1-16)
LOCKED := $(VENV)/.lock-$(call hash,requirements-dev.lock)
STAMP := $(VENV)/.project-$(call hash,pyproject.toml)

ARGS ?=
# The slow tests play whole games, kill real processes, compile for other CPUs, boot machines: they take three times as long.
TESTS ?= -m 'not slow'
# Test files that run at a time. Most tests wait for processes of their own, each of which may use a core.
WORKERS ?= 4

help:
	@sed -n '2,13s/^# \{0,1\}//p' Makefile

# On this machine, even if a gougi.toml in this folder names a server: a second login would replace the first.
play: $(STAMP)
	@GOUGI_CSA_SERVER= exec $(BIN)/gougi play $(ARGS)

# The tests start a thousand processes, so Python's bytecode is kept, even if the environment forbids it. One process
# compiles the searcher before the tests start.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(STAMP)
	@$(BIN)/gougi warm
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(TESTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck --external-sources deploy/scripts/*.sh

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

venv: $(STAMP)

# The right build of PyTorch depends on the machine, so no lock file has it: pip's own settings decide.
torch: $(STAMP)
	@$(BIN)/python -c 'import torch' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    "$$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["train"])')"

# The site's tools go into the same environment, because the reference is made from the code.
DOCS := $(VENV)/.docs-$(call hash,requirements-docs.lock)
docs-venv: $(STAMP) $(DOCS)

docs: docs-venv
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

docs-serve: docs-venv
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --strict

diagrams:
	@docs/hooks/diagrams.sh

$(DOCS): | $(LOCKED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@rm -f $(VENV)/.docs-*
	@touch $(DOCS)

$(LOCKED):
	@python=""; \
	for name in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	    if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python="$$name"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "Gougi needs Python 3.11 or newer: none of python3.11, python3.12, python3.13, python3 is one." >&2; \
	    echo "Install it, or name it: make play PYTHON=path/to/python3.11" >&2; exit 2; \
	fi; \
	echo "Making $(VENV) with $$("$$python" -V) (once; about 150 MB to fetch)"; \
	"$$python" -m venv --clear $(VENV) || { echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $(LOCKED)

$(STAMP): $(LOCKED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@rm -f $(VENV)/.project-*
	@touch $(STAMP)

# Compiled code holds the names of its modules, so it is made by an installed wheel, not from this folder's sources.
LEVELS ?= "" avx2
WHEEL = $(BIN)/python -m build --wheel --no-isolation --outdir
wheel: $(STAMP)
ifndef COMPILED
	@$(WHEEL) dist .
else
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; mkdir "$$work/packs"; \
	$(WHEEL) "$$work" .; $(BIN)/python -m zipfile -e "$$work"/*.whl "$$work/wheel"; \
	for level in $(LEVELS); do \
	    GOUGI_CPU="$$level" GOUGI_CACHE_DIR="$$work/cache" PYTHONPATH="$$work/wheel" \
	        $(BIN)/python -P -m gougi warm --pack "$$work/packs/$${level:-own}.pack"; \
	done; \
	GOUGI_WHEEL_PACKS="$$work/packs" $(WHEEL) dist .
endif

# The lock files name no package index: pip uses the one that the machine is set up with.
COMPILE = $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header \
          --no-emit-index-url --no-emit-trusted-host --no-emit-find-links
lock: $(STAMP)
	$(COMPILE) --extra fleet --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	$(COMPILE) --constraint requirements-dev.lock --output-file requirements-docs.lock requirements-docs.in
	@# pip-compile leaves the conditions out; atheris and cshogi have no build for other machines, atheris none for Python 3.14.
	sed -i 's/^\(atheris==[^ ]*\) \\$$/\1 ; platform_machine == "x86_64" and python_version < "3.14" \\/' requirements-dev.lock
	sed -i 's/^\(cshogi==[^ ]*\) \\$$/\1 ; platform_machine == "x86_64" \\/' requirements-dev.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
