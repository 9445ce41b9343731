"""Resolution of a configuration: the innermost level wins, key by key."""

from __future__ import annotations

import pytest
from config_helpers import casts, function_rule, run, table, tensor_rule

from diopigen.config.grammar import TENSOR_TYPES
from diopigen.diagnostics import Span
from diopigen.ir.model import Interface


def test_every_operator_with_tensors_is_in_the_table_in_order(interface: Interface) -> None:
    expected = [
        (function.name, [param.name for param in function.params if param.type in TENSOR_TYPES])
        for function in interface.functions
        if function.family != "runtime" and any(param.type in TENSOR_TYPES for param in function.params)
    ]
    resolved = table("", interface)
    assert [(rule.function, [tensor.param for tensor in rule.tensors]) for rule in resolved.functions] == expected
    assert len(expected) > 500
    assert not any(rule.converts for rule in resolved.functions)


@pytest.mark.parametrize("text", ["", "# nothing\n", "[]\n", "~\n", "---\n"])
def test_a_file_without_entries_converts_nothing_and_is_no_fault(text: str, interface: Interface) -> None:
    resolved, sink = run(text, interface)
    assert resolved is not None and len(sink) == 0
    assert not any(rule.converts for rule in resolved.functions)


def test_the_innermost_level_that_speaks_wins(interface: Interface) -> None:
    resolved = table(
        """\
- common_config:
    dtype: (int8)->int16
- family:
    name: norm
    dtype: (uint8)->int16
- diopiLayerNorm:
    dtype: (uint16)->int32
    tensor_dtype:
      save_mean: (bool)->uint8
""",
        interface,
    )
    assert casts(tensor_rule(resolved, "diopiAdd", "out")) == {"int8": "int16"}
    assert casts(tensor_rule(resolved, "diopiBatchNorm", "input")) == {"uint8": "int16"}
    assert casts(tensor_rule(resolved, "diopiLayerNorm", "input")) == {"uint16": "int32"}
    assert casts(tensor_rule(resolved, "diopiLayerNorm", "save_mean")) == {"bool": "uint8"}


def test_levels_win_key_by_key(interface: Interface) -> None:
    resolved = table(
        "- common_config:\n    dtype: (int8)->int16\n    layout: NCHW\n- diopiAdd:\n    layout: NHWC\n", interface
    )
    rule = tensor_rule(resolved, "diopiAdd", "input")
    assert casts(rule) == {"int8": "int16"}
    assert rule.layouts == ("NHWC",)
    assert rule.casts[0].span == Span("convert_config.yaml", 2, 13, 2, 17)
    assert rule.layouts_span == Span("convert_config.yaml", 5, 5, 5, 11)


def test_a_later_entry_adds_to_an_earlier_one(interface: Interface) -> None:
    """The cast of a softmax is not lost to a second entry, as it is where the last one wins whole."""
    resolved = table(
        "- diopiSoftmax:\n    dtype: (int8)->int16\n    layout: NHWC\n- diopiSoftmax:\n    layout: NCHW\n", interface
    )
    rule = tensor_rule(resolved, "diopiSoftmax", "input")
    assert casts(rule) == {"int8": "int16"}
    assert rule.layouts == ("NCHW",)


def test_an_entry_before_common_config_inherits_from_it(interface: Interface) -> None:
    resolved = table("- diopiAdd:\n    layout: ND\n- common_config:\n    dtype: (int8)->int16\n", interface)
    assert casts(tensor_rule(resolved, "diopiAdd", "input")) == {"int8": "int16"}


def test_none_takes_the_casts_of_outer_levels_away(interface: Interface) -> None:
    resolved = table(
        "- common_config:\n    dtype: (int8)->int16\n- diopiAdd:\n    dtype: none\n"
        "- diopiSub:\n    tensor_dtype:\n      input: none\n",
        interface,
    )
    assert not function_rule(resolved, "diopiAdd").converts
    assert casts(tensor_rule(resolved, "diopiSub", "input")) == {}
    assert casts(tensor_rule(resolved, "diopiSub", "out")) == {"int8": "int16"}


