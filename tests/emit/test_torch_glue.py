"""The glue for PyTorch: what is emitted for the miniature spec, and what is refused with which words."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from diopigen import api
from diopigen.diagnostics import Failure, Sink
from diopigen.emit.torch import glue as torch
from diopigen.emit.torch.arguments import dtype_set
from diopigen.emit.torch.forms import Family, Forms, default_name, derived_text, families
from diopigen.emit.torch.reasons import HOLDS
from diopigen.emit.torch.ruled import ruled_kernel
from diopigen.emit.torch.schema import cpp_type, operator_class, operator_header, schema_of, signature
from diopigen.emit.torch.structured import structured_kernel
from diopigen.findings.render import render
from diopigen.ir.aten import parse_schema
from diopigen.ir.load import load_interface
from diopigen.ir.model import DtypeList, Interface
from diopigen.spec.grammar_torch import TORCH_REASONS

ROOT = Path(__file__).parents[2]
MINIATURE = ROOT / "tests/data/miniature"
RUN = """\
  - name: Run
    doc: Running sum along one dimension.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The sums.}
      - {name: input, type: tensor, direction: in, dtype: floating, shape: any, doc: The summands.}
      - {name: dim, type: int64, dim_of: input, doc: The dimension.}
    cases:
      - {input: [2, 3], dim: 1}
    aten: [_run, _run.out]
    tolerance: reduction
"""


def _interface(folder: Path) -> Interface:
    sink = Sink()
    loaded = load_interface(folder, sink, "specs")
    assert sink.sorted() == []
    return loaded.interface


def _rejected(folder: Path, text: str) -> str:
    shutil.copytree(MINIATURE, folder)
    (folder / "torch.yaml").write_text(text)
    with pytest.raises(Failure) as caught:
        torch.emit(_interface(folder), ROOT / "templates")
    return render(caught.value.diagnostics, "text")


def test_a_kernel_of_a_structured_operator_reads_so() -> None:
    interface = _interface(MINIATURE)
    group = interface.aten.structured[0]
    function = interface.function("diopiBlend")
    assert function is not None
    assert (
        structured_kernel(interface, group, function, {}).text == (ROOT / "tests/emit/expected/blend.cpp").read_text()
    )


def test_types_of_arguments_are_those_of_kernels() -> None:
    schema = parse_schema(
        "f.x(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, Scalar e, Scalar? f, int g, SymInt[2] h, int[1]? i, float j,"
        " bool[3] k, str? l, ScalarType? m, Generator? n, Tensor(a!) o, Scalar[] p, float[]? q) -> (Tensor, Tensor)"
    )
    assert [cpp_type(argument) for argument in schema.arguments] == [
        "const at::Tensor&",
        "const std::optional<at::Tensor>&",
        "at::TensorList",
        "const c10::List<std::optional<at::Tensor>>&",
        "const at::Scalar&",
        "const std::optional<at::Scalar>&",
        "int64_t",
        "at::IntArrayRef",
        "at::OptionalIntArrayRef",
        "double",
        "std::array<bool, 3>",
        "std::optional<std::string_view>",
        "std::optional<at::ScalarType>",
        "std::optional<at::Generator>",
        "at::Tensor&",
        "at::ArrayRef<at::Scalar>",
        "std::optional<at::ArrayRef<double>>",
    ]
    assert signature(schema).result == "std::tuple<at::Tensor, at::Tensor>"


@pytest.mark.parametrize(
    ("overload", "name", "header"),
    [
        ("add.out", "at::_ops::add_out", "ATen/ops/add_ops.h"),
        ("add_.Tensor", "at::_ops::add__Tensor", "ATen/ops/add_ops.h"),
        ("__iand__.Scalar", "at::_ops::__iand___Scalar", "ATen/ops/and_ops.h"),
        ("_softmax", "at::_ops::_softmax", "ATen/ops/_softmax_ops.h"),
    ],
)
def test_classes_and_headers_of_overloads(overload: str, name: str, header: str) -> None:
    assert (operator_class(overload), operator_header(overload)) == (name, header)


def test_sets_of_dtypes_are_constants() -> None:
    span = _interface(MINIATURE).functions[0].span
    assert dtype_set(DtypeList(("number", "complex"), (), span)) == "kNumber | kComplex"
    assert dtype_set(DtypeList(("any",), (), span)) == ""


def test_names_of_torch_yaml_are_checked(tmp_path: Path) -> None:
    text = """\
handwritten:
  - {overload: wive, calls: [Wave], why: no-meta}
  - {overload: wave, calls: [Wawe], why: no-meta}
