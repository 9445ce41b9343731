"""docs/adding-an-operator.md in a copy of the tree: what the page has a person write, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/adding-an-operator.md"
WRITTEN = re.compile(
    r"`([^`\n]+\.(?:yaml|py|cpp|cu))`[^`]*?\n\n```(?:yaml|python|cpp)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def written() -> dict[str, str]:
    """The blocks of the page by the file that each belongs to."""
    return dict(WRITTEN.findall(PAGE.read_text()))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is checked in, with the files of the page."""
    root = tmp_path_factory.mktemp("operator") / "diopigen"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    for name, text in written().items():
        path = root / name
        path.write_text(path.read_text() + "\n" + text if path.exists() else text)
    (root / ".venv").symlink_to(sys.prefix)
    return root


def test_the_page_has_an_entry_an_oracle_and_two_kernels() -> None:
    assert list(written()) == [
        "specs/ops/elementwise_unary.yaml",
        "specs/ops/reduction.yaml",
        "diopigen/conformance/oracles/log_cumsum_exp.py",
        "impl/cpu/functions/reduction/log_cumsum_exp.cpp",
        "impl/cuda/functions/reduction/log_cumsum_exp.cu",
    ]


@pytest.mark.slow
def test_the_commands_of_the_page_pass(tree: Path) -> None:
    """Builds both libraries: minutes without a compiler cache."""
    commands = "".join(COMMANDS.findall(PAGE.read_text()))
    commands = commands.replace("make build", "make -o .venv/ready build")  # the environment is there
    retained = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    environment = {**retained, "PYTHONPATH": str(tree)}
    done = subprocess.run(["bash", "-e", "-c", commands], cwd=tree, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    results = re.findall(r"(\d+) functions, (\d+) cases in [\d.]+ s: (.*)", done.stdout)
    assert [int(functions) for functions, _, _ in results] == [3, 3, 3]
    assert all(int(cases) > 60 for _, cases, _ in results)
    assert all("failed" not in outcomes and "uncovered" not in outcomes for _, _, outcomes in results), results


@pytest.mark.slow
def test_everything_else_follows(tree: Path) -> None:
    """Headers, entries, contracts, dispatch and loops have the new operators."""
    generated = tree / "generated"
    where = {
        "diopiLogCumsumExp": (
            "include/diopi/functions.h",
            "entry/reduction.cpp",
            "dispatch/reduction.cpp",
            "torch/ruled.cpp",
            "diopi.json",
        ),
        "kLogCumsumExp": ("contract/contracts.h",),
        "diopiSoftsignInp": (
            "include/diopi/functions.h",
            "entry/elementwise_unary.cpp",
            "dispatch/elementwise_unary.cpp",
        ),
        "SoftsignLoop": ("cpu/elementwise_unary.cpp", "cuda/elementwise_unary.cu"),
    }
    for word, files in where.items():
        for name in files:
            assert word in (generated / name).read_text(), f"{word} is not in {name}"
