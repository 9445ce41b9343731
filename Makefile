# The two commands of the README are `make demo` and `make test`; `make help` lists the others.
PYTHON ?= python3
VENV := .venv
TORCH ?=
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# The pinned cmake, ninja and clang-format of the environment come before those of the machine.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start hundreds of commands; some images of containers forbid to cache what Python compiles for them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help docs demo demo-torch build unit test test-programs nightly test-torch torch-share test-models test-serving released conformance conformance-cuda cuda cuda-sample sanitize lint types generated generate wheels bench fuzz mutation mutation-sources mutation-operators variants cheats portability portability-share newest-debian clean

help:
	@echo "make demo       bring up droplet, a simulated chip, from an empty folder to a verified library"
	@echo "make demo-torch train a ResNet on digits and a decoder on a text with PyTorch on droplet, compared with the CPU"
	@echo "make build      compile once what the tests run (PRESET=plain, released, address, ...; docs/building.md)"
	@echo "make unit       the tests that need no compiler, in under a minute"
	@echo "make test       build, then run the tests of a change; where torch is, a sample of those of the backend for it"
	@echo "make test-programs  the tests that need clang, chromium or qemu; a part of make test where these are"
	@echo "make test-torch all tests of the backend for PyTorch; installs torch into .venv"
	@echo "make torch-share a part of these, which CI runs with every change"
	@echo "make test-models models of public packages and training scripts of accelerate, lightning and transformers on droplet; installs them"
	@echo "make test-serving  vLLM on droplet, compared with transformers on the CPU; installs vLLM into build/serving"
	@echo "make nightly    everything that needs no GPU: hours"
	@echo "make conformance  run every case over the released CPU library, those of models included"
	@echo "make cuda       compile and link the CUDA library, where nvcc is; make cuda-sample some of its sources"
	@echo "make conformance-cuda  run every case over the CUDA library; needs a GPU"
	@echo "make released   build the CPU library for every processor, and test its vector functions"
	@echo "make sanitize   runtime and simulated device under the address sanitizer; all sanitizers in make nightly"
	@echo "make lint       ruff, clang-format, names of C++ (.clang-tidy) and the list of words (tools/words.yaml)"
	@echo "make types      mypy, strict, over diopigen, tools and tests"
	@echo "make generate   write what follows from the spec, and the shims of impl/camb, to generated/"
	@echo "make generated  check that generated/ is what the spec says"
	@echo "make commands   compare the work of frequent commands with that of the last release"
	@echo "make docs       write the operator reference, a static site, to site/"
	@echo "make wheels     build the wheels of a release and try them in a new environment"
	@echo "make bench      measure the promises about time, in 10 minutes and what building the CPU library takes"
	@echo "make mutation   inject faults into the CPU library and count those that the conformance suite finds"
	@echo "make mutation-sources  the same with faults in the sources of its kernels"
	@echo "make mutation-operators  the same with faults in a library of custom operators for PyTorch"
	@echo "make fuzz       random calls of the sanitized CPU library, with sizes and numbers at their extremes, for an hour"
	@echo "make variants   run the suite over kernels that are as right as the CPU library's: none may fail"
	@echo "make cheats     libraries that are wrong and try to be accepted: none may be"
	@echo "make newest-debian  the README's two commands on the newest Debian; needs root and debootstrap"
	@echo "make portability  the suite over instruction sets, libraries, compilers, emulated processors, versions of Python"
	@echo "make clean      remove builds and .venv"

$(VENV)/ready: pyproject.toml tools/setup_environment.sh
	@PYTHON=$(PYTHON) tools/setup_environment.sh

demo: $(VENV)/ready
	@$(BIN)/python tools/demo.py

PRESET ?= plain
TARGETS ?=
BUILD := $(BIN)/python tools/build.py --jobs $(JOBS)
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# All that compilers make for the tests, once, with all processors: fixtures only find it (docs/building.md).
build: $(VENV)/ready
	@$(BUILD) $(PRESET) $(TARGETS:%=--target %)

# What needs no compiler.
unit: $(VENV)/ready
	@$(PYTEST) -m "not build and not suite and not torch and not slow and not sanitize and not heavy"

# tests/pytorch is a run of its own: what links libraries of other tests must not find the functions that a loaded
# backend offers.
test: $(VENV)/ready
	@if $(BIN)/python -c 'import torch' 2>/dev/null; \
	then $(BUILD) torch && $(PYTEST) tests/pytorch; \
	else echo "tests/pytorch skipped: torch is not in $(VENV); make test-torch installs it" && \
	$(BUILD); fi
	@$(PYTEST)

# Those tests that call programs which the README does not name, such as clang and chromium; part of `make test` as well.
test-programs: $(VENV)/ready
	@$(PYTEST) -m "programs and not slow and not sanitize"

