"""`coverage --fallbacks`: why the calls of a program fell back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.diagnostics import Failure, Span
from diopigen.vendor.fallbacks import Fallback, read_fallbacks

SOURCE = (
    "#include <diopi/functions.h>\n"
    "diopiError_t diopiMm(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,\n"
    "                     diopiConstTensorHandle_t) {\n    return diopiSuccess;\n}\n"
)
RANK = "diopiMm: tensor {} (float32 {}) has another rank than the kernel takes"


def line(**entry: object) -> str:
    return json.dumps(entry) + "\n"


def left(tensor: int, shape: str, calls: int) -> str:
    return line(function="diopiMm", status="diopiForceFallbackToCPU", reason=RANK.format(tensor, shape), calls=calls)


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    """Of the dispatch library, and of PyTorch."""
    dispatch, torch = tmp_path / "dispatch.jsonl", tmp_path / "torch.jsonl"
    silent = line(function="diopiMm", status="diopiNoImplement", reason="", calls=1)
    absent = line(function="diopiAbs", status="", reason="", calls=4)
    dispatch.write_text(left(1, "[2, 3, 4]", 2) + left(2, "[5]", 3) + silent + absent)
    lacks = "diopiAbs: the chip has no such operator (Float)"
    none = "no function of the interface serves it (Float)"
    torch.write_text(
        line(overload="abs.out", function="diopiAbs", status="", reason=lacks, calls=2)
        + line(overload="geqrf", function="", status="", reason=none, calls=1)
    )
    return [dispatch, torch]


def test_reasons_count_by_operator_and_check(reports: list[Path]) -> None:
    found = read_fallbacks(reports)
    assert found[0] == Fallback("diopiMm", "", "diopiForceFallbackToCPU", RANK.format(1, "[2, 3, 4]"), 5)
    assert [(one.operator, one.why, one.calls) for one in found[1:]] == [
        ("diopiAbs", "the chip has no such operator", 4),
        ("diopiAbs", "diopiAbs: the chip has no such operator (Float)", 2),
        ("diopiMm", "diopiNoImplement without a text", 1),
        ("geqrf", "no function of the interface serves it (Float)", 1),
    ]


def test_coverage_shows_them(reports: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "impl/test"
    folder.mkdir(parents=True)
    (folder / "mm.cpp").write_text(SOURCE)
    page, data = tmp_path / "page.html", tmp_path / "data.json"
    words = [word for path in reports for word in ("--fallbacks", str(path))]
    arguments = ["coverage", str(folder), "--model", "resnet50", *words, "--html", str(page), "--json", str(data)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert "Recorded calls that fell back, 13:\n" in done.output
    rows = [row.split(maxsplit=3) for row in done.output.splitlines() if RANK[:8] in row or "geqrf" in row]
    assert ["5", "diopiMm", "native", RANK.format(1, "[2, 3, 4]")] in rows
    assert ["1", "geqrf", ".", "no function of the interface serves it (Float)"] in rows
    assert "diopiAbs: the chip has no such operator (Float) [abs.out]" in done.output
    recorded = json.loads(data.read_text())["fallbacks"]
    assert recorded[0] == {
        "function": "diopiMm",
        "overload": "",
        "state": "native",
        "status": "diopiForceFallbackToCPU",
        "reason": RANK.format(1, "[2, 3, 4]"),
        "calls": 5,
    }
    assert RANK.format(1, "[2, 3, 4]") in page.read_text()


@pytest.mark.parametrize(
    ("text", "number", "message"),
    [
        ("x", 1, "the line is no JSON"),
        ("[" * 100000, 1, "the line is no JSON"),
        ("[1]", 1, "the line is no JSON object"),
        (left(1, "[5]", 1) + "{}", 2, "the line has no 'function' or 'overload', or one that is no text"),
        (line(function=1, calls=1), 1, "the line has no 'function' or 'overload', or one that is no text"),
        (line(overload="abs"), 1, "the line has no number of 'calls'"),
        (line(overload="abs", calls=True), 1, "the line has no number of 'calls'"),
        (None, 1, "cannot be read: No such file or directory"),
        (b"\xff", 1, "is no text in UTF-8"),
    ],
)
def test_a_damaged_report_is_rejected(tmp_path: Path, text: str | bytes | None, number: int, message: str) -> None:
    report = tmp_path / "report.jsonl"
    if text is not None:
        report.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(Failure) as caught:
        read_fallbacks([report])
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("fallback-report", message)
    assert found.span == Span(str(report), number, 1)


def test_a_damaged_report_ends_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from diopigen.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["coverage", str(tmp_path), "--fallbacks", str(tmp_path / "none")])
    assert ended.value.code == 2
    assert "none:1:1: error[fallback-report]: cannot be read" in capfd.readouterr().err
