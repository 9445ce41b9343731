"""Comparisons: what counts as wrong, what as rounding, and what is skipped."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from faults import Injected, altered, overwrite, plainly, scaled
from networks import MODELS
from optools.bounds import UNKNOWN, Rule, class_of, table
from optools.comparing import Compare
from optools.errors import compare_results, kolmogorov
from optools.mode import Call, Proceed, quiet
from optools.replaying import replay
from sampling import first


def compared(action: Callable[[], Any], **options: Any) -> Compare:
    """Findings of a comparison of an action."""
    tool = Compare(quiet=True, **options)
    with tool:
        action()
    return tool


def kinds(tool: Compare) -> list[tuple[str, str]]:
    """Wrong operators with the kinds of their differences."""
    return [(one.op, kind) for one in tool.report.findings for kind in one.kinds]


def test_a_changed_input_is_found(device: str) -> None:
    def change(_: Injected, call: Call, proceed: Proceed) -> Any:
        out = proceed(call)
        with quiet():
            overwrite(call.args[1], call.args[1].cpu() + 1)
        return out

    x, y = torch.ones(4).to(device), torch.ones(4).to(device)
    with Injected("mul.Tensor", change):
        tool = compared(lambda: torch.mul(x, y))
    assert ("mul.Tensor", "input changed") in kinds(tool)
    assert "1.0 to 2.0" in tool.report.findings[0].text()


def test_a_written_argument_may_change_and_is_compared(device: str) -> None:
    x = torch.arange(6.0).to(device)
    assert not kinds(compared(lambda: x[1:4].mul_(x[2:5].clone())))
    with Injected("add_.Tensor", scaled(1.5)):
        assert kinds(compared(lambda: x.add_(1))) == [("add_.Tensor", "values")]


def test_an_output_that_shares_memory_is_found(device: str) -> None:
    def change(_: Injected, call: Call, proceed: Proceed) -> Any:
        with quiet():
            overwrite(call.args[0], proceed(call).cpu())
        return call.args[0]

    x = torch.ones(4).to(device)
    with Injected("clone", change):
        found = kinds(compared(lambda: x.clone()))
    assert ("clone", "alias") in found


def test_shapes_and_dtypes_are_compared(device: str) -> None:
    x = torch.ones(4, 4).to(device)
    with Injected("sum.dim_IntList", lambda _, call, proceed: proceed(call).unsqueeze(0)):
        assert kinds(compared(lambda: x.sum(0))) == [("sum.dim_IntList", "shape")]
    with Injected("exp", lambda _, call, proceed: proceed(call).to(torch.float16)):
        assert kinds(compared(lambda: x.exp())) == [("exp", "dtype")]


def test_nan_and_inf_are_compared(device: str) -> None:
    x = torch.tensor([1.0, -1, 0]).to(device)
    assert not kinds(compared(lambda: (x.log(), x / 0, x.rsqrt())))
    with Injected("log", plainly(lambda values: values.nan_to_num(0.0, neginf=-1.0))):
        assert kinds(compared(lambda: x.log())) == [("log", "not finite")]


def test_integers_are_exact_and_ties_may_differ(device: str) -> None:
    x = torch.tensor([3.0, 1, 3, 2]).to(device)

    def last(_: Injected, call: Call, proceed: Proceed) -> Any:
        out = proceed(call)
        with quiet():
            overwrite(out[1], out[1].cpu() * 0 + 2)
        return out

    with Injected("max.dim", last):
        assert not kinds(compared(lambda: x.max(0)))  # another position of the same value

    def wrong(_: Injected, call: Call, proceed: Proceed) -> Any:
        out = proceed(call)
        with quiet():
            overwrite(out[1], out[1].cpu() * 0 + 3)
        return out

    with Injected("max.dim", wrong):
        assert kinds(compared(lambda: x.max(0))) == [("max.dim", "values")]


def test_random_operators_are_compared_by_generator_and_distribution(device: str) -> None:
    def program() -> None:
        torch.rand(4000, device=device)
        torch.empty(4000, device=device).normal_()
        torch.nn.functional.dropout(torch.ones(4000, device=device), 0.3)

    assert not kinds(compared(program))
    with Injected("rand", plainly(lambda values: values**2)):
        assert kinds(compared(program)) == [("rand", "distribution")]
    with Injected("rand", altered(lambda fault, values: values.flip(0) if fault.acted % 2 == 0 else None)):
        assert ("rand", "not reproducible") in kinds(compared(program))


def test_the_generator_is_left_as_without_the_tool(device: str) -> None:
    def numbers() -> list[float]:
        torch.manual_seed(5)
        first = torch.rand(3, device=device)
        return [*first.tolist(), *torch.rand(3, device=device).tolist(), float(torch.rand(()))]

    expected = numbers()
    with Compare(repeat=True):
        assert numbers() == expected


def test_float64_of_the_cpu_decides_for_half_precision() -> None:
    """A sum in float16 that is rounded once is right although it differs from the CPU's."""
    exact = torch.linspace(1, 2, 1000, dtype=torch.float64)
    same = exact.half()
    device = torch.nextafter(same, torch.full_like(same, 9))
    rule = Rule("rounding", 1000, 0, 2.0)
    assert compare_results("0", device, same, exact, rule).kind == ""
    assert compare_results("0", device + 0.01, same, exact, rule).kind == "values"


