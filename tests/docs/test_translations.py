"""Pages in two languages: the same commands, headings, links to each other, and the same names in the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRANSLATED = [
    page
    for folder in (".", "docs", "examples/*", "generated/docs")
    for page in sorted(ROOT.glob(f"{folder}/*.zh-CN.md"))
]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


def original(page: Path) -> Path:
    return page.with_name(page.name.replace(".zh-CN", ""))


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and text of the code blocks; comments at the end of a line of shell may be translated."""
    return [
        (language, re.sub(r" +# .*$", "", code, flags=re.MULTILINE) if language == "sh" else code)
        for _, language, code in BLOCK.findall(text)
    ]


def headings(text: str) -> list[str]:
    """The levels of the headings in order, with the number of a numbered one."""
    return re.findall(r"^(#+ (?:\d+\.)?)", BLOCK.sub("", text), re.MULTILINE)


def names(text: str) -> set[str]:
    """The names, options and paths that are in backquotes outside of the blocks."""
    return set(CODE.findall(BLOCK.sub("", text)))


def test_the_pages_that_users_begin_with_are_translated() -> None:
    assert {page.name for page in TRANSLATED} >= {"README.zh-CN.md", "bring-up.zh-CN.md", "pytorch.zh-CN.md"}


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.relative_to(ROOT)))
def test_both_languages_have_the_same_blocks_headings_tables_and_names(page: Path) -> None:
    own, other = page.read_text(encoding="utf-8"), original(page).read_text(encoding="utf-8")
    assert blocks(own) == blocks(other) and blocks(own)
    assert headings(own) == headings(other) and headings(own)
    rows = [re.findall(r"^\|", BLOCK.sub("", text), re.MULTILINE) for text in (own, other)]
    assert len(rows[0]) == len(rows[1])
    assert names(own) == names(other)


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_links_to_the_other_at_the_top(page: Path) -> None:
    for one, other in ((page, original(page)), (original(page), page)):
        assert f"]({other.name})" in "".join(one.read_text(encoding="utf-8").splitlines(keepends=True)[:4])
