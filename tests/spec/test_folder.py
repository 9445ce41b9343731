"""Files below a folder: pipes are recognized and never opened, links are followed and end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.output import cache
from diopigen.spec.folder import entries_below
from diopigen.spec.text_file import read_regular

MINIATURE = Path(__file__).parents[1] / "data" / "miniature"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A spec with operators behind a link, and with a pipe, a link to nothing and circular links."""
    spec = tmp_path / "spec"
    spec.mkdir()
    for source in MINIATURE.iterdir():
        if source.name != "ops":
            (spec / source.name).symlink_to(source)
    (spec / "ops").mkdir()
    (spec / "ops" / "linked").symlink_to(MINIATURE / "ops")
    (spec / "ops" / "up").symlink_to("..")
    (spec / "ops" / "here").symlink_to(".")
    (spec / "ops" / "circle").symlink_to("circle")
    (spec / "ops" / "nothing").symlink_to("absent")
    os.mkfifo(spec / "ops" / "pipe")
    return spec


def test_every_folder_is_entered_once_and_every_entry_told_apart(odd: Path) -> None:
    found = {entry.name: entry.regular for entry in entries_below(odd / "ops")}
    below = sorted((MINIATURE / "ops").rglob("*"))
    operators = [f"linked/{path.relative_to(MINIATURE / 'ops')}" for path in below if path.is_file()]
    folders = [f"linked/{path.relative_to(MINIATURE / 'ops')}" for path in below if path.is_dir()]
    others = ["circle", "here", "linked", "nothing", "pipe", "up"]
    assert found == {**dict.fromkeys(operators, True), **dict.fromkeys([*folders, *others], False)}


def test_a_spec_behind_links_is_the_same_spec(odd: Path) -> None:
    sink = Sink()
    linked, plain = load_interface(odd, sink).interface, load_interface(MINIATURE, sink).interface
    assert [function.name for function in linked.functions] == [function.name for function in plain.functions]
    assert sink.sorted() == []


def test_the_key_of_the_cache_opens_no_pipe_and_knows_that_it_is_there(odd: Path) -> None:
    before = cache.key_of([odd])
    (odd / "ops" / "pipe").unlink()
    without = cache.key_of([odd])
    (odd / "ops" / "pipe").touch()
    assert len({before, without, cache.key_of([odd])}) == 3


def test_a_pipe_is_not_opened(odd: Path) -> None:
    with pytest.raises(OSError, match="is not a regular file"):
        read_regular(odd / "ops" / "pipe")