def test_a_fault_of_small_elements_is_not_hidden_by_large_ones() -> None:
    exact = torch.cat([torch.linspace(1e-6, 2e-6, 100).double(), torch.tensor([12345.678], dtype=torch.float64)])
    same = exact.float()
    device = torch.cat([same[:100] * 1.001, same[100:]])
    rule = Rule("reduction", 101, 0, 12345.678)
    assert compare_results("0", device, same, exact, rule).kind == "most values"
    assert compare_results("0", same, same, exact, rule).kind == ""


def test_the_sensitivity_of_the_inputs_widens_the_bound_of_most_values() -> None:
    exact = torch.full((32,), 1e-4, dtype=torch.float64)
    same = exact.float()
    device = same + 3e-10
    rule = Rule("reduction", 32, 0, 1.0)
    assert compare_results("0", device, same, exact, rule).kind == "most values"
    assert compare_results("0", device, same, exact, rule, lambda: exact + 1e-10).kind == ""


@pytest.mark.parametrize(
    ("tolerance", "units"), [("exact", 0), ("rounding", 2), ("transcendental", 4), ("approximate", 128)]
)
def test_a_number_is_within_the_bound_of_its_class(tolerance: str, units: int) -> None:
    """Of 1.0 in float32: relative and scaled part, in units in the last place (docs/conformance.md)."""
    exact = torch.ones(1, dtype=torch.float64)
    eps = torch.finfo(torch.float32).eps
    rule = Rule(tolerance, 1, 0, 1.0)
    for off, kind in ((units, ""), (units + 1, "values")):
        device = torch.ones(1) + off * eps
        assert compare_results("0", device, torch.ones(1), exact, rule).kind == kind
        twice = torch.ones(1) + 2 * off * eps  # without an exact result both may be off
        assert compare_results("0", twice, torch.ones(1), None, rule).kind == kind


def test_terms_of_a_product_follow_from_the_sizes_of_its_operands() -> None:
    operands = [torch.ones(4, 100), torch.full((100, 6), 3.0)]
    rule = Rule.of("mm", operands)
    assert (rule.tolerance, rule.first, rule.second, rule.largest) == ("matmul", 600, 400, 3.0)
    relative, fixed = rule.limits(torch.float32, 300.0, 24)
    eps = torch.finfo(torch.float32).eps
    assert relative == eps and fixed == pytest.approx((8 + 2 * math.sqrt(100)) * eps * 300, rel=1e-6)


def test_an_output_that_is_passed_does_not_widen_the_bound(device: str) -> None:
    x, y = torch.ones(4, 4, device=device), torch.ones(4, 4, device=device)
    out = torch.full((4, 4), 1e30, device=device)
    with Injected("mm.out", plainly(lambda values: values + 0.01)):
        assert kinds(compared(lambda: torch.mm(x, y, out=out))) == [("mm.out", "values")]


