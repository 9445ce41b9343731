"""The packages of a release: one version, which each has in its source alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from diopigen import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = [ROOT / folder / "pyproject.toml" for folder in (".", "diopi_torch", "optools")]


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
