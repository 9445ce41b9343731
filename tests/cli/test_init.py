"""`diopigen init`: questions to a file of a chip, which all other commands accept."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from diopigen.chip.model import Chip
from diopigen.chip.reader import parse_chip
from diopigen.cli import cli
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, entered: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=entered)


def chip(name: str, interface: Interface) -> Chip:
    sink = Sink()
    found = parse_chip(Path(name).read_text(), name, interface, sink)
    assert sink.sorted() == []
    assert found is not None
    return found


def test_defaults_and_options_without_a_question(interface: Interface) -> None:
    done = run("init", "--yes", "--name", "pebble", "--dtypes", "float16,float32", "--operators", "Add, Mm Log*")
    assert done.exit_code == 0, done.output
    found = chip("pebble.yaml", interface)
    logs = [function.name for function in interface.functions if function.name.startswith("diopiLog")]
    count = len(logs) + len(["Add", "Mm", "CastDtype", "CopyInp"])
    next_step = "next: diopigen scaffold --chip pebble.yaml --out pebble"
    assert done.output == f"pebble.yaml: {count} native operators; {next_step}\n"
    assert (found.name, found.dtypes, found.max_rank, found.alignment) == ("pebble", ("float16", "float32"), 8, 16)
    assert (found.contiguous, found.memory) == (False, None)
    names = {one.name for one in found.operators}
    assert {"diopiAdd", "diopiMm", "diopiLog", "diopiLog10", "diopiCastDtype", "diopiCopyInp"} <= names
    mover = next(one for one in found.operators if one.name == "diopiCastDtype")
    assert mover.dtypes == ("float16", "float32", "bool", "uint8", "int32", "int64")


def test_a_bad_answer_is_asked_again_with_the_reason(interface: Interface) -> None:
    entered = [
        *("Pebble", "class", "pebble"), "A \"small\" chip: C:\\", *("float23", "float32"), *("0", "4"), *("24", "128"),
        *("NHCW", "NHWC"), *("dense", "contiguous"), *("much", "2G"), *("Addd", "convolution, Relu"),
    ]  # fmt: skip
    done = run("init", entered="\n".join(entered) + "\n")
    assert done.exit_code == 0, done.output
    for reason in (
        "Error: a name in lower case begins with a letter, and has letters, digits and _",
        "Error: 'class' cannot be a vendor's name: it is a keyword of C or C++",
        "Error: there is no dtype 'float23': did you mean 'float32'?",
        "Error: a tensor has at least one dimension",
        "Error: 24 is no power of two up to 512",
        "Error: there is no layout 'NHCW': did you mean 'NCHW'?",
        "Error: give 'contiguous' or 'strided'",
        "Error: give a number of bytes, such as 16G",
        "Error: no operator, family or pattern is 'Addd': did you mean 'Add'?",
        "Dtypes that kernels compute with [float32, float16]: ",
    ):
        assert reason in done.output
    found = chip("pebble.yaml", interface)
    assert (found.doc, found.memory, found.contiguous) == ('A "small" chip: C:\\', 2 << 30, True)
    layouts = {one.name: one.layouts for one in found.operators}
    assert layouts["diopiConvolution2d"] == ("NHWC",)
    assert layouts["diopiRelu"] == ()


def test_a_bad_option_ends_the_command() -> None:
    done = run("init", "--yes", "--name", "pebble", "--alignment", "24")
    assert done.exit_code == 2
    assert "--alignment: 24 is no power of two up to 512" in done.output
    assert run("init", "--yes").exit_code == 2
    assert list(Path().iterdir()) == []


def test_the_end_of_the_input_writes_nothing() -> None:
    done = run("init", entered="pebble\nA chip.\n")
    assert done.exit_code == 130
    assert "nothing was written" in done.output
    assert list(Path().iterdir()) == []


def test_a_file_is_not_overwritten() -> None:
    Path("pebble.yaml").write_text("of mine\n")
    done = run("init", "--yes", "--name", "pebble")
    assert done.exit_code == 2
    assert "pebble.yaml is there already" in done.output
    assert Path("pebble.yaml").read_text() == "of mine\n"
    assert run("init", "--yes", "--name", "pebble", "--force").exit_code == 0
    assert Path("pebble.yaml").read_text().startswith("chip: pebble\n")


def test_what_it_writes_is_checked_scaffolded_and_generated_from(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("init", "--yes", "--name", "pebble", "--operators", "starter", "--layouts", "NHWC").exit_code == 0
    for arguments in (
        ("check", "pebble.yaml"),
        ("chip", "pebble.yaml"),
        ("scaffold", "--chip", "pebble.yaml", "--out", "pebble"),
        ("elementwise", "impl/pebble", "--chip", "pebble.yaml", "--check"),
        ("adaptors", "impl/pebble", "--check"),
        ("check-impl", "impl/pebble"),
    ):
        done = run(*arguments)
        if arguments[0] == "scaffold":
            monkeypatch.chdir("pebble")
        assert done.exit_code == 0, (arguments, done.output)
        assert "error[" not in done.output
        assert "warning[" not in done.output, done.output