left_out:
  - {overload: wave, why: twice}
  - {overload: blend.out, why: it would be served}
"""
    assert _rejected(tmp_path / "specs", text) == (ROOT / "tests/emit/expected/torch-unknown.txt").read_text()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{overload: wave, calls: [Wave], why: composition}", "reasons that hold: 'no-meta'"),
        ("{overload: wave, calls: [], why: no-meta}", "say in calls which functions it calls"),
        ("{overload: wave, function: wave, calls: [Wave], why: no-meta}", "leave 'function' out"),
        ("{overload: wave, also: [blend.out], calls: [Wave], why: no-meta}", "give it an entry of its own"),
    ],
)
def test_what_an_entry_says_must_hold(tmp_path: Path, entry: str, said: str) -> None:
    text = _rejected(tmp_path / "specs", f"handwritten:\n  - {entry}\n")
    assert said in text
    assert text.startswith("specs/torch.yaml:2:")


def test_a_reason_that_the_grammar_does_not_know_is_rejected(tmp_path: Path) -> None:
    shutil.copytree(MINIATURE, tmp_path / "specs")
    (tmp_path / "specs/torch.yaml").write_text("handwritten:\n  - {overload: wave, calls: [Wave], why: tedious}\n")
    sink = Sink()
    load_interface(tmp_path / "specs", sink, "specs")
    (found,) = sink.sorted()
    assert found.span is not None
    assert (found.span.file, found.span.line, found.span.column) == ("specs/torch.yaml", 2, 42)
    assert "tedious" in found.message


@pytest.mark.parametrize("reason", TORCH_REASONS)
def test_every_reason_has_a_test_of_its_truth(reason: str) -> None:
    assert reason in HOLDS


def _forms(*schemas: str) -> Forms:
    own, *others = map(parse_schema, schemas)
    return Forms(own, "kernels::bend", tuple(others))


def test_forms_of_a_kernel_that_writes_to_provided_tensors() -> None:
    forms = _forms(
        "bend.out(Tensor self, Scalar by=1, *, Tensor(a!) out, Tensor(b!) rest) -> (Tensor(a!), Tensor(b!))",
        "bend(Tensor self, Scalar by=1) -> (Tensor, Tensor)",
    )
    assert (
        derived_text(forms, forms.derived[0])
        == """\
std::tuple<at::Tensor, at::Tensor> bend(const at::Tensor& self, const at::Scalar& by) {
    at::Tensor out;
    at::Tensor rest;
    kernels::bend(self, by, out, rest);
    return {std::move(out), std::move(rest)};
}"""
    )
    forms = _forms("bend.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "bend_(Tensor(a!) self) -> Tensor(a!)")
    assert (
        derived_text(forms, forms.derived[0])
        == """\
at::Tensor& bend_(at::Tensor& self) {
    kernels::bend(self, self);
    return self;
}"""
    )


def test_forms_of_a_kernel_that_makes_its_results() -> None:
    forms = _forms(
        "bend(Tensor self) -> Tensor",
        "bend.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "bend_(Tensor(a!) self) -> Tensor(a!)",
    )
    assert [derived_text(forms, other) for other in forms.derived] == [
        "at::Tensor& bend_out(const at::Tensor& self, at::Tensor& out) { return give(out, kernels::bend(self)); }",
        "at::Tensor& bend_(at::Tensor& self) { return give_inplace(self, kernels::bend(self)); }",
    ]


@pytest.fixture(scope="module")
def known() -> Mapping[str, Family]:
    return families(api.load(api.workspace(), Sink(), check=False).interface)


@pytest.mark.parametrize(
    ("overload", "name"),
    [
        ("take", "take"),
        ("upsample_nearest1d.out", "upsample_nearest1d"),
        ("nll_loss2d_forward.output", "nll_loss2d_forward"),
        ("_native_batch_norm_legit.no_stats", "native_batch_norm_legit_no_stats"),
        ("__lshift__.Tensor", "lshift_tensor"),
        ("random_.from", "random_inplace_from"),
        ("adaptive_avg_pool3d_backward.grad_input", "adaptive_avg_pool3d_backward_grad_input"),
    ],
)
def test_names_follow_from_overloads(known: Mapping[str, Family], overload: str, name: str) -> None:
    assert default_name(overload, known[overload]) == name


def test_forms_of_an_operator_are_found() -> None:
    interface = api.load(api.workspace(), Sink(), check=False).interface
    known = families(interface)
    assert known["floor_divide_.Tensor"] == Family("floor_divide", "floor_divide_.Tensor", "floor_divide.out")
    assert known["__ilshift__.Scalar"].functional == "__lshift__.Scalar"
    assert known["batch_norm_stats"].inplace is None
    assert known["_native_batch_norm_legit"].functional == "_native_batch_norm_legit"  # writes its running statistics


def with_run(tmp_path: Path, operator: str) -> Interface:
    """The miniature spec with an operator that ATen calls `_run`."""
    shutil.copytree(MINIATURE, tmp_path / "specs")
    with (tmp_path / "specs/ops/arithmetic.yaml").open("a") as file:
        file.write(operator)
    (schemas,) = (tmp_path / "specs/aten").glob("*.yaml")
    text = schemas.read_text().replace("needed:\n", "needed:\n  - _run\n  - _run.out\n")
    schemas.write_text(
        text
        + "  - _run(Tensor self, int dim) -> Tensor\n"
        + "  - _run.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)\n"
    )
    return _interface(tmp_path / "specs")


def test_of_legal_dtypes_a_result_has_that_of_devices(tmp_path: Path) -> None:
    """PyTorch's devices keep statistics of halves in float32, where the interface leaves the choice."""
    rule = "'one_of(input, opmath(input))'"
    interface = with_run(tmp_path, RUN.replace("direction: out, dtype: same(input)", f"direction: out, dtype: {rule}"))
    text = ruled_kernel(interface, families(interface)["_run"], frozenset()).text
    assert "make_or_shape(out, self.sizes(), self.options().dtype(at::toOpMathType(self.scalar_type())));" in text