@pytest.mark.parametrize(
    ("said", "layouts", "common", "lines"),
    [
        ([], (), (), ()),
        (["NCHW"], ("NCHW",), (), ()),
        (["NCHW", "NHWC"], ("NHWC",), ("NCHW",), (1,)),
        (["NHWC, NCHW", "NLC"], ("NLC",), ("NHWC", "NCHW"), (1,)),
        (["NCHW", "ND"], (), (), ()),
        (["ND", "NHWC"], ("NHWC",), (), ()),
        (["NHWC", "NCDHW, NDHWC"], ("NCDHW", "NDHWC"), (), ()),
        (["NHWC, NLC", "NHWC"], ("NHWC",), ("NLC",), (1,)),
        (["NCHW", "NLC, NHWC", "NHWC"], ("NHWC", "NLC"), ("NCHW",), (3, 1)),
        (["NCHW", "NHWC", "NHWC"], ("NHWC",), ("NCHW",), (1,)),
        (["NCHW", "ND", "NHWC"], ("NHWC",), (), ()),
        (["NCHW", "NCL", "NHWC"], ("NHWC",), ("NCL",), (3,)),
        (["NLC", "NDHWC", "NHWC"], ("NHWC", "NDHWC"), ("NLC",), (3, 1)),
    ],
)
def test_ranks_that_a_list_leaves_open_keep_the_outer_rule(
    said: list[str], layouts: tuple[str, ...], common: tuple[str, ...], lines: tuple[int, ...], interface: Interface
) -> None:
    """`said` goes from common_config over the family to the operator, or leaves the family out where there are two."""
    heads = ["- common_config: {layout: '%s'}", "- diopiLayerNorm: {layout: '%s'}"]
    if len(said) == 3:
        heads.insert(1, "- family:\n    {name: norm, layout: '%s'}")
    text = "".join(f"{head % layout}\n" for head, layout in zip(heads, said, strict=False))
    rule = tensor_rule(table(text, interface), "diopiLayerNorm", "input")
    assert (rule.layouts, rule.common_layouts) == (layouts, common)
    assert tuple(span.line for span in rule.common_spans) == lines
    assert (rule.layouts_span is not None) == bool(said)


def test_the_list_of_one_tensor_goes_before_that_of_all(interface: Interface) -> None:
    resolved = table(
        "- common_config: {layout: NLC}\n- diopiConvolution2d: {layout: 'NHWC, weight(NCHW)'}\n", interface
    )
    weight = tensor_rule(resolved, "diopiConvolution2d", "weight")
    assert (weight.layouts, weight.common_layouts) == (("NCHW",), ())
    assert weight.layouts_span == Span("convert_config.yaml", 2, 39, 2, 45)
    other = tensor_rule(resolved, "diopiConvolution2d", "input")
    assert (other.layouts, other.common_layouts) == (("NHWC",), ("NLC",))


def test_a_list_for_one_tensor_alone_says_nothing_of_the_others(interface: Interface) -> None:
    resolved = table("- common_config: {layout: NLC}\n- diopiAdd: {layout: input(NHWC)}\n", interface)
    assert tensor_rule(resolved, "diopiAdd", "input").layouts == ("NHWC",)
    assert tensor_rule(resolved, "diopiAdd", "other").layouts == ("NLC",)


def test_contiguous_for_all_for_some_and_for_none(interface: Interface) -> None:
    resolved = table(
        "- common_config: {contiguous: true}\n- diopiAdd: {contiguous: false}\n- diopiSub: {contiguous: input}\n"
        "- diopiMul: {contiguous: false}\n- diopiMul: {contiguous: [other]}\n",
        interface,
    )
    found = {
        name: [(tensor.param, tensor.contiguous) for tensor in function_rule(resolved, name).tensors]
        for name in ("diopiDiv", "diopiAdd", "diopiSub", "diopiMul")
    }
    assert found == {
        "diopiDiv": [("out", True), ("input", True), ("other", True)],
        "diopiAdd": [("out", False), ("input", False), ("other", False)],
        "diopiSub": [("out", True), ("input", True), ("other", True)],
        "diopiMul": [("out", False), ("input", False), ("other", True)],
    }


@pytest.mark.parametrize("name", ["diopiCastDtype", "diopiCopyInp", "diopiContiguous", "diopiNativeMemoryFormatCast"])
def test_what_shims_convert_with_is_never_converted(name: str, interface: Interface) -> None:
    resolved = table("- common_config: {dtype: (int8)->int16, layout: NHWC, contiguous: true}\n", interface)
    assert not function_rule(resolved, name).converts
    assert function_rule(resolved, "diopiAdd").converts


def test_an_identity_is_left_out_and_of_two_equal_casts_one_stays(interface: Interface) -> None:
    resolved = table("- common_config: {dtype: '(int8, int16, int8)->int16'}\n", interface)
    rule = tensor_rule(resolved, "diopiAdd", "out")
    assert [(cast.source, cast.target, cast.span.column) for cast in rule.casts] == [("int8", "int16", 28)]


def test_every_dtype_of_the_interface_can_be_named(interface: Interface) -> None:
    for dtype in interface.dtypes:
        other = "int32" if dtype.name != "int32" else "bfloat16"
        resolved = table(f"- common_config: {{dtype: ({dtype.name})->{other}}}\n", interface)
        assert casts(tensor_rule(resolved, "diopiAdd", "out")) == {dtype.name: other}


def test_positions_in_the_table_name_no_folder(interface: Interface) -> None:
    from diopigen.config.reader import parse_config
    from diopigen.config.resolve import resolve
    from diopigen.diagnostics import Sink

    sink = Sink()
    config = parse_config("- common_config: {dtype: (int16)->int8}\n", "/home/someone/chip.yaml", sink)
    assert config is not None
    resolved = resolve(config, interface, "chip", (), sink)
    assert resolved.file == "chip.yaml"
    assert tensor_rule(resolved, "diopiAdd", "out").casts[0].span == Span("chip.yaml", 1, 27, 1, 32)
    assert [str(finding.span) for finding in sink.sorted()] == ["/home/someone/chip.yaml:1:27"]
