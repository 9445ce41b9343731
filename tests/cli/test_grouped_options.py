"""Options that stand for several: they are those that do the work, written in another way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.commands.grouped import GroupOption
from lab.__main__ import lab

MOST = 20
RUN = ("conformance", "run", "--lib", "none.so")


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from commands(one, (*path, name))
    else:
        yield path, command


ALL = [*commands(cli), *commands(lab, ("lab",))]


@pytest.mark.parametrize(("path", "command"), [pytest.param(*one, id=" ".join(one[0])) for one in ALL])
def test_help_shows_few_options(path: tuple[str, ...], command: click.Command) -> None:
    shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    assert len(shown) <= MOST, " ".join(path)
    accepted = {name for one in command.params for name in one.opts}
    for option in shown:
        if isinstance(option, GroupOption):
            targets = {*option.keys.values(), *(words[0] for words in option.words.values()), option.other} - {""}
            assert targets <= accepted, option.name


@pytest.mark.parametrize(
    ("grouped", "single"),
    [
        (["--only", "dtype=float16", "--only=family=optimizer"], ["--dtype", "float16", "--family", "optimizer"]),
        (["--shard", "2/7", "--only", "axis=error"], ["--shard=2/7", "--axis=error"]),
        (["--only", "model=resnet50", "--ops", "Add*"], ["--model", "resnet50", "--ops", "Add*"]),
    ],
)
def test_both_ways_select_the_same_cases(grouped: list[str], single: list[str]) -> None:
    outputs = [CliRunner().invoke(cli, ["conformance", "list", *words]) for words in (grouped, single)]
    assert [one.exit_code for one in outputs] == [0, 0], outputs
    assert outputs[0].output == outputs[1].output != ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "dtyp=x"], "--only 'dtyp=x': write one of family=, dtype=, axis=, model=, failures=, sample="),
        (["--only", "dtype"], "--only 'dtype': write one of"),
        (["--only"], "Option '--only' requires an argument"),
        (["--only", "sample=0"], "Invalid value for '--sample': 0 is not in the range x>=1"),
        (["--show", "colour"], "--show 'colour': write one of failures=, family, function, dtype, axis, accuracy"),
        (["--output", "pdf=x"], "--output 'pdf=x': write one of json=, junit=, html="),
        (["--through", "glass"], "--through 'glass': write one of validation, tvm_ffi"),
        (["--limit", "time=soon"], "Invalid value for '--time-limit'"),
    ],
)
def test_a_wrong_word_is_a_usage_error(words: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, [*RUN, *words])
    assert (done.exit_code, message in done.output) == (2, True), done.output


def test_costs_without_a_shard_are_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["conformance", "list", "--ops", "Add", "--shard", f"costs={tmp_path}"])
    assert (done.exit_code, "of --shard I/N, which is missing" in done.output) == (2, True), done.output