def test_an_operator_without_a_meta_function_gets_its_shape_from_the_spec(tmp_path: Path) -> None:
    """The dimension is checked by PyTorch, the dtype that the function takes by the kernel."""
    interface = with_run(tmp_path, RUN)
    kernel = ruled_kernel(interface, families(interface)["_run"], frozenset())
    assert kernel.overloads == (("_run", "_run"), ("_run.out", "_run_out"))
    assert kernel.text == (ROOT / "tests/emit/expected/run.cpp").read_text().rstrip("\n")


GROW = """\
  - name: Grow
    doc: An image at another size.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: 'adaptive_pool(input, size)',
         doc: The image.}
      - {name: input, type: tensor, direction: in, dtype: floating, shape: any, doc: The image before.}
      - {name: size, type: sizes, doc: Its size.}
      - {name: align_corners, type: bool, default: false, doc: Whether corners meet.}
      - {name: mode, type: string, default: linear, values: [linear, cubic], doc: How.}
      - {name: value, type: double, nullable: true, default: 1.5, doc: What is around.}
    cases:
      - {input: [1, 1, 2, 2], size: [4, 4]}
    aten: [{overload: grow.out, bind: {mode: cubic, value: null}}]
    tolerance: reduction
"""


def test_what_an_overload_fixes_and_scales_that_repeat_sizes(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    shutil.copytree(MINIATURE, specs)
    operators = specs / "ops/arithmetic.yaml"
    operators.write_text(operators.read_text() + GROW)
    schema = "Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None"
    for aten in (specs / "aten").glob("*.yaml"):
        text = aten.read_text().replace("needed:\n", "  - {meta: grow, out: grow.out, functional: grow}\nneeded:\n")
        text += f"  - grow({schema}) -> Tensor\n  - grow.out({schema}, *, Tensor(a!) out) -> Tensor(a!)\n"
        aten.write_text(text)
    interface = _interface(specs)
    group, function = interface.aten.structured[-1], interface.function("diopiGrow")
    assert function is not None
    text = structured_kernel(interface, group, function, {}).text
    assert text == (ROOT / "tests/emit/expected/grow.cpp").read_text().rstrip("\n")


def test_every_reason_of_the_miniature_holds() -> None:
    plan = torch.emit(_interface(MINIATURE), ROOT / "templates")
    assert {file.path for file in plan.files} == {
        "torch/structured.cpp",
        "torch/structured_elementwise.cpp",
        "torch/ruled.cpp",
        "torch/handwritten.cpp",
        "torch/compiled.cpp",
        "torch/kernels.h",
        "torch/custom.cpp",
        "torch/scalar_types.h",
    }


def test_an_overload_that_nothing_serves_is_named(tmp_path: Path) -> None:
    text = "handwritten:\n  - {overload: pick, calls: [Pick], why: allocated}\n"
    said = _rejected(tmp_path / "specs", text)
    assert said == (ROOT / "tests/emit/expected/torch-unserved.txt").read_text()


def test_every_schema_of_the_release_has_a_signature() -> None:
    """All that a kernel could be asked for: no type of the snapshot is unknown."""
    interface = api.load(api.workspace(), Sink(), check=False).interface
    for overload in interface.aten.schemas:
        schema = schema_of(interface, overload)
        assert schema is not None
        signature(schema)


def _in_two_releases(folder: Path, changed: dict[str, tuple[str, str]]) -> Path:
    """The miniature, of which torch 0.2 lacks schemas or has others: by overload, those of 0.1 and of 0.2."""
    shutil.copytree(MINIATURE, folder)
    common = (folder / "aten/miniature.yaml").read_text().replace("torch: '0.1'\n", "")
    own = ["torch: '0.1'\nschemas:\n", "torch: '0.2'\nschemas:\n"]
    for overload, schemas in changed.items():
        line = next(line for line in common.splitlines() if line.startswith(f"  - {overload}("))
        common = common.replace(f"{line}\n", "")
        for index, schema in enumerate(schemas):
            own[index] += f"  - {overload}{schema}\n" if schema else ""
    (folder / "aten/miniature.yaml").write_text(common)
    for name, text in zip(("old", "new"), own, strict=True):
        (folder / f"aten/{name}.yaml").write_text(text if "  - " in text else text.replace(":\n", ": []\n"))
    return folder


def _emitted(spec: Path) -> dict[str, str]:
    return {file.path: file.content.decode() for file in torch.emit(_interface(spec), ROOT / "templates").files}


def test_a_handwritten_kernel_is_registered_where_its_overload_is(tmp_path: Path) -> None:
    spec = _in_two_releases(tmp_path / "spec", {"tilt": ("(Tensor self) -> Tensor", "")})
    text = _emitted(spec)["torch/handwritten.cpp"]
    guarded = [block.partition("#endif")[0] for block in text.split("#if !DIOPIGEN_TORCH_SINCE(0, 2)\n")[1:]]
    assert [line.strip() for block in guarded for line in block.splitlines()] == [
        "#include <ATen/ops/tilt_ops.h>",
        "implement<at::_ops::tilt, &kernels::tilted>(library);",
    ]
    assert text.count("#endif") == len(guarded)


def test_a_renamed_argument_is_that_of_the_last_release(tmp_path: Path) -> None:
    spec = _in_two_releases(tmp_path / "spec", {"tilt": ("(Tensor old) -> Tensor", "(Tensor self) -> Tensor")})
    texts = _emitted(spec)
    assert not any("DIOPIGEN_TORCH_SINCE" in text for text in texts.values())
    assert "at::Tensor tilted(const at::Tensor& self);" in texts["torch/kernels.h"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"tilt": ("(Tensor self) -> Tensor", "(Tensor self, int by) -> Tensor")},
            "'tilt' has other C++ types in some releases of torch 0.1 to 0.2",
        ),
        (
            {"shift": ("(Tensor self, int by) -> Tensor", "")},
            "'shift.out' is a structured operator in some releases alone of torch 0.1 to 0.2",
        ),
    ],
)
def test_releases_must_agree_on_what_is_generated(
    tmp_path: Path, changed: dict[str, tuple[str, str]], message: str
) -> None:
    spec = _in_two_releases(tmp_path / "spec", changed)
    with pytest.raises(Failure, match=re.escape(message)):
        torch.emit(_interface(spec), ROOT / "templates")


