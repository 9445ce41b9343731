# The two commands of the README are `make demo` and `make test`; `make help` lists the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# The pinned cmake, ninja and clang-format of the environment come before those of the machine.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help demo test lint types generated generate bench clean

help:
	@echo "make demo       scaffold a vendor, fill it with kernels, build it and judge it"
	@echo "make test       run the whole test suite"
	@echo "make lint       ruff and clang-format"
	@echo "make types      mypy"
	@echo "make generate   write what follows from the spec, and the shims of impl/camb, to generated/"
	@echo "make generated  check that generated/ is what the spec says"
	@echo "make bench      measure the promises about time"
	@echo "make clean      remove builds and .venv"

$(VENV)/ready: pyproject.toml tools/setup_environment.sh
	@PYTHON=$(PYTHON) tools/setup_environment.sh

demo: $(VENV)/ready
	@$(BIN)/python tools/demo.py

test: $(VENV)/ready
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(VENV)/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_format.py

types: $(VENV)/ready
	@$(BIN)/mypy

generate: $(VENV)/ready
	@$(BIN)/diopigen generate
	@$(BIN)/diopigen adaptors impl/camb

generated: $(VENV)/ready
	@$(BIN)/diopigen generate --check
	@$(BIN)/diopigen adaptors impl/camb --check

bench: $(VENV)/ready
	@$(BIN)/python -m benchmarks.generator

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
