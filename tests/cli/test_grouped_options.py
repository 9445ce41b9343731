"""Options that stand for several: they are those that do the work, written in another way."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.commands.combinations import Rule, label
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


PAIRS = [
    pytest.param(path, rule, other, id=f"{' '.join(path)}: {rule.option} {'needs' if rule.needs else 'or'} {other}")
    for path, command in commands(cli)
    for rule in getattr(command.callback, "combinations", ())
    for other in rule.others
]


def written(command: click.Command, name: str, value: str) -> list[str]:
    """A parameter with a value, as it is typed."""
    param = next(one for one in command.params if one.name == name)
    if not isinstance(param, click.Option):
        return [value]
    return [param.opts[-1]] if param.is_flag else [param.opts[-1], value]


@pytest.mark.parametrize(("path", "rule", "other"), PAIRS)
def test_options_that_a_command_cannot_honour_together_are_an_error(
    path: tuple[str, ...], rule: Rule, other: str
) -> None:
    command = dict(commands(cli))[path]
    words = [*path, *written(command, rule.option, "x"), *([] if rule.needs else written(command, other, "y"))]
    for param in command.params:
        if param.required and param.name not in (rule.option, other):
            words += written(command, str(param.name), "z")
    done = CliRunner().invoke(cli, words)
    message = done.output.splitlines()[-1]
    assert done.exit_code == 2, done.output
    assert label(command, rule.option) in message and label(command, other) in message


def test_a_group_is_named_as_it_is_written() -> None:
    done = CliRunner().invoke(cli, ["conformance", "list", "--ops", "Add", "--shard", "costs=none.json"])
    assert done.output.splitlines()[-1] == "Error: --shard costs= needs --shard"
