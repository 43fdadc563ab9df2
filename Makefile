# make run     recognises handwritten digits (examples/digits) on every backend
# make test    passes every test, some of them also as the code of TARGETS (x86-64-v2 x86-64-v3)
# make check   lints and type-checks
# make fuzz    runs random structured programs for MINUTES (30), and shrinks what fails into out/fuzz
# make bench   compares the speed with that of other libraries, and writes out/bench/report.md
#
# Each sets up .venv first (bench: .venv-bench), which needs a Python >= 3.11 and nothing else.

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check
PROBE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
JOBS ?= 2
MINUTES ?= 30
SUITE ?= ../array-api-tests

.PHONY: run test unit processors lit check fuzz bench conformance clean

run: .venv/.examples
	$(BIN)/python examples/digits/run.py

test: unit processors lit

unit: .venv/.dev
	$(BIN)/python -m pytest -q -n $(JOBS) test

processors: .venv/.dev
	$(BIN)/python -m tenon.test.processors $(TARGETS)

lit: .venv/.dev
	$(BIN)/lit -q -j $(JOBS) test/filecheck

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/basedpyright --project pyproject.toml

fuzz: .venv/.dev
	$(BIN)/python -m tenon.test.fuzz --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(KINDS),--kinds $(KINDS))

conformance: .venv/.dev
	$(BIN)/python test/conformance/run.py $(SUITE)

bench: .venv/.python
	$(BIN)/python benchmarks/environment.py .venv-bench
	.venv-bench/bin/python -m benchmarks $(PARTS)

clean:
	rm -rf .venv .venv-bench build out *.egg-info

.venv/.python:
	@for python in python3.13 python3.12 python3.11 python3 python; do \
	    if $$python -c '$(PROBE)' 2>/dev/null; then $$python -m venv .venv; exit; fi; \
	done; \
	echo 'make: found no Python >= 3.11 that has the modules venv and ensurepip' >&2; exit 1
	@touch $@

.venv/.examples: .venv/.python pyproject.toml
	$(PIP) --editable '.[examples]'
	@touch $@

.venv/.dev: .venv/.python pyproject.toml
	$(PIP) --editable '.[dev]'
	@touch .venv/.examples $@
