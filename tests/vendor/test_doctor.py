"""Trees of vendors that do not work, one fault in each, and what the doctor says."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.diagnostics import Failure
from diopigen.vendor.elf import read_symbols

ROOT = Path(__file__).resolve().parents[2]
KERNELS = """#include <diopi/functions.h>
extern "C" {
diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }
diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }
const char* diopiGetVendorName() { return "test"; }
const char* diopiGetImplVersion() { return "1"; }
const char* diopiGetLastErrorString() { return ""; }
}
"""
DEVICE = """#include <diopigen/device.h>
#pragma weak diopiRegisterGetLastErrorFunc
#define OFFER(name) diopiRegister##name(nullptr)
extern "C" int32_t initLibrary() {
    return OFFER(DeviceMallocFunc) + OFFER(DevMemFreeFunc) + OFFER(StreamCreateFunc) + OFFER(StreamDestroyFunc) +
           OFFER(SynchronizeStreamFunc) + OFFER(MemcpyH2DAsyncFunc) + OFFER(MemcpyD2HAsyncFunc) +
           OFFER(MemcpyD2DAsyncFunc) + OFFER(GetLastErrorFunc);
}
"""

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """`impl/test` with a built library; the texts of its files and the compiler's options can be replaced."""

    def make(kernels: str = KERNELS, device: str = DEVICE, options: tuple[str, ...] = (), compiled: str = "") -> Path:
        folder = tmp_path / "impl/test"
        (folder / "functions").mkdir(parents=True)
        (folder / "functions/kernels.cpp").write_text(kernels)
        source, library = tmp_path / "library.cpp", tmp_path / "build/libdiopi_impl.so"
        source.write_text((compiled or kernels) + device)
        library.parent.mkdir()
        includes = [f"-I{ROOT / 'generated/include'}", f"-I{ROOT / 'runtime/include'}"]
        command = ["g++", "-std=c++17", "-fPIC", "-shared", *includes, *options, str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        return folder

    return make


def findings(folder: Path, *options: str) -> dict[str, dict[str, str]]:
    done = CliRunner().invoke(cli, ["doctor", str(folder), "--format", "json", *options])
    assert done.exit_code in (0, 1), done.output
    found = json.loads(done.stdout)["diagnostics"]
    return {item["code"]: item for item in found}


def test_a_healthy_tree(tree: Tree) -> None:
    folder = tree()
    done = CliRunner().invoke(cli, ["doctor", str(folder)])
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"{folder}: nothing found; library ")


def test_a_function_that_is_not_exported(tree: Tree) -> None:
    without = KERNELS.replace("diopiError_t diopiExp", "static __attribute__((unused)) diopiError_t diopiExp")
    without = without.replace("diopiExp", "localExp")
    found = findings(tree(compiled=without))
    assert list(found) == ["doctor-not-exported"]
    assert (
        found["doctor-not-exported"]["message"]
        == "1 function with a definition that the library does not export: diopiExp"
    )
    assert found["doctor-not-exported"]["fix"].startswith("build again;")


def test_kernels_without_shims(tree: Tree) -> None:
    own = KERNELS.replace("diopiError_t diopiExp", "diopiError_t later")
    namespaced = own + (
        "namespace impl { namespace test {\n"
        "diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n"
        "    return diopiSuccess;\n}\n}}\n"
    )
    found = findings(tree(kernels=namespaced))
    message = "1 function with a definition in impl::test and no shim in the library: diopiExp"
    assert found["doctor-not-exported"]["message"] == message
    assert "diopigen adaptors" in found["doctor-not-exported"]["fix"]


def test_a_call_of_an_operator_that_no_library_defines(tree: Tree) -> None:
    calling = KERNELS + (
        'extern "C" diopiError_t\n'
        "diopiSqrt(diopiContextHandle_t c, diopiTensorHandle_t o, diopiConstTensorHandle_t i) {\n"
        "    return diopiRsqrt(c, o, i);\n}\n"
    )
    found = findings(tree(kernels=calling))
    assert list(found) == ["doctor-null-call"]
    assert found["doctor-null-call"]["message"] == "the library calls operators that it lacks: diopiRsqrt"


