"""The packages of a release: one version, which each has in its source alone; what the support policy names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from diopigen import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = [
    ROOT / folder / "pyproject.toml" for folder in (".", "diopi_torch", "dlinfer_diopi", "optools", "vllm_diopi")
]


SUPPORT = [ROOT / "docs" / name for name in ("support.md", "support.zh-CN.md")]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def numbers(pattern: str, text: str) -> list[tuple[int, ...]]:
    """The versions in a text, each as the only group of the pattern."""
    return [tuple(map(int, found.split("."))) for found in re.findall(pattern, text)]


def row(page: Path, name: str) -> list[str]:
    """The numbers in the second column of a row of the support policy."""
    (cell,) = re.findall(rf"^\| {name} \| ([^|]*) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    return re.findall(r"[0-9]+(?:\.[0-9]+)*", cell)


@pytest.mark.parametrize("page", SUPPORT, ids=lambda path: path.name)
def test_the_support_policy_names_what_is_tested_and_demanded(page: Path) -> None:
    (matrix,) = re.findall(r"python: (\[.*\])", read(".github/workflows/ci.yml"))
    assert row(page, "Python") == json.loads(matrix)
    for project in PROJECTS:
        assert f'requires-python = ">={row(page, "Python")[0]}"' in project.read_text(encoding="utf-8")
    tried = numbers(r'"(3\.[0-9]+)": \(', read("tools/portability/configurations.py"))
    assert [".".join(map(str, version)) for version in (min(tried), max(tried))] == row(page, "Python")
    assert f'"numpy>={row(page, "NumPy")[0]}"' in read("pyproject.toml")
    assert f"cmake_minimum_required(VERSION {row(page, 'CMake')[0]})" in read("CMakeLists.txt")
    assert f'"g++-{row(page, "GCC")[0]}"' in read("tools/portability/configurations.py")


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_a_package_has_the_version_of_the_release(project: Path) -> None:
    text = project.read_text(encoding="utf-8")
    assert '\ndynamic = ["version"]\n' in text
    (source,) = re.findall(r'^\[tool\.hatch\.version\]\npath = "(.*)"$', text, re.MULTILINE)
    assert f'\n__version__ = "{__version__}"\n' in (project.parent / source).read_text(encoding="utf-8")


def test_the_changelog_begins_with_the_release_or_with_what_follows_it() -> None:
    headings = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    (newest,) = [heading for heading in headings[:2] if heading.startswith(f"{__version__} (")]
    assert headings[: headings.index(newest)] in ([], ["Unreleased"])
