"""The tests of optools on droplet: the same files as on the CPU, none of which imports the backend.

torch loads the backend by its entry point, as where the package is installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_build

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests/optools"
ENTRY_POINT = re.compile(r'\[project\.entry-points\."torch\.backends"\]\n(\w+) = "([\w.:]+)"')


def installed(folder: Path) -> str:
    """A search path on which torch finds the backend as an installed package."""
    found = ENTRY_POINT.search((ROOT / "examples/droplet/pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None
    info = folder / "torch_droplet-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_droplet\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[torch.backends]\n{found[1]} = {found[2]}\n")
    return os.pathsep.join([str(folder), *torch_build.PATHS])


def on_droplet(backend: Any, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """pytest over tests/optools, on droplet."""
    variables = {**backend.environment(), "OPTOOLS_TEST_DEVICE": "droplet", "PYTHONPATH": installed(folder)}
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TORCH_DEVICE"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
    return subprocess.run(command, cwd=ROOT, env={**env, **variables}, capture_output=True, text=True, check=False)


SAMPLE = ("test_optools_capture.py", "test_optools_compare.py", "test_optools_faults.py")
"""Sample that a change runs; `make test-torch` and `make nightly` run all."""


@pytest.mark.parametrize(
    "names",
    [pytest.param(SAMPLE, id="sample"), pytest.param((), id="all", marks=pytest.mark.slow)],
)
def test_the_tests_of_optools_pass_on_droplet(names: tuple[str, ...], backend: Any, tmp_path: Path) -> None:
    paths = [str(TESTS / name) for name in names] or [str(TESTS), "-m", ""]
    done = on_droplet(backend, tmp_path, *paths, "-k", "not command" if names else "")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d+ passed", done.stdout) and " skipped" not in done.stdout, done.stdout[-2000:]


TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Softmax(-1), torch.nn.Linear(8, 3)).to("droplet")
data = torch.randn(4, 6).to("droplet")
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
for _ in range(4):
    optimizer.zero_grad()
    (model(data) - 1).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("command", ["compare", pytest.param("bisect", marks=pytest.mark.slow)])
def test_a_wrong_kernel_of_a_vendor_is_named(command: str, backend: Any, tmp_path: Path) -> None:
    """The droplet whose gradient of softmax is wrong, as in test_debugging.py."""
    sys.path.append(str(ROOT / "tests/droplet"))
    from droplet_tree import built_tree

    (tmp_path / "train.py").write_text(TRAIN)
    paths = os.pathsep.join([str(ROOT / "optools/src"), installed(tmp_path)])
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_DEVICE")}
    env |= {**backend.environment(), "DIOPI_VENDOR_LIBRARY": str(built_tree("faulty").library), "PYTHONPATH": paths}
    words = [sys.executable, "-m", "optools", command, "train.py"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    first = "_softmax_backward_data"
    expected = (
        f"the first wrong operator is\n{first} is wrong" if command == "compare" else f"operator is {first}, in step 0"
    )
    assert expected in done.stdout, done.stdout + done.stderr
    if command == "compare":
        wrong = [line.split()[0] for line in done.stdout.splitlines() if re.match(r"\S+ +\d+ +[1-9]", line)]
        assert wrong == [first]


def test_nothing_in_optools_knows_a_device_by_name() -> None:
    names = re.compile(r"droplet|\bcuda\b|\bnpu\b|\bmlu\b|privateuse", re.IGNORECASE)
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted([*(ROOT / "optools/src").rglob("*.py"), *TESTS.glob("*.py")])
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if names.search(line)
    ]
    assert [line for line in found if not line.startswith("conftest.py:")] == []
