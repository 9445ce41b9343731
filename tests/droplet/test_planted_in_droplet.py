"""Faults that vendors make, planted in a copy of droplet: each builds, and is found with a message that leads to it.

All faults are in one build; DROPLET_FAULT names the one that acts.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from droplet_tree import Built, Change, bring_up, conformance, run_diopigen

CHECKS = {"DIOPI_SIM_MEMORY_CHECK": "1", "DIOPI_SIM_ORDER_CHECK": "1"}
PLANTED = """
inline bool planted(const char* name) {
    const char* chosen = std::getenv("DROPLET_FAULT");
    return chosen != nullptr && std::string(chosen) == name;
}
"""
SOFTMAX = 'return softmax(Call(ctx, "diopiSoftmax", {out}, {input, nullptr}, {2}), dim, false);'
LOG_SOFTMAX = 'return softmax(Call(ctx, "diopiLogSoftmax", {out}, {input, nullptr}, {2}), dim, true);'
ROWS = "        Values x = load(k, 1);\n        const Values y"
IMAGE = "store(k, 0, plan.forward(load(k, 1), load(k, 2), loadOr(k, 3, plan.filter[0], 0)));"
CAT = "    int64_t left = shape[along];\n"
BMM = "return call.rank(0) == 3 ? multiply(call, true) : kLeave;"
SUM = 'return reduce(Call(ctx, "diopiSum", {out}, {input}), shapeOf(dim), 0,'
COPY = 'const Call call(ctx, "diopiCopyInp", {dest}, {src});'


def including(file: str, *headers: str, before: str = "kernel.h") -> Change:
    """More headers in front of one of droplet's own."""
    own = f'#include "droplet/{before}"\n'
    return Change(file, own, "".join(f"#include <{header}>\n" for header in headers) + own)


