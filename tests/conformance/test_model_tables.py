"""Model tables: what is checked in is true to the models, and what fits no function is named with its place."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen import api
from diopigen.cli import cli
from diopigen.conformance.cases.models import SMALL, check_models, elements, model_cases
from diopigen.conformance.cases.suite import find, select
from diopigen.conformance.model import Operand
from diopigen.diagnostics import Failure, Sink
from diopigen.ir.load import load_interface
from diopigen.ir.model import Interface
from diopigen.ir.models import Model, load_models

ROOT = Path(__file__).resolve().parents[2]
MINIATURE = ROOT / "tests" / "data" / "miniature"


@pytest.fixture(scope="module")
def tables() -> dict[str, Model]:
    sink = Sink()
    found = api.models(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), sink)
    assert sink.sorted() == []
    return dict(found)


PARTS = frozenset({"carafe", "point_heads", "region_heads", "rotated_heads", "served_7b"})
"""Tables of a part of a network, or of one whose layers are single calls."""
STEPS = frozenset({"vllm_deepseek_v3", "vllm_gemma2", "vllm_llama8b", "vllm_qwen3_moe"})
"""Tables of a step of decoding, whose layers are alike."""


def test_every_call_is_one_of_the_interface(interface: Interface, tables: dict[str, Model]) -> None:
    sink = Sink()
    check_models(interface, tuple(tables.values()), sink)
    assert [f"{found.span}: {found.message}" for found in sink.sorted()] == []
    for model in tables.values():
        least = 14 if model.name in STEPS else 20 if model.name in PARTS else 100
        assert len(model_cases(interface, model)) == len(model.calls) >= least


def test_reduced_dimensions_may_be_retained_whatever_the_operand_is_called(
    interface: Interface, tmp_path: Path
) -> None:
    """The operand of Amax is 'self', that of Mean 'input'."""
    call = (
        "  - {phase: p, function: %s, dtype: float32, count: 1, aten: x, arguments: {out: %s, %s: [2, 3], dim: [1]}}\n"
    )
    calls = [call % one for one in (("Amax", [2, 1], "self"), ("Mean", [2, 1], "input"), ("Amax", [1, 2], "self"))]
    (tmp_path / "models").mkdir()
    text = "model: m\ndoc: One.\ntorch: '2'\ncalls:\n" + "".join(calls) + "unmapped: []\nviews: []\nallocations: []\n"
    (tmp_path / "models/m.yaml").write_text(text)
    sink = Sink()
    check_models(interface, load_models(tmp_path, sink, "specs"), sink)
    assert [(found.code, found.span.line if found.span else 0) for found in sink.sorted()] == [("model-shape", 7)]


def test_the_models_and_their_phases(tables: dict[str, Model]) -> None:
    training = ("forward", "backward", "optimizer")
    points = ("votenet", "ssd_3d", "paconv", "pv_rcnn", "point_rcnn", "part_a2", "mvxnet")
    regions = ("deformable", "deformable_pooling", "fast_rcnn", "borderdet", "guided_anchoring", "prdimp")
    rotated = ("oriented_rcnn", "redet", "s2anet", "r3det", "oriented_reppoints", "quadrilaterals", "rotated_fcos")
    assert {name: model.phases() for name, model in tables.items()} == {
        "bert_base": training,
        "bevformer": ("detection", "forward", "backward"),
        "carafe": ("forward", "backward", "naive"),
        "faster_rcnn": ("detection", "forward", "backward"),
        "llama7b": ("prefill", "decode", *training),
        "mobilenetv2": training,
        "point_heads": points,
        "pointpillars": ("forward", "backward", "detection"),
        "region_heads": (*regions, "psanet", "flownetc", "tin"),
        "resnet50": training,
        "retinanet_rotated": ("detection", "forward", "backward"),
        "rotated_heads": rotated,
        "second": ("forward", "backward", "detection"),
        "served_7b": ("prefill", "decode", "sampling", "beam", "output"),
        "stylegan2": ("forward", "backward"),
        "swin_t": training,
        "unet": training,
        **dict.fromkeys(STEPS, ("decode",)),
        "vit_b16": training,
        "yolo": (*training, "detection"),
    }


def operands(interface: Interface, model: Model, function: str, phase: str) -> Iterator[tuple[int, dict[str, Operand]]]:
    """The count and the tensors of each call."""
    for call, case in zip(model.calls, model_cases(interface, model), strict=True):
        if (call.function, call.phase) == (f"diopi{function}", phase):
            yield call.count, {name: value for name, value in case.arguments.items() if isinstance(value, Operand)}


WEIGHTS = {
    "resnet50": ("MulInpScalar", 25_557_032),
    "mobilenetv2": ("MulInpScalar", 3_504_872),
    "vit_b16": ("LerpScalar", 86_567_656),
    "swin_t": ("LerpScalar", 28_288_354),
    "llama7b": ("LerpScalar", 6_738_415_616),
    "bert_base": ("LerpScalar", 109_514_298),
}
"""Trainable numbers as their publishers count them, and the function that an optimizer calls once for each tensor."""


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_optimizer_sees_every_weight_of_the_model(
    interface: Interface, tables: dict[str, Model], name: str
) -> None:
    function, weights = WEIGHTS[name]
    model, total = tables[name], 0
    for call, case in zip(model.calls, model_cases(interface, model), strict=True):
        if (call.function, call.phase) == (f"diopi{function}", "optimizer"):
            operand = case.arguments["input"]
            assert isinstance(operand, Operand)
            shape = operand.shape
            # Of what is reduced the reason gives the rows: "32000 rows in the model; ..."
            rows = (int(call.reduced.split()[0]),) if call.reduced else shape[:1]
            total += call.count * math.prod((*rows, *shape[1:]))
    assert total == weights


@pytest.mark.parametrize(("name", "weights"), [("vllm_llama8b", 8_030_261_248), ("vllm_gemma2", 9_241_705_984)])
def test_a_step_reads_every_matrix_of_the_model(
    interface: Interface, tables: dict[str, Model], name: str, weights: int
) -> None:
    """As their publishers count, less the norms, and the table of tokens where it is not that of the logits."""
    total = 0
    for function in ("Linear", "ResidualRMSNorm"):
        for count, found in operands(interface, tables[name], function, "decode"):
            total += count * math.prod(found["weight"].shape)
    assert total == weights - (128_256 * 4096 if name == "vllm_llama8b" else 0)


def test_only_what_is_marked_is_reduced(tables: dict[str, Model]) -> None:
    reduced = [
        (name, call.phase, call.function) for name, model in tables.items() for call in model.calls if call.reduced
    ]
    words = "MulInpScalar LerpScalar AddcmulInp Sqrt DivScalar DivInpScalar AddInpScalar AddcdivInp"
    elementwise = {f"diopi{word}" for word in words.split()}
    whole = [one for one in reduced if one[2] in elementwise]
    assert {(name, phase) for name, phase, _ in whole} == {("llama7b", "optimizer")}
    # what is left belongs to detection and serving, whose calls say which number was cut
    large = {(name, "decode", f"diopi{word}") for name in STEPS for word in ("Embedding", "FusedExperts", "Linear")}
    whole += large.intersection(reduced)
    ends = ("Mmcv", "AttentionInp")
    assert [one for one in reduced if one not in whole and not one[2].endswith(ends)] == []


def test_the_convolutions_of_resnet_are_those_of_the_paper(interface: Interface, tables: dict[str, Model]) -> None:
    """53 convolutions; with the last layer 4.09 billion multiplications an image, as torchvision counts them."""
    calls = list(operands(interface, tables["resnet50"], "Convolution2d", "forward"))
    assert sum(count for count, _ in calls) == 53
    products = sum(n * math.prod(found["out"].shape) * math.prod(found["weight"].shape[1:]) for n, found in calls)
    assert round((products / 2 + 2048 * 1000) / 1e9, 2) == 4.09
    assert sum(count for count, _ in operands(interface, tables["resnet50"], "Convolution2dBackward", "backward")) == 53


def test_functions_are_counted_by_phase(tables: dict[str, Model]) -> None:
    llama = tables["llama7b"].functions()
    products = 32 * 7 + 1
    assert llama["diopiMm"]["prefill"] == llama["diopiMm"]["decode"] == products
    assert llama["diopiMm"]["backward"] == 2 * products
    assert llama["diopiRMSNorm"] == {"prefill": 65, "decode": 65, "forward": 65}
    assert llama["diopiRMSNormBackward"] == {"backward": 65}
    assert tables["bert_base"].functions()["diopiLayerNorm"] == {"forward": 26}
    assert tables["unet"].functions()["diopiConvTranspose2d"] == {"forward": 4}
    assert tables["yolo"].functions()["diopiNms"] == {"detection": 1}


def test_what_no_function_serves_is_named(tables: dict[str, Model]) -> None:
    unmapped = {name: [(left.phase, left.aten) for left in model.unmapped] for name, model in tables.items()}
    assert {name: left for name, left in unmapped.items() if left} == {"bert_base": [("forward", "rsub.Scalar")]}


def test_the_calls_of_a_model_are_selected_by_its_name(interface: Interface, tables: dict[str, Model]) -> None:
    all_tables = tuple(tables.values())
    cases = select(interface, tables=all_tables, models=["resnet50"])
    assert len(cases) == len({case.id for case in cases}) == len(tables["resnet50"].calls)
    assert {case.axis for case in cases} == {"model"}
    norms = select(interface, ops=["BatchNorm"], tables=all_tables, models=["resnet50", "unet"])
    assert {case.id.rpartition("/")[2].partition("-")[0] for case in norms} == {"resnet50", "unet"}
    with pytest.raises(Failure, match="there is no model 'resnet5'"):
        select(interface, tables=all_tables, models=["resnet5"])


def test_only_small_calls_are_part_of_every_run(interface: Interface, tables: dict[str, Model]) -> None:
    cases = select(interface, ops=["LerpScalar"], axes=["model"], tables=tuple(tables.values()))
    assert cases and all(elements(case.arguments) <= SMALL for case in cases)
    assert max(elements(case.arguments) for case in model_cases(interface, tables["llama7b"])) > SMALL


def test_a_call_is_found_by_its_id(interface: Interface, tables: dict[str, Model]) -> None:
    case = find(interface, "diopiConvolution2d/float32/resnet50-1", tuple(tables.values()))
    weight = case.arguments["weight"]
    assert isinstance(weight, Operand) and weight.shape == (64, 3, 7, 7)
    assert case.about == "resnet50: forward, 1 times"


def test_the_commands_take_models() -> None:
    listed = CliRunner().invoke(cli, ["conformance", "list", "--model", "llama7b", "--format", "json"])
    assert listed.exit_code == 0
    assert {case["axis"] for case in json.loads(listed.output)} == {"model"}
    wrong = CliRunner().invoke(cli, ["conformance", "list", "--model", "lama7b"])
    assert "did you mean 'llama7b'?" in str(getattr(wrong.exception, "diagnostics", ""))


# ---- faults in tables -----------------------------------------------------------------------------------------------

GOOD = (
    "{phase: forward, function: Blend, dtype: float32, count: 1, aten: blend, arguments: {input: [2, 3], other: [3]}}"
)
FAULTS = {
    "no function": (
        GOOD.replace("Blend", "Blnd"),
        ["5:32: model-function: there is no function 'diopiBlnd'; did you mean 'diopiBlend'?"],
    ),
    "no parameter": (
        GOOD.replace("other:", "othr:"),
        ["5:105: bad-recipe: diopiBlend: 'othr' is not a parameter; did you mean 'other'?"],
    ),
    "no dtype of the function": (
        GOOD.replace("float32", "complex64"),
        ["5:46: model-dtype: diopiBlend takes no complex64; diopiBlend takes "],
    ),
    "shapes that do not go together": (
        GOOD.replace("other: [3]", "other: [4]"),
        ["5:89: model-arguments: diopiBlend: sizes [3, 4] do not broadcast; see `diopigen explain diopiBlend`"],
    ),
    "an output of another shape": (
        GOOD.replace("other: [3]", "other: [3], out: [3, 2]"),
        ["5:117: model-shape: diopiBlend: 'out' is [3, 2], the spec asks for [2, 3]; correct the shape"],
    ),
    "reduced without a reason": (
        GOOD.replace("arguments", "scale: reduced, arguments"),
        ["5:32: model-reduced: the call of diopiBlend is reduced without a reason; say in 'why'"],
    ),
    "an unknown key": (GOOD.replace("count", "number"), [
        "5:5: missing-key: an entry of 'calls' has no 'count'",
        "5:55: unknown-key: unknown key 'number' in an entry of 'calls'",
    ]),
    "a count of nothing": (GOOD.replace("count: 1", "count: 0"), ["5:62: out-of-range: 'count' must be at least 1"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_at_its_position(fault: str, tmp_path: Path) -> None:
    row, expected = FAULTS[fault]
    shutil.copytree(MINIATURE, tmp_path / "spec")
    head = "model: blender\ndoc: It blends.\ntorch: '2'\ncalls:\n"
    text = f"{head}  - {row}\nunmapped: []\nviews: []\nallocations: []\n"
    (tmp_path / "spec" / "models" / "blender.yaml").write_text(text)
    sink = Sink()
    interface = load_interface(tmp_path / "spec", sink, "specs").interface
    check_models(interface, load_models(tmp_path / "spec", sink, "specs"), sink)
    found = [
        f"{d.span}: {d.code}: {d.message}; {d.fix}".removeprefix("specs/models/blender.yaml:") for d in sink.sorted()
    ]
    assert [text[: len(start)] for text, start in zip(found, expected, strict=True)] == expected


def test_a_table_is_named_as_its_file(tmp_path: Path) -> None:
    shutil.copytree(MINIATURE, tmp_path / "spec")
    (tmp_path / "spec" / "models" / "blender.yaml").rename(tmp_path / "spec" / "models" / "mixer.yaml")
    sink = Sink()
    interface = load_interface(tmp_path / "spec", sink, "specs").interface
    check_models(interface, load_models(tmp_path / "spec", sink, "specs"), sink)
    (found,) = sink.sorted()
    assert (found.code, str(found.span)) == ("model-file-name", "specs/models/mixer.yaml:1:8")


@pytest.mark.slow
def test_the_command_check_reads_the_tables(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    table = tmp_path / "specs" / "models" / "unet.yaml"
    table.write_text(table.read_text().replace("function: Relu,", "function: Rely,", 1))
    done = CliRunner().invoke(cli, ["check", "--spec", str(tmp_path / "specs")])
    assert done.exit_code == 1
    assert "error[model-function]: there is no function 'diopiRely'" in done.stderr