def test_a_device_function_that_is_not_registered(tree: Tree) -> None:
    found = findings(tree(device=DEVICE.replace("OFFER(MemcpyD2HAsyncFunc) +", "")))
    assert list(found) == ["doctor-device-function"]
    assert "neither calls diopiRegisterMemcpyD2HAsyncFunc nor exports" in found["doctor-device-function"]["message"]


def test_no_way_in(tree: Tree) -> None:
    found = findings(tree(device=DEVICE.replace('extern "C" int32_t initLibrary', "int32_t initLibrari")))
    assert list(found) == ["doctor-no-init"]


def test_texts_that_hosts_ask_for(tree: Tree) -> None:
    found = findings(tree(compiled=KERNELS.replace("diopiGetImplVersion", "implVersion")))
    assert found["doctor-always-called"]["message"] == "the library does not export diopiGetImplVersion"


def test_nothing_is_exported(tree: Tree) -> None:
    found = findings(tree(options=("-fvisibility=hidden",)))
    assert "doctor-nothing-exported" in found


def test_no_library_yet(tree: Tree, tmp_path: Path) -> None:
    folder = tree()
    (tmp_path / "build/libdiopi_impl.so").unlink()
    found = findings(folder)
    assert list(found) == ["doctor-no-library"]
    assert "cmake --build" in found["doctor-no-library"]["fix"]


def test_an_old_copy_of_diopigen(tree: Tree, tmp_path: Path) -> None:
    """Named with its version, whether a file differs, is missing or is left over; `sync` shows and fixes it."""
    folder = tree()
    command = ["scaffold", "--vendor", "test", "--out", str(tmp_path / "other"), "--ops", "Add", "--vendored"]
    assert CliRunner().invoke(cli, command).exit_code == 0
    copy = tmp_path / "third_party/diopigen"
    shutil.copytree(tmp_path / "other/third_party/diopigen", copy)
    assert "doctor-old-copy" not in findings(folder)
    (copy / "VERSION").unlink()
    found = findings(folder)["doctor-old-copy"]
    assert found["message"].startswith("third_party/diopigen (version unknown) is not that of diopigen ")
    assert found["message"].endswith(": VERSION")
    assert found["fix"] == f"diopigen sync {folder} --apply"
    shown = CliRunner().invoke(cli, ["sync", str(folder)])
    assert (shown.exit_code, shown.output) == (1, "third_party/diopigen: 1 files differ\n")
    fixed = CliRunner().invoke(cli, ["sync", str(folder), "--apply"])
    assert (fixed.exit_code, fixed.output) == (0, "third_party/diopigen: 1 files written\n")
    assert "doctor-old-copy" not in findings(folder)
    (copy / "runtime/src/tensor.cpp").write_text("// mine\n")
    assert "tensor.cpp" in findings(folder)["doctor-old-copy"]["message"]
    rejected = CliRunner().invoke(cli, ["sync", str(folder), "--apply"])
    assert rejected.exit_code == 1 and "error[generated-file-edited]" in rejected.output


def test_stale_shims(tree: Tree, tmp_path: Path) -> None:
    namespaced = (
        "#include <diopi/functions.h>\nnamespace impl { namespace test {\n"
        "diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n"
        "    return diopiSuccess;\n}\n}}\n"
    )
    folder = tree(kernels=namespaced, compiled=KERNELS)
    (folder / "convert_config.yaml").write_text("- common_config:\n    layout: NCHW\n")
    shims = tmp_path / "generated/adaptors/test"
    assert CliRunner().invoke(cli, ["adaptors", str(folder), "--out", str(shims)]).exit_code == 0
    assert "doctor-stale-shims" not in findings(folder)
    (folder / "convert_config.yaml").write_text("- common_config:\n    layout: NHWC\n")
    found = findings(folder)
    assert found["doctor-stale-shims"]["message"] == "the shims are out of date: adaptor.cpp"
    # A configuration that is in error is reported by the rules about configurations.
    (folder / "convert_config.yaml").write_text("- common_config:\n    layout: NHCW\n")
    assert any(code.startswith("config-") for code in findings(folder))


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"plain text" * 100, b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_what_is_no_library(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "libdiopi_impl.so"
    path.write_bytes(content)
    with pytest.raises(Failure, match="cannot be read as a library"):
        read_symbols(path)