CHANGES = [
    including("kernel.h", "cstdlib", before="error.h"),
    Change("kernel.h", "constexpr diopiError_t kLeave", f"{PLANTED}\nconstexpr diopiError_t kLeave"),
    # The host looks at the result of a kernel, at its device pointer.
    Change(
        "functions/rows.cpp",
        SOFTMAX,
        """void* data = nullptr;
    if (planted("host dereference") && diopiGetTensorData(out, &data) == diopiSuccess) {
        *static_cast<volatile float*>(data) = 0;
    }
    """
        + SOFTMAX,
    ),
    # A sum of few numbers is computed on the host, which does not wait for the copy. By luck it has other things to do.
    Change(
        "functions/rows.cpp",
        SUM,
        """const void* data = nullptr;
    diopiStreamHandle_t stream = nullptr;
    int64_t count = 0;
    static float onHost[4096];
    if (planted("missing synchronisation") && diopiGetTensorDataConst(input, &data) == diopiSuccess &&
        diopiGetStream(ctx, &stream) == diopiSuccess && diopiGetTensorNumel(input, &count) == diopiSuccess &&
        dim.len == 0 && count > 0 && count < 4096) {
        diopigenSimMemcpyD2HAsync(stream, onHost, data, count * sizeof(float));
        usleep(20000);
        float sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            sum += onHost[i];
            onHost[i] = 0;
        }
        return run(Call(ctx, "diopiSum", {out}), [sum](const Kernel& k) { store(k, 0, {sum}); });
    }
    """
        + SUM,
    ),
    including("functions/rows.cpp", "unistd.h", "diopigen_sim/device_functions.h", "stdexcept"),
    # Room for a table of parts, which nobody gives back.
    Change(
        "functions/move.cpp",
        CAT,
        CAT
        + """    if (planted("leak") && diopigenSimMalloc(4321) == nullptr) {
        return diopiErrorOccurred;
    }
""",
    ),
    including("functions/move.cpp", "diopigen_sim/device_functions.h"),
    # Temporary memory goes back twice.
    Change(
        "functions/move.cpp",
        COPY,
        """if (planted("double free")) {
        void* const memory = diopigenSimMalloc(1234);
        diopigenSimFree(memory);
        diopigenSimFree(memory);
    }
    """
        + COPY,
    ),
    # A kernel goes to a stream of the vendor's own, and nothing orders it with that of the context.
    Change(
        "functions/products.cpp",
        BMM,
        """if (planted("wrong stream") && call.rank(0) == 3) {
        static diopiStreamHandle_t own = nullptr;
        Buffer zeros;
        if ((own == nullptr && diopigenSimCreateStream(&own) != 0) ||
            bufferOf(out, Access::write, &zeros) != diopiSuccess) {
            return diopiErrorOccurred;
        }
        const auto clear = [](const Kernel& k) { store(k, 0, Values(product(k.buffer(0).shape))); };
        return launch(own, "diopiBmm", {zeros}, clear).ok() ? diopiSuccess : diopiErrorOccurred;
    }
    """
        + BMM,
    ),
    including("functions/products.cpp", "diopigen_sim/device_functions.h"),
    # Elements are taken for contiguous.
    Change(
        "functions/rows.cpp",
        ROWS,
        """        Values x = load(k, 1);
        if (planted("ignores strides") && k.buffer(1).dtype == diopi_dtype_float32) {
            x.assign(k.in<float>(1), k.in<float>(1) + x.size());
        }
        const Values y""",
    ),
    # The image, which the shims lay out as NHWC, is taken for NCHW.
    Change(
        "functions/products.cpp",
        IMAGE,
        """Values image = load(k, 1);
        if (planted("ignores layout") && k.buffer(1).dtype == diopi_dtype_float32) {
            image.assign(k.in<float>(1), k.in<float>(1) + image.size());
        }
        store(k, 0, plan.forward(image, load(k, 2), loadOr(k, 3, plan.filter[0], 0)));""",
    ),
    # One of the device functions is not registered.
    Change(
        "device.cpp",
        "    return diopigenRegisterSimulatedDevice();\n",
        """    if (std::getenv("DROPLET_FAULT") != nullptr &&
        std::string(std::getenv("DROPLET_FAULT")) == "unregistered function") {
        return diopiRegisterDeviceMallocFunc(diopigenSimMalloc) + diopiRegisterDevMemFreeFunc(diopigenSimFree) +
               diopiRegisterStreamCreateFunc(diopigenSimCreateStream) +
               diopiRegisterStreamDestroyFunc(diopigenSimDestroyStream) +
               diopiRegisterSynchronizeStreamFunc(diopigenSimSynchronizeStream) +
               diopiRegisterMemcpyD2HAsyncFunc(diopigenSimMemcpyD2HAsync) +
               diopiRegisterMemcpyD2DAsyncFunc(diopigenSimMemcpyD2DAsync) +
               diopiRegisterGetLastErrorFunc(diopigenSimGetLastErrorString);
    }
    return diopigenRegisterSimulatedDevice();
""",
    ),
    including("device.cpp", "diopigen/device.h", "cstdlib", "string", before="error.h"),
    # An exception of the operator itself.
    Change(
        "functions/rows.cpp",
        LOG_SOFTMAX,
        """if (planted("throws")) {
        throw std::runtime_error("no table for logarithms");
    }
    """
        + LOG_SOFTMAX,
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("droplet")
    return bring_up(folder / "tree", CHANGES, folder / "build")


def cases(report: dict[str, Any], outcome: str) -> dict[str, str]:
    """The messages of the cases with an outcome."""
    return {
        case["id"]: " ".join(fault["message"] for fault in case.get("faults", []))
        for case in report["cases"]
        if case["outcome"] == outcome
    }


OPERATORS = ["Softmax", "LogSoftmax", "Sum", "Cat", "CopyInp", "Bmm", "Convolution2d"]
CHOSEN = ["--dtype", "float32", *(word for name in OPERATORS for word in ("--ops", name))]


@pytest.mark.parametrize("delay", ["", "5,200"])
def test_without_a_fault_nothing_is_found(built: Built, tmp_path: Path, delay: str) -> None:
    variables = {**CHECKS, "DIOPI_SIM_DELAY": delay} if delay else CHECKS
    code, report, said = conformance(built, tmp_path / "r.json", *CHOSEN, **variables)
    assert code == 0, said[-3000:]
    assert len(cases(report, "passed")) > 60


FAULTS = {
    "host dereference": (
        "Softmax",
        "crashed",
        ["host access to device memory: write at 0x", "it is byte ", "allocation #"],
    ),
    "double free": ("CopyInp", "crashed", ["double free: free of 0x", "allocation #", "(1234 bytes on device 0"]),
    "wrong stream": ("Bmm", "crashed", ["missing synchronisation: ", "diopiBmm", "copy to host on stream"]),
    "ignores strides": ("Softmax", "failed", ["elements differ; worst ["]),
    "ignores layout": ("Convolution2d", "failed", ["elements differ; worst ["]),
    "throws": ("LogSoftmax", "failed", ["the call is refused (diopiLogSoftmax: exception: no table for logarithms)"]),
}
"""The operator that has the fault, what the suite calls it, and words of its message."""


@pytest.mark.parametrize("fault", FAULTS)
def test_the_suite_finds_a_fault_and_its_message_leads_to_it(built: Built, tmp_path: Path, fault: str) -> None:
    operator, outcome, words = FAULTS[fault]
    chosen = ["--ops", operator, "--ops", "Mean", "--dtype", "float32"]
    code, report, said = conformance(built, tmp_path / "r.json", *chosen, DROPLET_FAULT=fault, **CHECKS)
    found = cases(report, outcome)
    assert code == 1 and found, said[-3000:]
    missing = [word for word in words if not any(word in text for text in found.values())]
    assert missing == [], list(found.items())[:5]
    assert {name.split("/")[0] for name in found} == {f"diopi{operator}"}, list(found)[:5]


def test_strides_are_what_the_suite_tells_apart(built: Built, tmp_path: Path) -> None:
    """The names of the failing cases say what is ignored."""
    _, report, _ = conformance(built, tmp_path / "r.json", "--ops", "Softmax", DROPLET_FAULT="ignores strides")
    failed, passed = cases(report, "failed"), cases(report, "passed")
    assert "diopiSoftmax/float32/input-transposed" in failed and "diopiSoftmax/float32/recipe-1" in passed
    _, report, _ = conformance(built, tmp_path / "r.json", "--ops", "Convolution2d", DROPLET_FAULT="ignores layout")
    assert "diopiConvolution2d/float32/recipe-1" in cases(report, "failed")


def test_the_origin_of_an_allocation_is_shown(built: Built) -> None:
    case = ["conformance", "repro", "diopiSoftmax/float32/recipe-1", "--lib", built.library, "--runtime", built.runtime]
    variables = {**CHECKS, "DIOPI_SIM_DEBUG": "1", "DROPLET_FAULT": "host dereference"}
    done = run_diopigen(*case, **variables)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    origin = said.index(" was allocated by:")
    assert "diopigenSimMalloc" in said[origin:] and "host access to device memory: write at 0x" in said[origin:], said


def test_a_missing_synchronisation_shows_under_delays(built: Built) -> None:
    """Without them the copy has long been made when the host reads it: right by luck."""
    case = ["conformance", "repro", "diopiSum/float32/recipe-3", "--lib", built.library, "--runtime", built.runtime]
    assert run_diopigen(*case, DROPLET_FAULT="missing synchronisation").returncode == 0
    done = run_diopigen(*case, DROPLET_FAULT="missing synchronisation", DIOPI_SIM_DELAY="3,400000")
    assert done.returncode == 1 and "FAILED diopiSum/float32/recipe-3" in done.stdout
    assert "elements differ" in done.stdout
    assert run_diopigen(*case, DIOPI_SIM_DELAY="3,400000").returncode == 0


def test_a_leak_is_named_when_the_library_is_left(built: Built, tmp_path: Path) -> None:
    chosen = ["--ops", "Cat", "--dtype", "float32", "-j", "1"]
    code, _, said = conformance(built, tmp_path / "r.json", *chosen, DROPLET_FAULT="leak", **CHECKS)
    assert code == 1 and "leak: " in said and "(4321 bytes on device 0" in said, said[-3000:]
    code, _, said = conformance(built, tmp_path / "r.json", *chosen, **CHECKS)
    assert code == 0 and "leak" not in said


def test_a_device_function_that_is_not_registered(built: Built) -> None:
    case = ["conformance", "repro", "diopiSoftmax/float32/recipe-1", "--lib", built.library, "--runtime", built.runtime]
    done = run_diopigen(*case, DROPLET_FAULT="unregistered function")
    assert done.returncode == 1
    assert "no device function registered through diopiRegisterMemcpyH2DAsyncFunc" in done.stdout, done.stdout


def test_hosts_of_both_forms_find_the_device(built: Built) -> None:
    """By registration in initLibrary, which the runs above take, and by the names of the newer form."""
    done = subprocess.run(["nm", "-D", "--defined-only", built.library], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in done.stdout.splitlines()}
    streams, copies = ("make_stream", "destroy_stream", "synchronize_stream"), ("h2d", "d2h", "d2d")
    words = ["malloc", "free", *streams, *(f"memcpy_{way}_async" for way in copies)]
    by_name = {f"device_{word}" for word in words}
    assert by_name | {"initLibrary", "finalizeLibrary", "buildGeneratorState"} <= exported


def test_doctor_finds_nothing_in_the_tree(built: Built) -> None:
    done = run_diopigen("doctor", "impl/droplet", "--lib", built.library, folder=built.tree)
    assert done.returncode == 0, done.stdout + done.stderr
