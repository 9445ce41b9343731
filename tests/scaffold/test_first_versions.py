"""Operators of which the kernel library has a first version: what scaffold starts them with, and what its page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.emit.elementwise.kernels import expressible
from diopigen.emit.vendor.library_kernels import OPERATORS_HEADER, first_versions
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ("Convolution2d", "BatchNorm", "MaxPool2d", "AdaptiveAvgPool2d", "CrossEntropyLoss", "Linear", "Threshold")
"""Layers of a convolutional net whose backward functions are named after them."""


def run(*words: str | Path) -> str:
    done = CliRunner().invoke(cli, [*map(str, words), "--spec", str(ROOT / "specs")])
    assert done.exit_code == 0, done.output
    return done.output


def test_each_first_version_has_the_parameters_of_its_function(interface: Interface) -> None:
    declared = re.findall(r"^Status (\w+)\(", (ROOT / "runtime" / OPERATORS_HEADER).read_text(), re.M)
    assert sorted(first_versions(interface, ROOT / "runtime").values()) == sorted(declared)


def test_a_function_with_other_parameters_gets_a_skeleton(interface: Interface, tmp_path: Path) -> None:
    header = tmp_path / OPERATORS_HEADER
    header.parent.mkdir(parents=True)
    header.write_text(
        "Status mm(const Launch& launch, Context ctx, Out out, In input, In mat2);\n"
        "Status bmm(const Launch& launch, Context ctx, Out out, In input, In other);\n"
        "Status unknown(const Launch& launch, Context ctx);\n"
    )
    assert first_versions(interface, tmp_path) == {"diopiMm": "mm"}


def test_the_starter_set_trains_a_convolutional_net(interface: Interface) -> None:
    assert {f"{name}Backward" for name in TRAINING} < {
        function.operator for function in interface.functions if function.starter
    }
    names = {function.name for function in interface.functions if function.starter}
    kernels = {function.name for function in expressible(interface)} | set(first_versions(interface, ROOT / "runtime"))
    assert names - kernels == set(), "each has a generated kernel or a first version"


@pytest.mark.parametrize(("operators", "counts"), [("Add,Mm", (1, 3, 0)), ("Add,AddInp,Sort", (2, 2, 1))])
def test_the_page_of_a_tree_counts_its_kernels(tmp_path: Path, operators: str, counts: tuple[int, int, int]) -> None:
    """With the two functions that shims convert with, which are first versions."""
    chip = tmp_path / "pebble.yaml"
    run("init", "--yes", "--name", "pebble", "--operators", operators, "--out", chip)
    run("scaffold", "--chip", chip, "--out", tmp_path / "pebble")
    page = " ".join((tmp_path / "pebble/README.md").read_text().split())
    numbers = re.search(
        r"of the (\d+) functions at first: (\d+) generated, .*; (\d+) first .*; (\d+) not written", page
    )
    assert numbers is not None and tuple(map(int, numbers.groups())) == (sum(counts), *counts)
