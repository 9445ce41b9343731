"""`diopigen explain --fusion`: functions by the spec, and the report of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.diagnostics import Failure

GRAPH = {
    "steps": 3,
    "arena": 128,
    "kernels": [
        {
            "name": "fused_0",
            "source": "int x;\nint y;",
            "uses": [
                [
                    {"node": "mul", "overload": "mul.Tensor", "line": "model.py:3, in forward: x * 2 + 1"},
                    {"node": "add", "overload": "add.Tensor", "line": "model.py:3, in forward: x * 2 + 1"},
                ]
            ],
        }
    ],
    "not_fused": [
        {"node": "mm", "overload": "mm", "line": "", "why": "its function has no kernel expression"},
        {"node": "mm_1", "overload": "mm", "line": "", "why": "its function has no kernel expression"},
    ],
    "dispatched": [{"node": "sort", "overload": "sort", "line": "", "why": "no function of the interface serves it"}],
    "layouts": [
        {
            "node": node,
            "overload": "conv",
            "line": "",
            "layouts": {"input": "channels_last", "result 0": "channels_last"},
        }
        for node in ("c", "c_1")
    ],
    "conversions": [{"node": "clone", "to": "channels_last"}, {"node": "clone_1", "to": "row_major"}],
}


def explained(*words: str) -> tuple[int, str]:
    """Exit code and output."""
    result = CliRunner().invoke(cli, ["explain", "--fusion", *words])
    return result.exit_code, result.output


def test_a_report_by_kernels_and_reasons(tmp_path: Path) -> None:
    path = tmp_path / "graphs.json"
    path.write_text(json.dumps(GRAPH) + "\n")
    expected = [
        "graph 1: 3 steps, 128 bytes of arena, 2 nodes fused",
        "  fused_0: mul.Tensor, add.Tensor",
        "    model.py:3, in forward: x * 2 + 1",
        "    | int x;",
        "    | int y;",
        "  not fused:",
        "       2  mm: its function has no kernel expression",
        "  through the dispatcher:",
        "       1  sort: no function of the interface serves it",
        "  layouts:",
        "       2  conv: input, result 0 channels_last",
        "  conversions of layouts:",
        "       1  to channels_last",
        "       1  to row_major",
    ]
    assert explained(str(path), "--sources") == (0, "\n".join(expected) + "\n")
    assert explained(str(path)) == (0, "\n".join(line for line in expected if "|" not in line) + "\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "Expecting property name"), ('{"steps": 1}', "a line lacks keys"), ("[]", "no attribute")],
)
def test_a_file_that_is_no_report(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "graphs.json"
    path.write_text(text)
    failure = CliRunner().invoke(cli, ["explain", "--fusion", str(path)]).exception
    assert isinstance(failure, Failure)
    (finding,) = failure.diagnostics
    assert finding.code == "fusion-report" and reason in finding.message


def test_a_function_has_its_expression_or_a_reason() -> None:
    code, output = explained("diopiMul")
    assert code == 0 and "serves mul.Tensor" in output and "results[0] = input * other;" in output
    assert explained("Softmax") == (
        0,
        "diopiSoftmax: can be part of a fused kernel\n  serves _softmax\n"
        "  reduces the last dimensions, a row at a time: _softmax as softmax\n",
    )
    assert "not fused: the spec has no kernel expression for it" in explained("Mm")[1]
    assert "not fused: it writes to an operand" in explained("MulInp")[1]


def test_all_functions() -> None:
    code, output = explained()
    assert code == 0 and "functions can be part of a fused kernel:" in output
    assert "diopiMul                         mul.Tensor\n" in output
    assert "diopiMean                        mean, mean.dim  (last dimensions)\n" in output
    assert "the spec has no kernel expression for it" in output
