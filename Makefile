# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make demo` and `make test` work from a bare checkout on Debian 12: they install what is missing, once.
SHELL := /bin/bash
PY := .venv/bin/python
JOBS ?= $(shell nproc)
PACKAGES := plugin features runners passes training cli
CHECKED := $(sort $(dir $(wildcard tests/*.py examples/*.py bench/*.py tools/*.py)))
TYPING := build/typing/passpilot

.DEFAULT_GOAL := help
.PHONY: help demo test build setup-test lint format types pytest lit corpus bench soak clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

demo: ## compile zstd with stock -Oz, a Python policy and a model fitted on the spot
	@tools/setup.sh demo
	$(PY) examples/demo.py

test: setup-test corpus ## set up, build, then lint, types, pytest and lit
	@$(MAKE) --no-print-directory lint types pytest lit

build: ## leave .venv/bin/passpilot; Python edits need no rebuild, C++ edits an incremental one
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

lint: setup-test ## ruff; clang-format and clang-tidy for the core
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	find plugin bench -name '*.cpp' -o -name '*.h' | xargs -r .venv/bin/clang-format --dry-run -Werror
	JOBS=$(JOBS) $(PY) tools/tidy.py

format: setup-test ## rewrite the sources in house style
	$(PY) -m ruff check --fix
	$(PY) -m ruff format
	find plugin bench -name '*.cpp' -o -name '*.h' | xargs -r .venv/bin/clang-format -i

# Type checkers do not follow the editable install's import hook: they get a farm of links instead.
types: setup-test ## mypy --strict
	@rm -rf $(TYPING) && mkdir -p $(TYPING) && touch $(TYPING)/py.typed
	@ln -s $(addprefix $(CURDIR)/,$(PACKAGES)) $(TYPING)/ && ln -s $(CURDIR)/plugin/root.py.in $(TYPING)/__init__.py
	$(PY) -m mypy $(TYPING) $(CHECKED)

pytest: setup-test ## the tests in tests/
	$(PY) -m pytest -q -n $(JOBS)

lit: setup-test ## the command-line tests in lit_tests/
	.venv/bin/lit -sv --timeout 20 -j $(JOBS) lit_tests

corpus: setup-test ## fetch and compile the real programs that the tests use, into the user's cache
	$(PY) -m tests.corpus.build

bench: setup-test ## side-by-side measurements
	@set -e; for f in bench/bench_*.py bench/runners.py; do echo "== $$f"; $(PY) $$f; done

soak: setup-test corpus ## the tests that take long
	$(PY) -m pytest -q -n $(JOBS) -m soak

clean: ## remove what was built; the corpus stays in the user's cache
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
