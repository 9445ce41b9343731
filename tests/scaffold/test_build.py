"""A scaffolded tree builds as it is, under both generators, and its test says the truth about the kernels in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from vendor_trees import ROOT, Scaffold

from diopigen.ir.model import Interface

LIBRARY_TEXTS = {"diopiGetVendorName", "diopiGetImplVersion", "diopiGetLastErrorString"}

# Both established forms: what hosts look up by name.
DEVICE_SYMBOLS = {
    "device_malloc",
    "device_free",
    "device_make_stream",
    "device_destroy_stream",
    "device_synchronize_stream",
    "device_memcpy_h2d_async",
    "device_memcpy_d2h_async",
    "device_memcpy_d2d_async",
    "device_get_last_error_string",
    "initLibrary",
    "finalizeLibrary",
    "buildGeneratorState",
}

COPY = "third_party/diopigen"
INCLUDES = (
    f"-I{COPY}/generated/include",
    f"-I{COPY}/runtime/include",
    f"-I{COPY}/runtime/adaptor/include",
    f"-I{COPY}/runtime/kernels/include",
    "-Igenerated/chip",
    "-Iimpl",
)
ADD_KERNEL = """
    (void)alpha;
    const void* from[2] = {nullptr, nullptr};
    void* to = nullptr;
    int64_t count = 0;
    diopiGetTensorDataConst(input, &from[0]);
    diopiGetTensorDataConst(other, &from[1]);
    diopiGetTensorData(out, &to);
    diopiGetTensorNumel(out, &count);
    for (int64_t i = 0; i < count; ++i) {
        static_cast<float*>(to)[i] =
            static_cast<const float*>(from[0])[i] + FACTOR * static_cast<const float*>(from[1])[i];
    }
    return ctx != nullptr ? diopiSuccess : diopiErrorOccurred;
"""


def run(*line: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in line], cwd=cwd, capture_output=True, text=True)


def succeed(*line: str | Path, cwd: Path) -> str:
    done = run(*line, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def facts() -> dict[str, set[str]]:
    """The functions of the public headers as they are known from outside, by header."""
    headers = json.loads((ROOT / "tests/data/diopi_interface.json").read_text())["headers"]
    return {name: {function["name"] for function in header["functions"]} for name, header in headers.items()}


# `make demo` builds a tree with every change.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(make: Scaffold, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter set with a file for Add and a copy of diopigen, built with Unix Makefiles and the debug preset."""
    root = tmp_path_factory.mktemp("makefiles") / "a tree"
    make(root, vendored=True)
    make(root, "Add")
    succeed("cmake", "--preset", "debug", cwd=root)
    succeed("cmake", "--build", "--preset", "debug", "--parallel", "2", cwd=root)
    return root


def exported(library: Path) -> set[str]:
    lines = succeed("nm", "-D", "--defined-only", "--format=posix", library, cwd=library.parent).splitlines()
    return {line.split()[0] for line in lines}


def test_the_library_exports_the_starter_set_and_the_device_functions(tree: Path, interface: Interface) -> None:
    starters = {
        function.name for function in interface.functions if function.starter and function.header != "diopirt.h"
    }
    found = exported(tree / "build/debug/libdiopi_impl.so")
    assert found == starters | LIBRARY_TEXTS | DEVICE_SYMBOLS
    assert found - DEVICE_SYMBOLS <= set().union(*facts().values())


def test_the_test_program_runs_and_reports(tree: Path, interface: Interface) -> None:
    succeed("ctest", "--preset", "debug", cwd=tree)
    said = succeed(tree / "build/debug/diopi_test", "build/debug/libdiopi_impl.so", cwd=tree).splitlines()
    assert said[0] == "vendor droplet, version 0.1.0"
    assert said[-1] == "diopiAdd: not implemented (diopiAdd is not implemented by droplet)"
    count = len(exported(tree / "build/debug/libdiopi_impl.so") - DEVICE_SYMBOLS - LIBRARY_TEXTS)
    assert said[-2] == f"{count} operators exported"
    assert "  diopiAddInpScalar" in said[1:-2]


def test_the_test_program_refuses_wrong_usage(tree: Path) -> None:
    program = tree / "build/debug/diopi_test"
    assert run(program, cwd=tree).returncode == 2
    done = run(program, "nowhere.so", cwd=tree)
    assert done.returncode == 2 and "nowhere.so" in done.stderr


def with_add_kernel(tree: Path, factor: str) -> subprocess.CompletedProcess[str]:
    path = tree / "impl/droplet/functions/elementwise_binary/Add.cpp"
    before = path.read_text()
    stub = "\n    return notImplemented(__func__, ctx, out, input, other, alpha);\n"
    assert before.count(stub) == 2  # Add and AddScalar
    path.write_text(before.replace(stub, ADD_KERNEL.replace("FACTOR", factor), 1))
    try:
        succeed("cmake", "--build", "--preset", "debug", cwd=tree)
        return run(tree / "build/debug/diopi_test", "build/debug/libdiopi_impl.so", cwd=tree)
    finally:
        path.write_text(before)


def test_a_right_kernel_passes(tree: Path) -> None:
    done = with_add_kernel(tree, "2")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "diopiAdd: passed"