def test_classes_of_overloads() -> None:
    names = ("add.Tensor", "add_.Tensor", "gelu", "gelu_", "_softmax", "convolution", "silu", "torchvision::nms")
    assert [class_of(name) for name in names] == [
        *("rounding", "rounding", "transcendental", "transcendental", "reduction", "convolution", "transcendental"),
        UNKNOWN,
    ]
    assert set(table()["overloads"].values()) <= set(table()["bounds"])


def test_distributions_of_equal_samples_agree() -> None:
    one, other = torch.rand(5000), torch.rand(5000)
    distance, bound = kolmogorov(one, other)
    assert distance < bound
    distance, bound = kolmogorov(one, other * 0.8)
    assert distance > bound


def test_local_and_accumulated_errors_are_apart(device: str) -> None:
    with Injected("gelu", scaled(1.01), phases="forward"):
        tool = compared(lambda: MODELS["perceptron"](device, 1), accumulated=True)
    totals = tool.report.totals
    assert totals["gelu"].wrong and totals["gelu"].accumulated > 5e-3
    # What follows is right by itself, and far from the exact program.
    assert totals["_log_softmax"].wrong == 0 and totals["_log_softmax"].worst < 1
    assert totals["_log_softmax"].accumulated > 1e-4
    clean = compared(lambda: MODELS["perceptron"](device, 2), accumulated=True).report.totals
    assert clean["_log_softmax"].accumulated < 1e-5


def test_views_and_uninitialised_memory_are_left_out(device: str) -> None:
    x = torch.ones(4, 4).to(device)
    tool = compared(lambda: (x.t(), x.view(16), torch.empty(5, device=device), x.detach(), torch.empty_like(x)))
    assert tool.report.totals == {}


def test_a_wrong_call_is_captured_and_runs_again(tmp_path: Path, device: str) -> None:
    x = torch.randn(8, 8).to(device)
    with Injected("mm", scaled(1.01)):
        tool = compared(lambda: x.t() @ x, folder=tmp_path / "a")
    (finding,) = tool.report.findings
    assert Path(finding.case).name.endswith("_mm")
    (outcome,) = replay(finding.case)
    assert outcome.state == "right" and not outcome.same  # without the fault
    with Injected("mm", scaled(1.01)):
        (outcome,) = replay(finding.case)
    report = json.loads((tmp_path / "a/compare.json").read_text())
    assert report["findings"][0]["op"] == "mm" and report["totals"]["mm"]["wrong"] == 1


def test_sparse_tensors_are_skipped_with_a_count() -> None:
    x = torch.eye(4).to_sparse()
    tool = compared(lambda: torch.sparse.mm(x, torch.ones(4, 2)))
    assert any("sparse" in reason for reason in tool.skipped), tool.skipped


PROGRAM = """
import os, torch
device = os.environ["OPTOOLS_TEST_DEVICE"]
torch.manual_seed(0)
layer = torch.nn.Linear(8, 3).to(device)
layer(torch.randn(4, 8).to(device)).square().mean().backward()
"""
WRONG = (
    PROGRAM
    + """
from faults import Injected, scaled
Injected("mean", scaled(1.01), phases="forward").start()
layer(torch.randn(4, 8).to(device)).square().mean().backward()
"""
)


@pytest.mark.parametrize(("text", "code"), first([(WRONG, 1), (PROGRAM, 0)]), ids=["wrong", "right"])
def test_the_command_names_the_first_wrong_operator(
    text: str, code: int, tmp_path: Path, optools: Callable[..., Any]
) -> None:
    (tmp_path / "train.py").write_text(text)
    done = optools("compare", "--accumulated", "train.py", code=code)
    assert "addmm" in done.stdout and "error / bound" in done.stdout
    if code:
        assert "the first wrong operator is\nmean is wrong (step 0, forward, torch.Tensor.mean)" in done.stdout
    else:
        assert "no operator is wrong" in done.stdout


