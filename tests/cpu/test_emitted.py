"""What the target writes: which functions, how it is formatted, what the library shows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from diopigen.emit.cpu_constraints import FORMS, check_of, plain_condition, promotion_of
from diopigen.emit.cpu_kernels import LEFT_OUT, tensor_functions
from diopigen.ir.model import Interface

ROOT = Path(__file__).parents[2]


def test_every_kernel_is_emitted_or_listed_with_a_reason(
    interface: Interface, generated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_kernel = {function.name for function in interface.functions if function.kernel}
    text = "".join(path.read_text() for path in (generated / "cpu").glob("elementwise_*.cpp"))
    missing = {name for name in with_kernel if f" {name}(" not in text}
    with capsys.disabled():
        print(f"\n{len(with_kernel) - len(missing)} functions from kernels; {len(missing)} left out:")
        for name in sorted(missing):
            print(f"  {name}: {LEFT_OUT.get(name, 'NO REASON')}")
    assert missing == set(LEFT_OUT) & with_kernel
    assert len(LEFT_OUT) <= 2
    assert all(LEFT_OUT.values())


def test_every_constraint_of_an_emitted_function_is_checked(interface: Interface) -> None:
    unchecked = {
        f"{function.short_name} {constraint.id}: {constraint.text}"
        for function in tensor_functions(interface)
        for constraint in function.constraints
        if plain_condition(function, constraint) is None
        and not check_of(constraint)[0]
        and promotion_of(constraint) is None
    }
    assert unchecked == set()


def test_no_form_is_left_over(interface: Interface) -> None:
    used = {check_of(c)[0] for function in tensor_functions(interface) for c in function.constraints}
    assert {check.partition(":")[0] for _, check in FORMS} <= used


@pytest.mark.parametrize("folder", ["generated/cpu", "impl/cpu/src", "impl/cpu/include", "impl/cpu/functions"])
def test_c_plus_plus_is_formatted(generated: Path, folder: str) -> None:
    root = generated / "cpu" if folder == "generated/cpu" else ROOT / folder
    files = [path for path in sorted(root.rglob("*")) if path.suffix in (".cpp", ".h")]
    assert files
    command = ["clang-format", f"--style=file:{ROOT / '.clang-format'}", "--dry-run", "--Werror", *map(str, files)]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr[:4000]


def test_library_shows_declared_functions_and_nothing_else(libraries: tuple[Path, Path], interface: Interface) -> None:
    command = ["nm", "--dynamic", "--defined-only", str(libraries[1])]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = {line.split()[-1] for line in lines}
    declared = {function.name for function in interface.functions}
    assert symbols - declared == {"initLibrary", "finalizeLibrary", "diopigenRegisterHostDevice"}
    assert {"diopiGetVendorName", "diopiGetImplVersion", "diopiGetLastErrorString", "diopiFill"} <= symbols
    defined = {
        line.partition("diopiError_t ")[2].partition("(")[0]
        for path in (ROOT / "impl/cpu/functions").rglob("*.cpp")
        for line in path.read_text().splitlines()
        if line.startswith("DIOPI_API diopiError_t ")
    }
    assert len(defined) >= 45 and defined <= symbols, defined - symbols
