# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make demo` and `make test` work from a bare checkout on Debian 12: they install what is missing, once.
SHELL := /bin/bash
unexport PYTHONDONTWRITEBYTECODE # without bytecode, every command that a test runs compiles the package again
# LLVM's major version, such as `make test LLVM=23`. One that is not the default is built beside it, in a .venv of its
# own, and the sources are not linted again.
LLVM ?= $(PASSPILOT_LLVM)
BESIDE := $(addprefix -,$(filter-out $(shell sed -n 's/^set(PASSPILOT_LLVM_MAJOR \([0-9]*\))/\1/p' plugin/CMakeLists.txt),$(LLVM)))
ifneq ($(LLVM),)
export PASSPILOT_LLVM := $(LLVM)
endif
VENV := .venv$(BESIDE)
PY := $(VENV)/bin/python
JOBS ?= $(shell nproc)
# Tests also wait, for deadlines and other processes.
WORKERS ?= $(shell expr $(JOBS) + 2)
CHECKED := $(sort $(dir $(wildcard tests/*.py examples/*.py bench/*.py tools/*.py)))
BUDGET ?= 90m
SUMMARIES := build/pytest.txt build/lit.txt
# Growth of memory is not measured under a sanitizer, whose freed memory waits before it is used again. The tests of the
# C++ door compile LLVM's headers, which takes minutes where a sanitizer is loaded into the compiler. Stock opt gives
# box2d at O2 one of two outputs, by addresses; the C API finds no onnxruntime beside the other Python, and asks Python.
# ThreadSanitizer's runtime ends the C compiler and ldd, and reports lld's exit after an error.
UNDER_ADDRESS := tests/plugin tests/passes/inline tests/passes/allocation tests/passes/allocator tests/passes/decision_point tests/passes/python \
  tests/passes/mlir/test_inlining_random.py tests/runners/test_native.py tests/training/tuning -k "not memory and not test_cpp and not box2d-O2 and not model_at_each_domain"
UNDER_THREAD := tests/plugin/native/c tests/plugin/native/stock/test_lld.py tests/plugin/native/stock/test_unit_options.py tests/plugin/native/stock/test_thread_sanitizer.py \
  tests/plugin/test_lifetime.py -k "not test_cpp and not model_at_each_domain and not programs_ask and not may_be_moved and not cache_with_advice"

.DEFAULT_GOAL := help
.PHONY: help demo test build setup-test lint format types pytest lit docs corpus bench bench-check soak soak-tests mutants fuzz policies policies-small release-figures sanitize wheel clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

demo: ## compile zstd with stock -Oz, a Python policy and a model fitted on the spot
	@tools/setup.sh demo
	$(PY) examples/demo.py

test: setup-test corpus ## set up, build, then lint, types, docs and lit beside pytest
	@rm -f $(SUMMARIES)
	@$(MAKE) --no-print-directory --keep-going $(if $(BESIDE),,lint types docs) lit >build/checks.out 2>&1 & \
	checks=$$!; trap "kill $$checks" INT TERM; \
	$(MAKE) --no-print-directory pytest; status=$$?; wait $$checks || status=2; \
	cat build/checks.out $(SUMMARIES); exit $$status

build: ## leave .venv/bin/passpilot; Python edits need no rebuild, C++ edits an incremental one
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

lint: setup-test ## ruff; clang-format and clang-tidy for the core
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	find plugin bench -name '*.cpp' -o -name '*.h' | xargs -r .venv/bin/clang-format --dry-run -Werror
	JOBS=$(JOBS) $(PY) tools/tidy.py # the files that changed since they were clean

format: setup-test ## rewrite the sources in house style
	$(PY) -m ruff check --fix
	$(PY) -m ruff format
	find plugin bench -name '*.cpp' -o -name '*.h' | xargs -r .venv/bin/clang-format -i

types: setup-test ## mypy --strict
	$(PY) -m mypy passpilot $(CHECKED)

pytest: setup-test ## the tests in tests/
	@set -o pipefail; $(PY) -m pytest -q -n $(WORKERS) --dist=worksteal | tee build/pytest.out; status=$$?; \
	echo "pytest: $$(tail -n 1 build/pytest.out)" >build/pytest.txt; exit $$status

lit: setup-test ## the command-line tests in lit_tests/
	@set -o pipefail; $(VENV)/bin/lit -sv --timeout 60 -j $(JOBS) lit_tests | tee build/lit.out; status=$$?; \
	echo "lit: $$(sed -n '/^Total Discovered Tests/,$$p' build/lit.out | tr -s '\n ' ' ')" >build/lit.txt; exit $$status

docs: setup-test ## the documentation site, in site/; refuses broken links, stale commands and missing docstrings
	$(PY) -m pytest -q tests/docs/test_commands.py
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

corpus: setup-test ## fetch and compile the real programs that the tests use, into the user's cache
	$(PY) -m tests.corpus.build

bench: setup-test ## side-by-side measurements
	$(PY) -m bench.measure
	@set -e; for module in allocator_targets csmith differential mlgo_reader; do $(PY) -m bench.sweeps.$$module; done

bench-check: setup-test corpus ## the measurements that have bars, in half an hour; fails beyond a bar
	@$(PY) -m bench.check; status=$$?; $(PY) -m bench.pages.performance; exit $$status

soak: setup-test ## sweeps over many programs for BUDGET (90m); the next call goes on
	$(PY) -m tests.corpus.build --more
	$(PY) -m bench.sweeps.programs sweeps --budget=$(BUDGET) --jobs=$(JOBS); status=$$?; \
	$(MAKE) --no-print-directory mutants || status=2; $(MAKE) --no-print-directory fuzz || status=2; exit $$status

fuzz: setup-test ## inputs of all readers, mutated by what of the code they reach, for BUDGET (90m); the next call goes on
	$(PY) -m pip install -q atheris==3.0.0
	$(PY) -m bench.sweeps.fuzz --budget=$(BUDGET); status=$$?; $(PY) -m bench.pages.reliability; exit $$status

mutants: setup-test ## mistakes put into the product, and whether tests notice, for BUDGET (90m); the next call goes on
	$(PY) -m pip install -q cosmic-ray==8.7.0
	$(PY) -m bench.sweeps.mutants --budget=$(BUDGET); status=$$?; $(PY) -m bench.pages.reliability; exit $$status

soak-tests: setup-test corpus ## the tests that take long
	$(PY) -m pytest -q -n $(JOBS) -m soak

policies: setup-test ## choose the policies of the package again, on the training programs
	$(PY) -m tools.policies

policies-small: setup-test ## the same of two programs, into build/policies
	$(PY) -m tools.policies --small -o build/policies

release-figures: setup-test ## the figures of a release: open the sealed packages of Debian, once, and build and try them; needs root
	$(PY) -m bench.sweeps.debian build/debian --sealed
	$(PY) -m bench.pages.reliability
	$(PY) -m bench.pages.oz

sanitize: setup-test ## tests with the core under AddressSanitizer and UBSan, then under ThreadSanitizer
	$(PY) -m tests.corpus.build
	tools/sanitize.sh address -n $(JOBS) $(UNDER_ADDRESS)
	tools/sanitize.sh address -m soak tests/plugin/ir/test_fuzz.py
	tools/sanitize.sh address tests/fuzz
	tools/sanitize.sh thread $(UNDER_THREAD)

wheel: setup-test ## dist/: wheels that need no LLVM on the system, and the sdist; ARCH=aarch64: for that processor
	$(PY) tools/wheels.py $(addprefix --arch=,$(ARCH))

clean: ## remove what was built; the corpus stays in the user's cache
	rm -rf .venv .venv-* build dist dist-* site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
