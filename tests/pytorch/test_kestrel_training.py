"""examples/kestrel and examples/quartz train a CNN with PyTorch: losses are the CPU's, and every call that kestrel does
not run says why."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch_build
from artefacts import artefact
from click.testing import CliRunner
from page_runs import blocks, differences, syntax_errors
from page_runs import run as run_page

from diopigen.chip.reader import read_chip
from diopigen.cli import cli
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/kestrel"
CALL = re.compile(r"^diopi: (\S+) -> (.+)$", re.MULTILINE)
STEPS, CONVOLUTIONS = 5, 2
"""Those of train_cnn.py: each convolution has a batch norm."""


@dataclass(frozen=True)
class Run:
    printed: str
    calls: tuple[tuple[str, str], ...]
    """Overload, and what ran it: functions of kestrel, or the CPU with the reason."""
    report: Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained("kestrel", tmp_path_factory.mktemp("kestrel"))


def trained(vendor: str, folder: Path) -> Run:
    """The example as its page starts it, with the switches that say what each call led to."""
    library = artefact(f"{vendor}/libtorch_{vendor}.so")
    package = artefact(f"build/tests/{vendor}/written/{vendor}/torch_{vendor}").parent
    report = folder / "fallbacks.jsonl"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")},
        "PYTHONPATH": os.pathsep.join([str(package), torch_build.PATHS[1]]),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        f"TORCH_{vendor.upper()}_LIBRARIES": str(library.parent),
        "DIOPI_DUMP_OP_ARGS": "1",
        "DIOPI_FALLBACK_REPORT": str(report),
    }
    command = [sys.executable, str(ROOT / "examples/train_cnn.py"), vendor]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return Run(done.stdout, tuple(CALL.findall(done.stderr)), report)


@pytest.mark.parametrize("vendor", ["kestrel", "quartz"])
def test_losses_are_those_of_the_cpu(run: Run, vendor: str, tmp_path: Path) -> None:
    printed = (run if vendor == "kestrel" else trained(vendor, tmp_path)).printed
    losses = {
        words[0]: [float(word) for word in words[1:]]
        for words in map(str.split, printed.splitlines())
        if words[0] in ("cpu", vendor)
    }
    assert len(losses["cpu"]) == STEPS and len(set(losses["cpu"])) == STEPS
    assert losses[vendor] == pytest.approx(losses["cpu"], rel=1e-5)


def test_convolution_and_batch_norm_run_on_kestrel_alone(run: Run) -> None:
    ran = {name: Counter(by for overload, by in run.calls if overload == name) for name, _ in run.calls}
    expected = STEPS * CONVOLUTIONS
    assert ran["convolution_overrideable"] == {"diopiConvolution2d": expected}
    assert ran["convolution_backward_overrideable"] == {"diopiConvolution2dBackward": expected}
    assert ran["native_batch_norm"] == {"diopiBatchNorm": expected}
    assert ran["native_batch_norm_backward"] == {"diopiBatchNormBackward": expected}


def test_every_call_that_kestrel_does_not_run_says_why(run: Run, interface: Interface) -> None:
    chip = read_chip(EXAMPLE / "kestrel.yaml", "kestrel.yaml", interface, Sink())
    assert chip is not None
    native = {operator.name for operator in chip.operators}
    reasons = Counter((name, by) for name, by in run.calls if "the CPU" in by)
    assert reasons, "max pooling at least"
    for name, by in reasons:
        why = by.partition("the CPU: ")[2]
        lacks = re.match(r"(diopi\w+): the chip has no such operator \(", why)
        left = re.match(r"diopiForceFallbackToCPU: (diopi\w+)( on kestrel)?: (tensor|buffer) \d", why)
        assert lacks or left, (name, by)
        assert lacks is None or lacks[1] not in native, (name, by)
        assert left is None or left[1] in native, (name, by)
    recorded = [json.loads(line) for line in run.report.read_text().splitlines()]
    counted = {(line["overload"], line["reason"]): line["calls"] for line in recorded}
    assert counted == {
        (name, why): sum(calls for (other, by), calls in reasons.items() if other == name and by.endswith(why))
        for name, why in counted
    }
    assert sum(counted.values()) == sum(reasons.values())


def test_coverage_shows_the_reasons(run: Run) -> None:
    tree = artefact("build/tests/kestrel/written/kestrel/impl/kestrel")
    done = CliRunner().invoke(cli, ["coverage", str(tree), "--model", "resnet50", "--fallbacks", str(run.report)])
    assert done.exit_code == 0, done.output
    recorded = done.output.partition("Recorded calls that fell back, ")[2]
    assert re.search(r"^ *\d+ +diopiMaxPool2d\w* +fallback +diopiMaxPool2d\w*: the chip has no such", recorded, re.M)


@pytest.mark.parametrize(("vendor", "count"), [("kestrel", 5), ("quartz", 3)])
def test_every_command_of_the_page_is_shell(vendor: str, count: int) -> None:
    page = blocks(ROOT / f"examples/{vendor}/README.md")
    assert syntax_errors(page) == "" and len(page) == count


@pytest.mark.slow
@pytest.mark.parametrize("vendor", ["kestrel", "quartz"])
def test_the_page_is_true(vendor: str, tmp_path: Path) -> None:
    """With the libraries that the root build made of the same sources, where the page builds the backend."""
    built = artefact(f"{vendor}/libtorch_{vendor}.so").parent
    copy = f"mkdir -p torch_{vendor}/lib\ncp {built}/*.so torch_{vendor}/lib/\n"
    page = [
        (copy if "cmake --preset torch" in commands else commands, text)
        for commands, text in blocks(ROOT / f"examples/{vendor}/README.md")
    ]
    printed = run_page(page, tmp_path, {"DIOPIGEN_DIR": str(ROOT), "PYTHONPATH": ""})
    found = differences(page, printed)
    assert found == {}, "\n".join(f"{name}{pair}" for name, pair in found.items())
