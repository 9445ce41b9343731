"""The debugging steps of docs/pytorch.md, on a droplet with one wrong kernel: the gradient of softmax."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch_build
from programs import HOUR

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/droplet"))

TRAIN = """
import sys
import torch, torch_droplet
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Softmax(-1), torch.nn.Linear(8, 3)).to(sys.argv[1])
data = torch.randn(4, 6).to(sys.argv[1])
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
for _ in range(8):
    optimizer.zero_grad()
    loss = (model(data) - 1).square().mean()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
"""
OPERATOR = "_softmax_backward_data"


@dataclass(frozen=True)
class FaultyPrograms:
    """Programs over the library with the fault, in a folder of their own."""

    folder: Path
    variables: dict[str, str]
    runtime: Path

    def run(self, *words: str | Path, **switches: str) -> subprocess.CompletedProcess[str]:
        """Python with these words."""
        env = {**os.environ, **self.variables, **switches}
        return subprocess.run(
            [sys.executable, *map(str, words)], cwd=self.folder, env=env, capture_output=True, text=True
        )

    def loss(self, device: str = "droplet", **switches: str) -> tuple[float, str]:
        """The loss in the end, and what was reported."""
        done = self.run("-c", TRAIN, device, **switches)
        found = re.search(r"^loss (\S+)$", done.stdout, re.M)
        assert done.returncode == 0 and found is not None, done.stdout + done.stderr
        return float(found[1]), done.stderr


@pytest.fixture(scope="module")
def session(backend: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyPrograms]:
    from droplet_tree import built_tree

    folder = tmp_path_factory.mktemp("session")
    built = built_tree("faulty")
    paths = [str(ROOT), *torch_build.PATHS]
    variables = {
        **backend.environment(),
        "DIOPI_VENDOR_LIBRARY": str(built.library),
        "PYTHONPATH": os.pathsep.join(paths),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    yield FaultyPrograms(folder, variables, built.runtime)
    shutil.rmtree(folder, ignore_errors=True)


def test_1_the_device_is_at_fault_not_the_model(session: FaultyPrograms) -> None:
    right, _ = session.loss("cpu")
    wrong, _ = session.loss()
    assert abs(wrong - right) > 1e-3 * right
    on_cpu, _ = session.loss(DIOPI_FORCE_FALLBACK_OPS=".*")
    assert on_cpu == pytest.approx(right, rel=1e-6)


def test_2_the_first_operator_that_differs_is_named_and_kept(session: FaultyPrograms) -> None:
    _, report = session.loss(DIOPI_AUTOCOMPARE=".*", DIOPI_AUTOCOMPARE_FOLDER=str(session.folder / "kept"))
    first = re.search(r"^diopi: (\S+) differs from the CPU \(the first operator that does\)$", report, re.M)
    assert first is not None and first[1] == OPERATOR, report
    assert set(re.findall(r"^diopi: (\S+) differs", report, re.M)) == {OPERATOR}
    kept = sorted(path.name for path in (session.folder / "kept").iterdir())
    assert kept[0] == f"0_{OPERATOR}"


def test_3_the_call_differs_alone_as_well(session: FaultyPrograms) -> None:
    session.loss(DIOPI_AUTOCOMPARE=".*", DIOPI_AUTOCOMPARE_FOLDER=str(session.folder / "alone"))
    case = session.folder / "alone" / f"0_{OPERATOR}"
    done = session.run("-m", "diopi_torch.repro", "--package", "torch_droplet", case)
    assert f"{OPERATOR} differs from the CPU" in done.stdout + done.stderr, done.stdout + done.stderr
    assert done.returncode == 1
    again = session.run("-m", "diopigen", "conformance", "repro", case)
    assert again.returncode == 1 and f"{OPERATOR} differs from the CPU" in again.stdout + again.stderr
    on_cpu = session.run(
        "-m", "diopi_torch.repro", "--package", "torch_droplet", case, DIOPI_FORCE_FALLBACK_OPS=re.escape(OPERATOR)
    )
    assert on_cpu.returncode == 0, on_cpu.stdout + on_cpu.stderr


def test_a_case_calls_only_operators_that_compute(session: FaultyPrograms) -> None:
    code = (
        "import torch, diopi_torch.repro as repro\n"
        "for name in ('from_file', 'load_library', 'no_such_operator', '__class__'):\n"
        "    assert repro._overload(name) is None, name\n"
        "assert repro._overload('add.Tensor') is torch.ops.aten.add.Tensor\n"
    )
    done = session.run("-c", code)
    assert done.returncode == 0, done.stderr


def test_4_the_function_of_the_vendor_is_named_and_fails_the_suite(session: FaultyPrograms, backend: Any) -> None:
    _, report = session.loss(DIOPI_DUMP_OP_ARGS="1")
    assert f"diopi: {OPERATOR} -> diopiSoftmaxBackward\n" in report
    words = ["conformance", "run", "--time-limit", str(HOUR), "--lib", backend.torch.parent / "libdiopi_dispatch.so"]
    words += ["--runtime", session.runtime, "--ops", "diopiSoftmaxBackward", "--spec", ROOT / "specs"]
    done = session.run("-m", "diopigen", *words)
    assert done.returncode == 1 and "diopiSoftmaxBackward/" in done.stdout, done.stdout + done.stderr


def test_5_training_goes_on_without_it(session: FaultyPrograms) -> None:
    right, _ = session.loss("cpu")
    worked_around, _ = session.loss(DIOPI_FORCE_FALLBACK_OPS=r"_softmax_backward_data.*")
    assert worked_around == pytest.approx(right, rel=1e-5)