NOTHING: dict[str, tuple[list[str], int, str]] = {
    "operator": (["--ops", "nosuch"], 2, "no operator or function matches 'nosuch'"),
    "near": (["--ops", "mm,adddmm"], 2, "no operator or function matches 'adddmm'; did you mean 'addmm'?"),
    "exclude": (["--exclude", "nosuch"], 2, "no operator or function matches 'nosuch'"),
    "expression": (["--ops", "(ad|x)dmm_of.*"], 2, "no operator or function matches '(ad|x)dmm_of.*'"),
    "phase": (["--phases", "sideways"], 2, "no phase matches 'sideways'"),
    "near phase": (["--phases", "forward,backwards"], 2, "no phase matches 'backwards'; did you mean 'backward'?"),
    "not called": (["--ops", "gelu"], 1, "no call of the program is selected"),
    "module": (["--modules", "Nowhere"], 1, "no call of the program is selected"),
    "views": (["--ops", "t"], 1, "no call was compared"),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_a_comparison_of_nothing_is_no_success(kind: str, tmp_path: Path, optools: Callable[..., Any]) -> None:
    words, code, text = NOTHING[kind]
    (tmp_path / "train.py").write_text(PROGRAM)
    done = optools("compare", *words, "train.py", code=code)
    assert text in done.stdout + done.stderr and "no operator is wrong" not in done.stdout


def test_names_that_are_not_called_are_no_error(tmp_path: Path, optools: Callable[..., Any]) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = optools("compare", "--ops", "addmm,gelu,torch.nn.functional.silu,mul.Tensor", "train.py")
    assert "no operator is wrong" in done.stdout


def test_other_tools_and_the_variable_name_what_nothing_matches(
    tmp_path: Path, optools: Callable[..., Any], python: Callable[..., Any]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    for tool in ("capture", "overflow", "time", "fallback"):
        assert "matches 'nosuch'" in optools(tool, "--ops", "nosuch", "train.py", code=2).stderr
    assert "matches 'nosuch'" in optools("checksums", "--changed", "nosuch", "train.py", code=2).stderr
    start = "from optools.environment import autoload; autoload(); exec(open('train.py').read())"
    done = python("-c", start, OPTOOLS="compare --ops nosuch")
    assert "matches 'nosuch'" in done.stderr and "no operator is wrong" not in done.stdout
    optools("capture", "--folder", "kept", "train.py")
    for tool in ("list", "replay"):
        assert "'adddmm'; did you mean 'addmm'?" in optools(tool, "--ops", "adddmm", "kept", code=2).stderr
    assert "no call was compared" in optools("replay", "--ops", "t", "kept", code=1).stdout


@pytest.mark.slow
def test_captures_are_compared_offline(tmp_path: Path, optools: Callable[..., Any]) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    optools("capture", "--folder", "kept", "train.py")
    done = optools("compare", "--device", "cpu", "kept")
    assert " right, 0 wrong, 0 failed" in done.stdout


@pytest.mark.parametrize(
    ("op", "call", "right", "wrong"),
    [
        ("topk", lambda x: x.topk(2), [3, 1], [2, 1]),
        ("topk", lambda x: x.topk(k=2, dim=0), [3, 1], [2, 1]),
        ("kthvalue", lambda x: x.kthvalue(2), 3, 2),
        ("sort", lambda x: x.sort(0), [2, 3, 1, 0], [0, 3, 1, 2]),
        ("sort.stable", lambda x: x.sort(dim=0, stable=False), [2, 3, 1, 0], [0, 3, 1, 2]),
        ("cummax", lambda x: x.cummax(0), [0, 0, 0, 0], [0, 2, 0, 3]),
        ("argmax", lambda x: x.argmax(0), 3, 2),
    ],
)
def test_positions_of_equal_values_are_right(device: str, op: str, call: Any, right: Any, wrong: Any) -> None:
    """Positions among 3, 3, 1, 3 that the CPU does not give: those of the same values, and others."""
    x = torch.tensor([3.0, 3.0, 1.0, 3.0]).to(device)

    def provided(positions: Any) -> Callable[[Injected, Call, Proceed], Any]:
        def change(_: Injected, created: Call, proceed: Proceed) -> Any:
            out = proceed(created)
            with quiet():
                overwrite(out[-1] if isinstance(out, tuple) else out, torch.tensor(positions))
            return out

        return change

    with Injected(op, provided(right)):
        assert kinds(compared(lambda: call(x))) == []
    with Injected(op, provided(wrong)):
        assert kinds(compared(lambda: call(x))) == [(op, "values")]