def test_a_wrong_kernel_fails(tree: Path) -> None:
    done = with_add_kernel(tree, "3")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "diopiAdd: wrong: element 0 is 31, not 21"


def test_a_changed_signature_does_not_compile(tree: Path) -> None:
    path = tree / "impl/droplet/functions/elementwise_binary/Add.cpp"
    before = path.read_text()
    assert before.count("const diopiScalar_t* alpha)") == 4
    path.write_text(before.replace("const diopiScalar_t* alpha)", "const diopiScalar_t* alpha, int more)", 1))
    try:
        done = run("g++", "-std=c++17", "-fsyntax-only", *INCLUDES, path, cwd=tree)
    finally:
        path.write_text(before)
    assert done.returncode == 1 and "parameters of diopiAdd are not those of the interface" in done.stderr


def test_a_host_without_registration_finds_the_functions_by_name(tree: Path) -> None:
    program = tree / "build/link_time_host"
    source = Path(__file__).with_name("link_time_host.cpp")
    succeed(
        "g++",
        "-std=c++17",
        "-Wall",
        "-Werror",
        "-rdynamic",
        INCLUDES[0],
        source,
        "-ldl",
        "-o",
        program,
        cwd=tree,
    )
    done = run(program, "build/debug/libdiopi_impl.so", cwd=tree)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10 checks\n", "")


def test_ninja_and_sanitizers(make: Scaffold, tmp_path: Path) -> None:
    root = tmp_path / "ninja"
    make(root, "Add", "Conv*", vendored=True)
    build = root / "build/ninja"
    succeed("cmake", "--preset", "sanitizers", "-G", "Ninja", "-B", build, cwd=root)
    succeed("cmake", "--build", build, cwd=root)
    said = succeed(build / "diopi_test", build / "libdiopi_impl.so", cwd=root)
    assert "diopiAdd: not implemented" in said

    # A second scaffold adds an operator, and the next build takes it in without an edit.
    make(root, "Nms")
    succeed("cmake", "--build", build, cwd=root)
    assert "diopiNms" in exported(build / "libdiopi_impl.so")


def test_every_operator_compiles_and_is_formatted(make: Scaffold, tmp_path: Path) -> None:
    root = tmp_path / "all"
    make(root, everything=True, vendored=True)
    sources = sorted(root.glob("impl/droplet/**/*.cpp"))
    defined = set()
    for source in sources:
        for line in source.read_text().splitlines():
            if line.startswith('extern "C" const char* '):
                defined.add(line.split("(")[0].split()[-1].lstrip("*"))
            elif line.startswith("diopiError_t diopi"):
                defined.add(line.split("(")[0].split()[-1])
    by_header = facts()
    host = by_header.pop("diopirt.h")
    assert set().union(*by_header.values()) <= defined
    assert defined.isdisjoint(host)

    handwritten = [*root.glob("impl/droplet/*.h"), root / "test/main.cpp"]
    succeed("clang-format", "--dry-run", "-Werror", *sources, *handwritten, cwd=root)
    flags = [
        "-std=c++17",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        *INCLUDES,
    ]
    # One translation unit: the headers are read once. Only library.cpp and device.cpp have names of their own.
    together = root / "all.cpp"
    together.write_text("".join(f'#include "{source.relative_to(root)}"\n' for source in sources))
    succeed("g++", *flags, "-I.", together, cwd=root)


def test_the_ci_file_generates_and_checks(tree: Path, tmp_path: Path) -> None:
    """Steps in addition to building, which is disabled here: programs that do nothing replace CMake's."""
    root, programs = tmp_path / "tree", tmp_path / "programs"
    shutil.copytree(tree, root, ignore=shutil.ignore_patterns("debug"))
    (root / "build/release").mkdir(parents=True)
    shutil.copy(tree / "build/debug/libdiopi_impl.so", root / "build/release")
    programs.mkdir()
    for name in ("cmake", "ctest"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    (programs / "diopigen").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m diopigen "$@"\n')
    (programs / "diopigen").chmod(0o755)

    def ci() -> subprocess.CompletedProcess[str]:
        return run("env", f"PATH={programs}:{os.environ['PATH']}", "sh", ".ci/run", cwd=root)

    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.com"]
    succeed("git", "init", "--quiet", cwd=root)
    succeed("git", "add", "--all", cwd=root)
    succeed(*git, "commit", "--quiet", "--message", "a tree", cwd=root)
    done = ci()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every signature is that of the interface" in done.stdout
    # A generated file that was edited.
    header = root / COPY / "generated/include/diopi/functions.h"
    header.write_text(header.read_text() + "// by hand\n")
    succeed(*git, "commit", "--quiet", "--all", "--message", "an edit", cwd=root)
    done = ci()
    assert done.returncode != 0
    assert "generated/include/diopi/functions.h" in done.stdout + done.stderr


def test_editors_are_told_how_files_look(tree: Path) -> None:
    settings = (tree / ".editorconfig").read_text()
    assert "root = true" in settings and "max_line_length = 120" in settings
    assert "ColumnLimit: 120" in (tree / ".clang-format").read_text()
    assert (tree / "build/debug/compile_commands.json").exists()
