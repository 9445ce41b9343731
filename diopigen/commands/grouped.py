"""Options that stand for several: `--only dtype=float16` is `--dtype float16`, which is accepted and not shown.

A command with many options shows few in its help. `Grouped` writes a group's words as those of the options that do the
work, which keep their own checks, messages and completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

_Command = TypeVar("_Command", bound=Callable[..., Any])


class GroupOption(click.Option):
    """An option of words KEY=VALUE, each for the option `keys[KEY]`, and of single words for those in `words`. Any
    other text is for the option `other`, where there is one."""

    def __init__(
        self, *args: Any, keys: Mapping[str, str], words: Mapping[str, Sequence[str]], other: str, **rest: Any
    ) -> None:
        super().__init__(*args, **rest)
        self.keys = keys
        self.words = words
        self.other = other

    def written_out(self, text: str) -> Sequence[str]:
        """The words of the option that `text` stands for. Raises `click.UsageError`."""
        if text in self.words:
            return self.words[text]
        key, sign, value = text.partition("=")
        if (not sign or key not in self.keys) and self.other:
            return (self.other, text)
        if not sign or key not in self.keys:
            known = ", ".join([*(f"{key}=" for key in self.keys), *self.words])
            raise click.UsageError(f"{self.opts[0]} '{text}': write one of {known}")
        return (self.keys[key], value)

    def spelling(self, option: str) -> str:
        """Formats `option` for this group; empty for an option of another group."""
        if option == self.other:
            return self.opts[0]
        return next((f"{self.opts[0]} {key}=" for key, name in self.keys.items() if name == option), "")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        key, sign, value = incomplete.partition("=")
        if not sign:
            known = [*(f"{key}=" for key in self.keys), *self.words]
            return [CompletionItem(word) for word in known if word.startswith(incomplete)]
        options = [one for one in ctx.command.params if self.keys.get(key) in one.opts]
        found = (item for option in options for item in option.shell_complete(ctx, value))
        return [CompletionItem(f"{key}={item.value}", help=item.help) for item in found]


class Grouped(click.Command):
    """A command with such options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        groups = {name: option for option in self.params if isinstance(option, GroupOption) for name in option.opts}
        return super().parse_args(ctx, list(_written_out(groups, args)))


def _written_out(groups: Mapping[str, GroupOption], args: Sequence[str]) -> Iterable[str]:
    rest = iter(args)
    for word in rest:
        if word == "--":
            yield word
            break
        name, sign, value = word.partition("=")
        if name not in groups:
            yield word
            continue
        text = value if sign else next(rest, None)
        yield from [word] if text is None else groups[name].written_out(text)
    yield from rest


def group(
    name: str, help_text: str, keys: Mapping[str, str] | None = None, words: Mapping[str, Sequence[str]] | None = None,
    other: str = "", metavar: str = "KEY=VALUE",
) -> Callable[[_Command], _Command]:  # fmt: skip
    """Adds a group to a command of the class `Grouped`, whose other options it stands for are hidden."""
    return click.option(
        name,
        f"{name.strip('-')}_words",
        cls=GroupOption,
        keys=keys or {},
        words=words or {},
        other=other,
        metavar=metavar,
        multiple=True,
        expose_value=False,
        help=f"{help_text} (may be repeated).",
    )
