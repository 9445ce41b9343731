"""Options that a command cannot honour together: each such pair is an error, and not ignored in silence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from diopigen.commands.grouped import GroupOption

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """Parameter `option` needs one of `others`, or cannot stand with any of them."""

    option: str
    others: Sequence[str]
    needs: bool = False


def needs(option: str, *others: str) -> Rule:
    return Rule(option, others, needs=True)


def excludes(option: str, *others: str) -> Rule:
    return Rule(option, others)


def combinations(*rules: Rule) -> Callable[[_Command], _Command]:
    """Rejects options that the others would make a command ignore. Stands next to the function."""

    def add(command: _Command) -> _Command:
        @functools.wraps(command)
        def checked(*args: Any, **named: Any) -> Any:
            ctx = click.get_current_context()
            for rule in rules:
                _check(ctx, rule)
            return command(*args, **named)

        checked.combinations = rules  # type: ignore[attr-defined]  # read by the test of all pairs
        return checked  # type: ignore[return-value]  # it has the parameters of `command`

    return add


def _check(ctx: click.Context, rule: Rule) -> None:
    if not _is_set(ctx, rule.option):
        return
    present = [name for name in rule.others if _is_set(ctx, name)]
    if rule.needs and not present:
        others = " or ".join(label(ctx.command, name) for name in rule.others)
        raise click.UsageError(f"{label(ctx.command, rule.option)} needs {others}", ctx)
    if present and not rule.needs:
        first, second = (label(ctx.command, name, ctx.params[name]) for name in (rule.option, present[0]))
        raise click.UsageError(f"{first} and {second} exclude each other", ctx)


def _is_set(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def label(command: click.Command, name: str, value: object = None) -> str:
    """The spelling of a parameter, for messages; several flags set one parameter, each to a value."""
    params = [one for one in command.params if one.name == name]
    param = next((one for one in params if isinstance(one, click.Option) and one.flag_value == value), params[0])
    if not isinstance(param, click.Option):
        return param.make_metavar(click.Context(command))
    groups = (one for one in command.params if isinstance(one, GroupOption))
    return next((text for group in groups if (text := group.spelling(param.opts[-1]))), param.opts[-1])
