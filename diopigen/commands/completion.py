"""Shell completion: names of functions, families, models, dtypes, axes, targets and rules.

`eval "$(_DIOPIGEN_COMPLETE=bash_source diopigen)"` turns it on (zsh_source, fish_source). Names come from the cached
interface. Where it cannot be loaded nothing is completed: a shell has no place for findings.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from diopigen.ir.model import Interface


_Command = TypeVar("_Command", bound=Callable[..., Any])
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names_option(*names: str, metavar: str, what: str, complete: Complete) -> Callable[[_Command], _Command]:
    """An option that takes a name, may be repeated and is completed by `complete`. `what` opens its help."""
    return click.option(
        *names, multiple=True, metavar=metavar, help=f"{what} (may be repeated).", shell_complete=complete
    )


def functions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Functions, with their documentation: `diopiAdd`, or `Add` where the word does not begin with the prefix."""
    interface = _interface(ctx)
    known = [(function.name, function.doc) for function in interface.functions] if interface else []
    if not "diopi".startswith(incomplete[:5]):
        known = [(name.removeprefix("diopi"), doc) for name, doc in known]
    return _items(known, incomplete)


def functions_and_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names that `explain` accepts."""
    from diopigen.rulebook.rules import all_rules

    return [*functions(ctx, param, incomplete), *_items(all_rules().items(), incomplete)]


def families(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    interface = _interface(ctx)
    return _items(interface.family_docs.items() if interface else (), incomplete)


def dtypes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    interface = _interface(ctx)
    return _items(((dtype.name, "") for dtype in interface.dtypes) if interface else (), incomplete)


def models(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Model tables: the names of their files."""
    from diopigen import api

    folder = api.workspace(ctx.params.get("spec")).spec / "models"
    return _items(((path.stem, "") for path in sorted(folder.glob("*.yaml"))), incomplete)


def axes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from diopigen.conformance.cases.suite import AXES, ON_REQUEST

    return _items(((name, "") for name in (*AXES, *ON_REQUEST)), incomplete)


def targets(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from diopigen import api

    return _items(((name, "") for name in api.targets()), incomplete)


def _items(names: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=doc or None) for name, doc in names if name.startswith(incomplete)]


def _interface(ctx: click.Context) -> Interface | None:
    """The interface of --spec, as far as it is typed; None where it has findings or cannot be read."""
    from diopigen.console import Session
    from diopigen.diagnostics import Failure

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            return Session(ctx.params.get("spec")).load().interface
        except (Failure, OSError, SystemExit, ValueError):
            return None