@pytest.mark.parametrize(
    ("rules", "called"),
    [
        (("real", "real"), "op.infer(Alike::kReal, self, by);"),
        (("real", "floating"), "op.infer(Alike::kFloating, self, by);"),
        (("real", "compared"), "op.meta(self, by);"),
        (("real", ""), "op.meta(self, by);"),
    ],
)
def test_a_meta_function_is_left_out_by_the_rule_of_all_releases(
    tmp_path: Path, rules: tuple[str, str], called: str
) -> None:
    spec = _in_two_releases(tmp_path / "spec", {})
    common = (spec / "aten/miniature.yaml").read_text()
    group = next(line for line in common.splitlines(keepends=True) if line.startswith("  - {meta: shift,"))
    (spec / "aten/miniature.yaml").write_text(common.replace(group, ""))
    for name, rule in zip(("old", "new"), rules, strict=True):
        text = (spec / f"aten/{name}.yaml").read_text()
        line = group.replace("}", f", alike: {rule}}}") if rule else group
        (spec / f"aten/{name}.yaml").write_text(f"{text}structured:\n{line}")
    lines = {line.strip() for text in _emitted(spec).values() for line in text.splitlines()}
    assert {line for line in lines if line.endswith("self, by);") and line.startswith("op.")} == {called}
