"""Properties of the real spec as a whole."""

from __future__ import annotations

from pathlib import Path

from diopigen.ir.model import Interface

DATA = Path(__file__).resolve().parent.parent / "data"

# Overloads that existing framework glue serves with DIOPI functions, and why the spec does not name them.
NOT_SERVED = {
    "convolution_transpose_backward": "not in torch 2.13",
    "copy_": "crosses devices and dtypes: plumbing of the backend, over CopyInp",
    "cross_entropy_loss_backward": "not in torch 2.13",
    "ctc_loss_intlist_backward": "not in torch 2.13",
    "ctc_loss_tensor_backward": "not in torch 2.13",
    "embedding_backward": "a composite that reaches embedding_dense_backward, which is named",
    "floor_divide": "Div with a rounding mode that an overload cannot bind",
    "max_pool2d_backward": "has no indices, which MaxPool2dBackward needs",
    "native_dropout_backward": "a product with a mask and a factor, not one function",
    "rsub.Tensor": "Sub with its operands exchanged",
    "transpose_": "a view in place",
    "wrap_diopi_copy_inp": "not an ATen overload",
}


def _lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").split()


def test_every_elementwise_function_has_a_kernel(interface: Interface) -> None:
    names = _lines("elementwise_functions.txt")
    assert len(names) == 191
    without = [name for name in names if (f := interface.function(name)) is None or f.kernel is None]
    assert without == []


def test_every_overload_that_existing_glue_serves_is_named_or_has_a_reason(interface: Interface) -> None:
    served = {overload.name for function in interface.functions for overload in function.aten}
    known = set(_lines("aten_overloads.txt"))
    assert len(known) == 359
    assert known - served == set(NOT_SERVED)


def test_overloads_are_completed_from_torch(interface: Interface) -> None:
    served = {overload.name for function in interface.functions for overload in function.aten}
    assert len(served) >= 700
    assert interface.aten.releases == ("2.13.0", "2.14.1", "2.15.0")


def test_read_and_written_tensors_are_not_called_outputs(interface: Interface) -> None:
    expected = {
        ("diopiAdam", "exp_avg"): "inout",
        ("diopiAdamW", "param"): "inout",
        ("diopiBatchNorm", "running_mean"): "inout",
        ("diopiIndexPutInp", "input"): "inout",
        ("diopiScatterInp", "input"): "inout",
        ("diopiRotaryEmbeddingV2", "query"): "inout",
        ("diopiDestIndexCopyKV", "out"): "partial_out",
        ("diopiApplyPenalty", "logits"): "inout",
        ("diopiRmsprop", "square_avg"): "inout",
        ("diopiAmpUpdateScaleInp", "current_scale"): "inout",
    }
    found = {}
    for function, name in expected:
        param = next(f for f in interface.functions if f.name == function).param(name)
        found[function, name] = param.direction if param else None
    assert found == expected


def test_floating_operators_take_half_precision(interface: Interface) -> None:
    """bfloat16 is never mentioned in the published comments, and every framework uses it."""
    for name in ("diopiAdd", "diopiLayerNorm", "diopiMatmul", "diopiSoftmax", "diopiConvolution2d", "diopiGelu"):
        function = interface.function(name)
        assert function is not None
        dtypes = next(getattr(p.dtype, "dtypes", ()) for p in function.params if p.name == "input")
        assert {"float16", "bfloat16"} <= set(dtypes), name
