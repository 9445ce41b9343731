"""Coverage of a vendor's tree: states of functions, verdicts on models, suggestions, the forms of the report."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.config.model import Cast, FunctionRule, TensorRule
from diopigen.diagnostics import Span
from diopigen.header.cdecl import CFunction
from diopigen.header.vendor_file import VendorFunction
from diopigen.ir.model import Case, Interface
from diopigen.ir.models import Leftover, Model, ModelCall
from diopigen.vendor.bodies import skeletons
from diopigen.vendor.coverage import cover
from diopigen.vendor.coverage_text import as_text

ROOT = Path(__file__).resolve().parents[2]
HERE = Span("models/x.yaml")
CASTS = (Cast("int64", "int32", HERE),)


def model(name: str, calls: Mapping[str, int], unmapped: tuple[str, ...] = ()) -> Model:
    """A table with calls of one phase."""
    created = tuple(
        ModelCall("forward", function, "float32", "", count, Case({}, HERE), "", HERE, HERE, HERE)
        for function, count in calls.items()
    )
    return Model(name, name, "", "", created, tuple(Leftover("forward", aten, 1) for aten in unmapped), (), (), HERE)


def test_states_verdicts_and_suggestions(interface: Interface) -> None:
    rules = {
        "diopiMul": FunctionRule("diopiMul", (TensorRule("out", CASTS),)),
        "diopiSub": FunctionRule("diopiSub", (TensorRule("out"),)),
    }
    models = (
        model("native", {"diopiAdd": 3, "diopiMul": 1}),
        model("slow", {"diopiAdd": 1, "diopiDiv": 2, "diopiSoftmax": 1}, ("rsub.Scalar", "rsub.Scalar")),
        model("stuck", {"diopiOfTomorrow": 1, "diopiDiv": 1}),
    )
    implemented = ("diopiAdd", "diopiMul", "diopiSub", "diopiDiv")
    report = cover(interface, "test", implemented, {"diopiDiv"}, rules, models)

    states = {function.name: function.state for function in report.functions}
    assert states["diopiAdd"] == "native" and states["diopiSub"] == "native"
    assert states["diopiMul"] == "shim"
    assert states["diopiSoftmax"] == "fallback"
    assert states["diopiDiv"] == "fallback"  # a skeleton is no kernel
    assert states["diopiNmsMmcv"] == "fallback"
    assert "diopiGetTensorData" not in states and "diopiGetVendorName" not in states
    assert [report.count(state) for state in ("native", "shim")] == [2, 1]
    collectives = sum(function.is_collective for function in interface.functions)
    assert report.count("missing") == collectives > 0  # the reference library has every operator, and no collective
    assert sum(sum(counts.values()) for counts in report.families().values()) == len(report.functions)
    assert len(report.functions) == 565 + collectives
    assert [f.name for f in report.functions if f.skeleton] == ["diopiDiv"]

    native, slow, stuck = report.models
    assert native.verdict == "runs on the device" and dict(native.calls) == {"native": 3, "shim": 1}
    assert slow.verdict == "runs, in part on the host" and slow.slowed == ("diopiDiv", "diopiSoftmax")
    assert slow.unmapped == ("rsub.Scalar",)
    assert stuck.verdict == "blocked" and stuck.blocked == ("diopiOfTomorrow",)

    # Shares: Div 2/4 and 1/2, OfTomorrow 1/2, Softmax 1/4, over three models.
    found = [(s.function, s.state, s.models, round(s.fraction * 12)) for s in report.suggestions]
    assert found == [
        ("diopiDiv", "fallback", ("slow", "stuck"), 4),
        ("diopiOfTomorrow", "missing", ("stuck",), 2),
        ("diopiSoftmax", "fallback", ("slow",), 1),
    ]
    text = as_text(report)
    assert "\nstuck is blocked by diopiOfTomorrow\n" in text
    assert "\nslow has no function for rsub.Scalar\n" in text
    lines = text.split("\n")
    assert all(len(line) == len(line.rstrip()) for line in lines)


BODIES = """
// diopiA(
extern "C" diopiError_t diopiA(int a) {  // a brace in a remark: }
    return impl::x::notImplemented(__func__, a);
}
diopiError_t diopiB(int a) {
    /* nothing yet */
    return diopiNoImplement;
}
diopiError_t diopiC(int a) {
    if (a > 0) { return diopiNoImplement; }
    return diopiSuccess;
}
diopiError_t diopiD(int a) { return notImplemented("diopiD", a); }
diopiError_t diopiE(int a) { return diopiNoImplement; } diopiError_t diopiF(int) { launch(); return diopiNoImplement; }
"""


def test_a_skeleton_does_nothing_but_reject(tmp_path: Path) -> None:
    path = tmp_path / "kernels.cpp"
    path.write_text(BODIES)
    lines_of = {"A": 3, "B": 6, "C": 10, "D": 14, "E": 15, "F": 15}
    functions = [
        VendorFunction(
            CFunction(f"diopi{name}", "diopiError_t", (), False, False, Span(str(path), line)), "", True, True
        )
        for name, line in lines_of.items()
    ]
    assert skeletons(functions) == {"diopiA", "diopiB", "diopiD", "diopiE"}


def tree(folder: Path) -> Path:
    functions = folder / "impl/test/functions"
    functions.mkdir(parents=True)
    (functions / "neg.cpp").write_text(
        "#include <diopi/functions.h>\nnamespace impl { namespace test {\n"
        "diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n"
        "    return diopiSuccess;\n}\n"
        "diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n"
        "    return diopiNoImplement;\n}\n}}\n"
    )
    return functions.parent


def test_command_line(tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "data.json"
    arguments = ["coverage", str(tree(tmp_path)), "--model", "resnet50", "--html", str(page), "--json", str(data)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert re.search(r": 1 of \d{3} functions have a kernel\n$", done.output)
    assert "resnet50 runs on the host: diopiConvolution2d," in done.output
    assert "bert_base" not in done.output
    report = json.loads(data.read_text())
    assert report["counts"] == {"native": 1, "shim": 0, "fallback": 564, "missing": 14}
    assert [function["name"] for function in report["functions"] if function["skeleton"]] == ["diopiExp"]
    text = page.read_text()
    assert "<title>Coverage of test</title>" in text and "src=" not in text and 'href="http' not in text


def test_unknown_model_and_folder(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["coverage", str(tree(tmp_path)), "--model", "resnet5"])
    assert done.exit_code == 2 and "there is no model 'resnet5'; did you mean 'resnet50'?" in done.output
    done = CliRunner().invoke(cli, ["coverage", str(tmp_path / "nowhere")])
    assert done.exit_code == 2 and "error[vendor-unreadable]" in done.output