$(VENV)/torch: $(VENV)/ready
	@echo "environment  pip installs torch, some 200 MB"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,torch,ffi]"
	@touch $@

# A file of each part of the backend, with every change.
TORCH_SHARE := plumbing conformance_aten operator_faults direct_calls schemas rules_of_pytorch device_module lazy_tensors compile_effects fused_rows \
	custom_operators wheel
torch-share: $(VENV)/torch
	@$(BUILD) torch --target torch_droplet --target droplet_clean --target diopi_impl --target diopigen_runtime_shared
	@$(PYTEST) $(TORCH_SHARE:%=tests/pytorch/test_%.py)

test-torch: $(VENV)/torch
	@$(BUILD) torch
	@DIOPIGEN_TORCH_TESTS=whole $(PYTEST) -m "" tests/pytorch
	@$(BIN)/python tests/pytorch/report.py

# Models and training scripts of other libraries; installs these. TORCH=2.14.1 is another torch, in an environment of its own.
MODEL_TESTS := test_frameworks test_torchvision_detectors test_packaged_models
MODEL_TESTS := $(MODEL_TESTS:%=tests/pytorch/%.py)
test-models: $(VENV)/torch
ifneq ($(TORCH),)
	@$(BIN)/python tools/torch_release.py $(TORCH) --models --tests='-m "" $(MODEL_TESTS)'
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@$(BIN)/python tools/install_models.py
	@$(BUILD) torch --target torch_droplet --target droplet_clean --target diopi_impl --target diopigen_runtime_shared
	@rm -f build/tests/pytorch/packages.jsonl
	@$(BIN)/python -m pytest -m "" $(MODEL_TESTS)
	@$(BIN)/python tests/pytorch/packaged_report.py --markdown docs/pytorch-models.md
endif

# An unchanged vLLM on droplet, in an environment of its own: 2.3 GB (docs/serving.md). TORCH=2.14.1 is another torch, and
# the vLLM that goes with it.
SERVING := build/serving$(TORCH:%=-%)
$(SERVING)/ready: tools/install_serving.py
	@echo "environment  pip installs vLLM and torch in $(SERVING), 2.3 GB; a build for CUDA takes 4 more"
	@$(PYTHON) tools/install_serving.py $(SERVING) $(TORCH:%=--torch %)
	@touch $@

test-serving: $(VENV)/torch $(SERVING)/ready
	@$(BUILD) $(if $(TORCH),other_torch -D CMAKE_PREFIX_PATH=$$(echo $(CURDIR)/$(SERVING)/lib/python3*/site-packages/torch),torch) \
		--target torch_droplet --target droplet_clean --target diopi_impl --target diopigen_runtime_shared \
		--target kestrel --target torch_kestrel_served
	@$(SERVING)/bin/python -m pytest --confcutdir=tests/serving tests/serving

demo-torch: $(VENV)/torch
	@$(BIN)/python -c 'import sklearn' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[demo]"
	@$(BIN)/python tools/demo_torch.py

