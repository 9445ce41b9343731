"""Output of the target: functions, formatting, exported symbols of the library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from diopigen.emit.entry.functions import kernel_name
from diopigen.emit.operands import is_operator
from diopigen.ir.model import Interface

ROOT = Path(__file__).parents[2]


def test_every_kernel_is_emitted_or_listed_with_a_reason(
    interface: Interface, generated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_kernel = {function.name for function in interface.functions if function.kernel}
    reasons = {function.name: function.by_hand for function in interface.functions if function.by_hand}
    text = "".join(path.read_text() for path in (generated / "cpu").glob("*.cpp"))
    missing = {f.name for f in interface.functions if f.kernel and f"void {kernel_name(f)}(" not in text}
    with capsys.disabled():
        print(f"\n{len(with_kernel) - len(missing)} functions from kernels; {len(missing)} left out:")
        for name in sorted(missing):
            print(f"  {name}: {reasons.get(name, 'NO REASON')}")
    assert missing == set(reasons) <= with_kernel
    assert len(reasons) <= 2


@pytest.mark.parametrize(
    "folder",
    ["generated/cpu", "generated/entry", "impl/core", "impl/cpu/src", "impl/cpu/include", "impl/cpu/functions"],
)
def test_c_plus_plus_is_formatted(generated: Path, folder: str) -> None:
    root = generated / folder.removeprefix("generated/") if folder.startswith("generated/") else ROOT / folder
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
    operators = {function.name for function in interface.functions if is_operator(function)}
    assert operators <= symbols, operators - symbols
