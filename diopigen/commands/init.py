"""The command that a new chip starts with: init."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from diopigen.console import INTERRUPTED, Session, common_options

if TYPE_CHECKING:
    from diopigen.vendor.first_chip import Questions

_Value = TypeVar("_Value")


@click.command()
@click.option("--name", metavar="NAME", help="The chip: a name in lower case.")
@click.option("--doc", metavar="TEXT", help="What it is, in a line.")
@click.option("--dtypes", metavar="D,D", help="The dtypes that kernels compute with.")
@click.option("--max-rank", metavar="N", help="The most dimensions of a tensor.")
@click.option("--alignment", metavar="BYTES", help="What the start of every buffer is a multiple of.")
@click.option("--layouts", metavar="L,L", help="The layouts of image kernels: any, or such as NHWC.")
@click.option("--strides", metavar="KIND", help="Which tensors kernels take: strided or contiguous.")
@click.option("--memory", metavar="BYTES", help="Memory of a device: 16G; 0 for the default.")
@click.option("--operators", metavar="O,O", help="Native operators: starter, elementwise, families, names, 'Log*'.")
@click.option("--yes", is_flag=True, help="Ask nothing: defaults for what no option says. --name is needed.")
@click.option("--out", metavar="FILE", help="The file to write (default: NAME.yaml).")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@common_options
def init(
    name: str | None,
    doc: str | None,
    dtypes: str | None,
    max_rank: str | None,
    alignment: str | None,
    layouts: str | None,
    strides: str | None,
    memory: str | None,
    operators: str | None,
    yes: bool,
    out: str | None,
    force: bool,
    session: Session,
) -> None:
    """Ask what a chip can do, and write the file that all else follows from: scaffold, shims, coverage, suite.

    An answer that cannot be is asked again with the reason, and one that an option gives ends the command. Nothing is
    written before the last question; Ctrl-C leaves everything as it was.
    """
    from diopigen.chip.reader import parse_chip
    from diopigen.output.disk import file_mode, write_file
    from diopigen.vendor.first_chip import Answers, Questions, chip_text

    if yes and name is None:
        raise click.UsageError("--yes needs --name")
    interface = session.load().interface
    ask = _Asker(Questions(interface), yes)
    try:
        chip = ask("name", "Name of the chip", name, None, ask.questions.name)
        path = Path(out or f"{chip}.yaml")
        if path.exists() and not force:
            raise click.UsageError(f"{path} is there already: --force overwrites it, --out names another file")
        answers = Answers(
            chip,
            ask("doc", "What is it", doc, f"The chip {chip}.", ask.questions.doc),
            ask("dtypes", "Dtypes that kernels compute with", dtypes, "float32, float16", ask.questions.dtypes),
            ask("max-rank", "Most dimensions of a tensor", max_rank, "8", ask.questions.rank),
            ask("alignment", "Alignment of buffers in bytes", alignment, "16", ask.questions.alignment),
            ask("layouts", "Layouts of image kernels (any, NCHW, NHWC, ...)", layouts, "any", ask.questions.layouts),
            ask("strides", "Tensors that kernels take (strided, contiguous)", strides, "strided",
                ask.questions.contiguous),
            ask("memory", "Memory of a device (16G; 0 for the default)", memory, "0", ask.questions.memory),
            ask("operators", "Native operators (starter, elementwise, families, names, patterns)", operators,
                "elementwise", ask.questions.operators),
        )  # fmt: skip
    except click.Abort:
        click.echo("\ndiopigen: interrupted; nothing was written", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    text = chip_text(answers, interface)
    if parse_chip(text, str(path), interface, session.sink) is None:
        session.finish()  # pragma: no cover - every answer was checked
    write_file(path, text.encode("utf-8"), file_mode(path))
    count = sum(len(names) for _, names in answers.operators)
    session.finish(f"{path}: {count} native operators; next: diopigen scaffold --chip {path} --out {chip}")


class _Asker:
    """Answers from options, from defaults, or from a person."""

    def __init__(self, questions: Questions, yes: bool) -> None:
        self.questions = questions
        self._yes = yes

    def __call__(
        self, option: str, text: str, provided: str | None, default: str | None, read: Callable[[str], _Value]
    ) -> _Value:
        """Returns `read` of the option `provided`, else of the default or the user's input."""
        if provided is None and self._yes:
            provided = default
        if provided is not None:
            try:
                return read(provided.strip())
            except ValueError as error:
                raise click.UsageError(f"--{option}: {error}") from None

        def checked(entered: str) -> _Value:
            try:
                return read(str(entered).strip())
            except ValueError as error:
                raise click.BadParameter(str(error)) from None

        found: _Value = click.prompt(text, default=default, value_proc=checked)
        return found
