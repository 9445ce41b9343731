"""The configurations that six vendors use today load, and what is said about them names their real defects."""

from __future__ import annotations

import pytest
from config_helpers import VENDOR_FUNCTIONS, VENDORS, casts, function_rule, run, tensor_rule, vendor_text

from diopigen.config.model import ResolvedConfig
from diopigen.diagnostics import Severity
from diopigen.ir.model import Interface

REPEATS = (
    "MaxAll Div GtScalar LtScalar AddScalar AddInpScalar OneHot MulScalar Cat CrossEntropyLoss "
    "CrossEntropyLossBackward Gather NeScalar IndexSelect Sort Argmax SubScalar GeScalar EqScalar DivScalar Max Expand "
    "Repeat Add MinAll Topk ScatterScalar"
)

EXPECTED = {
    "ascend": [
        "5:13 note config-narrowing 'float64' to 'float32' loses range, here and in 79 more places",
        "12:3 warning config-entry-twice 'diopiSoftmax' is configured twice",
        "66:52 note config-narrowing 'uint64' to 'int64' loses range, here and in 5 more places",
        "73:40 note config-narrowing 'int64' to 'int32' loses range, here and in 10 more places",
        "124:3 warning config-not-implemented ascend does not implement diopiNLLLossV2",
        "127:3 warning config-not-implemented ascend does not implement diopiNLLLossV2Backward",
        "370:3 warning config-not-convertible diopiCopyInp cannot be converted: "
        "shims call it to convert, so that its own tensors cannot be converted",
    ],
    "camb": [
        "2:13 note config-narrowing 'int64' to 'int32' loses range",
        "2:29 note config-narrowing 'float64' to 'float32' loses range",
        "2:49 note config-narrowing 'complex128' to 'complex64' loses range",
    ],
    "kunlunxin": [
        "2:13 note config-narrowing 'float64' to 'float32' loses range",
        "2:33 note config-narrowing 'int64' to 'int32' loses range",
        "5:5 note config-missing-helper kunlunxin does not implement diopiContiguous, by which layouts are converted; "
        "diopiCopyInp does that here, but other tools need it",
    ],
    "muxi": [
        "2:5 warning config-composite 'supportComposite' has no effect: a function without a kernel runs on the "
        "reference library",
        "4:3 warning config-not-implemented muxi does not implement diopiRMSNorm",
        "8:3 warning config-not-implemented muxi does not implement diopiRMSNormBackward",
    ],
    "topsrider": [
        "2:13 note config-narrowing 'int64' to 'int32' loses range, here and in 30 more places",
        "2:29 note config-narrowing 'float64' to 'float32' loses range, here and in 30 more places",
    ],
    "torch": [
        "2:5 warning config-composite 'supportComposite' has no effect: a function without a kernel runs on the "
        "reference library",
    ],
}


def loaded(vendor: str, interface: Interface) -> tuple[ResolvedConfig, list[str]]:
    resolved, sink = run(vendor_text(vendor), interface, vendor=vendor, implemented=frozenset(VENDOR_FUNCTIONS[vendor]))
    assert resolved is not None
    found = []
    for finding in sink.sorted():
        assert finding.span is not None
        assert finding.severity is not Severity.ERROR
        path = f"{finding.span.line}:{finding.span.column}"
        found.append(f"{path} {finding.severity} {finding.code} {finding.message}")
    return resolved, found


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_findings_name_the_defects_and_nothing_else(vendor: str, interface: Interface) -> None:
    _, found = loaded(vendor, interface)
    expected = list(EXPECTED[vendor])
    if vendor == "topsrider":
        lines = vendor_text(vendor).split("\n")
        for name in REPEATS.split():
            line = lines.index(f"- diopi{name}:") + 1
            expected.append(f"{line}:3 warning config-repeats-common 'diopi{name}' only repeats common_config")
    assert found == expected


def test_the_softmax_of_ascend_keeps_its_cast(interface: Interface) -> None:
    resolved, _ = loaded("ascend", interface)
    rule = tensor_rule(resolved, "diopiSoftmax", "input")
    assert casts(rule) == {"float64": "float32"}
    assert (rule.layouts, rule.layouts_span and rule.layouts_span.line) == ((), 13)


def test_what_entries_of_ascend_come_to(interface: Interface) -> None:
    resolved, _ = loaded("ascend", interface)
    assert casts(tensor_rule(resolved, "diopiRMSNorm", "input")) == {"float64": "float32"}
    assert casts(tensor_rule(resolved, "diopiRMSNorm", "inv_rms")) == {"float16": "float32", "float64": "float32"}
    assert casts(tensor_rule(resolved, "diopiMaxPool2dWithIndices", "indices")) == {"int64": "int32"}
    assert casts(tensor_rule(resolved, "diopiMaxPool2dWithIndices", "input")) == {}
    assert tensor_rule(resolved, "diopiMaxPool2dWithIndices", "input").layouts == ("NCHW",)
    assert not function_rule(resolved, "diopiCopyInp").converts


def test_what_entries_of_camb_come_to(interface: Interface) -> None:
    resolved, _ = loaded("camb", interface)
    everywhere = {"int64": "int32", "float64": "float32", "complex128": "complex64"}
    convolution = tensor_rule(resolved, "diopiConvolution2d", "input")
    assert casts(convolution) == everywhere
    assert (convolution.layouts, convolution.common_layouts) == (("NHWC",), ("NCHW",))
    norm = tensor_rule(resolved, "diopiBatchNorm", "input")
    assert (norm.layouts, norm.common_layouts) == (("NLC", "NHWC", "NDHWC"), ("NCHW",))
    add = tensor_rule(resolved, "diopiAdd", "other")
    assert (casts(add), add.layouts, add.common_layouts) == (everywhere, (), ())


def test_what_entries_of_the_others_come_to(interface: Interface) -> None:
    topsrider, _ = loaded("topsrider", interface)
    assert casts(tensor_rule(topsrider, "diopiStack", "out")) == {
        "int64": "int32",
        "float64": "float32",
        "uint8": "int32",
    }
    kunlunxin, _ = loaded("kunlunxin", interface)
    assert tensor_rule(kunlunxin, "diopiMaxPool2dBackward", "grad_input").layouts == ("NCHW",)
    assert tensor_rule(kunlunxin, "diopiAdd", "out").layouts == ()
    for vendor in ("muxi", "torch"):
        resolved, _ = loaded(vendor, interface)
        assert not function_rule(resolved, "diopiAdd").converts
