"""The releases of torch that specs/aten has schemas of are those that packages and pages name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def releases() -> tuple[str, ...]:
    return load_interface(ROOT / "specs", Sink()).interface.aten.releases


@pytest.fixture(scope="module")
def minors(releases: tuple[str, ...]) -> list[tuple[int, int]]:
    numbers = [tuple(map(int, release.split(".")[:2])) for release in releases]
    return [(major, minor) for major, minor in numbers]


@pytest.fixture(scope="module")
def range_of_pip(minors: list[tuple[int, int]]) -> str:
    (first, last) = (minors[0], minors[-1])
    return f"torch>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"


PAGES = ("docs/pytorch.md", "docs/pytorch.zh-CN.md", "docs/support.md", "docs/support.zh-CN.md")


@pytest.mark.parametrize("file", ["diopi_torch/pyproject.toml", *PAGES])
def test_what_users_install_is_one_of_these(file: str, range_of_pip: str, minors: list[tuple[int, int]]) -> None:
    ranges = re.findall(r"\btorch[=<>][=.,0-9<>]*", (ROOT / file).read_text(encoding="utf-8"))
    assert range_of_pip in ranges
    examples = {f"torch=={major}.{minor}." for major, minor in minors}
    assert set(ranges) <= {range_of_pip, *examples}, ranges


def test_the_workflow_tries_them(releases: tuple[str, ...]) -> None:
    (matrix,) = re.findall(r"release: (\[.*\])", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert json.loads(matrix) == [*releases, ""]


def test_tests_run_with_one_of_them(minors: list[tuple[int, int]]) -> None:
    (pin,) = re.findall(r"\btorch==([0-9]+)\.([0-9]+)\.[0-9]+", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(map(int, pin)) in minors