MODELS := $(basename $(notdir $(wildcard specs/models/*.yaml)))
RELEASED := build/tests/released
UNDER_TEST := --lib $(RELEASED)/libdiopi_impl.so --runtime $(RELEASED)/libdiopirt.so -j $(JOBS)

# The library as it is released, for every processor, and the tests that only it can pass.
released: $(VENV)/ready
	@$(BUILD) released
	@DIOPI_CPU_TEST_BUILD=released $(BIN)/python -m pytest -q tests/cpu/test_vector_math.py tests/cpu/test_vectorized_loops.py

conformance: $(VENV)/ready
	@mkdir -p build
	@$(BIN)/diopigen conformance coverage --strict >build/coverage.txt || { cat build/coverage.txt; exit 1; }
	@$(BUILD) released
	@$(BUILD) --target diopigen_runtime_shared --target diopi_impl --target pool_std --target pool_openmp --target philox_program
	@DIOPI_CPU_TEST_BUILD=released $(BIN)/python -m pytest -q tests/cpu
	@$(BIN)/diopigen conformance run $(UNDER_TEST)
	@$(BIN)/diopigen conformance run $(UNDER_TEST) --only axis=exhaustive
	@$(BIN)/diopigen conformance run $(UNDER_TEST) --limit time=300 --limit memory=0 $(MODELS:%=--only model=%)

cuda: $(VENV)/ready
	@$(BIN)/python tools/build_cuda.py --jobs $(JOBS)

cuda-sample: $(VENV)/ready
	@$(BIN)/python tools/build_cuda.py --sample --jobs $(JOBS)

# Everything that a machine with a GPU can show: all cases, those of models, streams, the memory of the device, and the
# speed compared with PyTorch's.
conformance-cuda: $(VENV)/ready
	@$(BIN)/python tools/verify_cuda.py --jobs $(JOBS)

# The runtime and the simulated device. Shims, the CPU library and the thread sanitizer follow in `make nightly`. A run of
# tests takes seconds to begin: `.ci/run` has other tests in this one.
MARKS ?= sanitize
sanitize: $(VENV)/ready
	@$(BUILD) address --target runtime_tests --target sim_cases --target sim_host_cases
	@$(PYTEST) -m "($(MARKS)) and not slow"

# Everything that needs no GPU: all passes of the suite, all sanitizers, all tests of PyTorch, the released library.
nightly: $(VENV)/torch
	@for preset in torch address thread sanitized; do $(BUILD) $$preset || exit 1; done
	@DIOPIGEN_TORCH_TESTS=whole $(PYTEST) -m "" tests/pytorch
	@$(PYTEST) -m ""
	@$(MAKE) --no-print-directory commands fuzz conformance variants cuda test-serving newest-debian

# The README's two commands where compiler and Python are newer than anywhere else.
newest-debian:
	@python3 tools/newest_debian.py make demo test

# Random calls of the sanitized CPU library, for an hour; FUZZ='--calls 10000 --seed 7' sets how many, and which.
FUZZ ?= --minutes 60
SANITIZED := build/tests/sanitized
fuzz: $(VENV)/ready
	@$(BUILD) sanitized --target diopigen_runtime_shared --target diopi_impl
	@$(BIN)/python tests/fuzz --lib $(SANITIZED)/libdiopi_impl.so --runtime $(SANITIZED)/libdiopirt.so --jobs $(JOBS) $(FUZZ)

lint: $(VENV)/ready
	@! git grep -nE '^(<{7}|>{7}) '
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_format.py
	@$(BIN)/python tools/check_names.py
	@$(BIN)/python tools/check_words.py

types: $(VENV)/ready
	@$(BIN)/python tools/check_types.py

generate: $(VENV)/ready
	@$(BIN)/diopigen generate
	@$(BIN)/diopigen adaptors impl/camb

generated: $(VENV)/ready
	@$(BIN)/diopigen generate --check
	@$(BIN)/diopigen adaptors impl/camb --check

# ROWS=--changed leaves out those with a cold cache.
ROWS ?=
commands: $(VENV)/ready
	@$(BIN)/python -m benchmarks.startup --compare $(ROWS)

docs: $(VENV)/ready
	@$(BIN)/diopigen docs --cases

WHEELS ?= --torch
wheels: $(VENV)/ready
	@$(BIN)/python tools/wheels.py $(WHEELS)

bench: released
	@$(BIN)/python -m benchmarks.generator $(RELEASED)/libdiopi_impl.so $(RELEASED)/libdiopirt.so
	@$(BIN)/python -m benchmarks.startup
	@$(BIN)/python -m benchmarks.dispatch
	@$(BIN)/python -m benchmarks.adaptor
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet --editable ".[torch]"
	@$(BIN)/python -m benchmarks.cpu --lib $(RELEASED)/libdiopi_impl.so --runtime $(RELEASED)/libdiopirt.so \
		--sample --seconds 360

mutation: released
	@$(BIN)/python -m lab mutate $(UNDER_TEST) --json build/mutation.json

# A run that was cut off goes on where it ended (build/source-faults).
mutation-sources: $(VENV)/ready
	@$(BIN)/python -m lab mutate-sources -j $(JOBS) --json build/source-faults.json

# Faults in custom operators of PyTorch, in two minutes.
mutation-operators: $(VENV)/torch
	@$(BIN)/python -m lab operators -j $(JOBS) --json build/operators.json

variants: released
	@$(BIN)/python -m lab variants $(UNDER_TEST) --json build/variants.json

cheats: $(VENV)/ready
	@$(BUILD) --target diopigen_runtime_shared
	@$(BIN)/python -m lab cheats --runtime build/tests/plain/libdiopirt.so -j $(JOBS) --json build/cheats.json

# docs/portability.md. The whole takes hours of two cores where nothing is built yet; rows that are good are kept.
portability: $(VENV)/ready
	@mkdir -p build
	@$(BIN)/python tools/portability --jobs $(JOBS) --resume --json build/portability.json --markdown build/portability.md

# What CI runs each time: a sample of the suite over the library that the tests have built.
PLAIN := build/tests/plain
portability-share: $(VENV)/ready
	@$(BUILD) --target diopigen_runtime_shared --target diopi_impl
	@$(BIN)/python tools/portability --share --jobs $(JOBS) --lib $(PLAIN)/libdiopi_impl.so --runtime $(PLAIN)/libdiopirt.so

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
