"""Overloads whose arguments are not those of the function: each has a rule that makes the call.

The bindings of the spec serve an overload whose arguments a function takes as they are. A rule here says what else has
to be done: which function a convolution is by its rank, which gradients an output mask asks for, that a functional
batch normalisation copies its statistics first. A call that a rule declines goes through the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.fx

from .graph_nodes import Declined, overload_name
from .symbolic import maximum, minimum
from .table import dtype_name, has_function

FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SCORES = (torch.float16, torch.bfloat16, torch.float32)
_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


class Caller:
    """A node that becomes calls. `planner` makes slots and steps."""

    def __init__(self, planner: Any, node: torch.fx.Node, arguments: dict[str, Any]) -> None:
        self.planner = planner
        self.node = node
        self.arguments = arguments
        self.used: list[int] = []
        value = node.meta["val"]
        self.returned: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]

    def value(self, name: str) -> Any:
        """An argument that is no tensor."""
        return self.planner.plain(self.arguments[name])

    def meta(self, name: str) -> torch.Tensor:
        """Metadata of a tensor. Raises `Declined` where there is none."""
        node = self.arguments[name]
        if not isinstance(node, torch.fx.Node) or not isinstance(node.meta.get("val"), torch.Tensor):
            raise Declined(f"no tensor for {name}")
        found: torch.Tensor = node.meta["val"]
        return found

    def has(self, name: str) -> bool:
        """Returns whether an optional tensor is there."""
        return self.arguments[name] is not None

    def tensor(self, name: str, *dtypes: torch.dtype) -> int | None:
        """The slot of an operand, or None where it is missing. Raises `Declined` where it has another dtype."""
        if not self.has(name):
            return None
        value = self.meta(name)
        if dtypes and value.dtype not in dtypes:
            raise Declined(f"{name} has the dtype {dtype_name(value.dtype)}")
        if value.device != self.planner.device:
            raise Declined(f"a tensor on {value.device}")
        slot: int = self.planner.values[self.arguments[name]]
        self.used.append(slot)
        return slot

    def results(self) -> list[int | None]:
        """Slots for all results; None where the node returns nothing."""
        slots = [None if value is None else self.planner.result(value) for value in self.returned]
        self.used += [slot for slot in slots if slot is not None]
        return slots

    def scratch(self, sizes: Sequence[int], dtype: torch.dtype) -> int:
        """Memory for what the function writes and no node reads."""
        slot: int = self.planner.scratch(sizes, dtype)
        self.used.append(slot)
        return slot

    def call(
        self, function: str, operands: list[Any], results: Sequence[int | None], writes: int | None = None
    ) -> None:
        """The step. `writes` is an input of the graph that it changes."""
        if not has_function(function):
            raise Declined(f"{function}: the chip has no such operator")
        self.planner.hand_call(self.node, function, operands, self.used, list(results), writes)

    def copy(self, source: int, target: int) -> None:
        """A step that copies one tensor to another of the same dtype."""
        self.planner.copy_step(self.node, source, target)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return _WIDE.get(dtype, dtype)


def _mask(call: Caller) -> list[bool]:
    """The gradients that are asked for; that of the input has to be among them."""
    mask = list(call.value("output_mask"))
    if not mask[0]:
        raise Declined("no gradient of the input is asked for")
    return mask


def convolution(call: Caller) -> None:
    """In two and three dimensions."""
    rank = call.meta("input").dim()
    if rank not in (4, 5):
        raise Declined(f"an input of {rank} dimensions")
    dtype = call.meta("input").dtype
    operands = [call.tensor("input", *FLOATING), call.tensor("weight", dtype), call.tensor("bias", dtype)]
    results = call.results()
    name = f"{2 if rank == 4 else 3}d"
    strides, padding, dilation = call.value("stride"), call.value("padding"), call.value("dilation")
    if call.value("transposed"):
        extra = call.value("output_padding")
        numbers = [strides, padding, extra, call.value("groups"), dilation]
        call.call(f"diopiConvTranspose{name}", [*results, *operands, *numbers], results)
        return
    call.call(
        f"diopiConvolution{name}", [*results, *operands, strides, padding, dilation, call.value("groups")], results
    )


def convolution_backward(call: Caller) -> None:
    """Gradients that the mask does not ask for have no tensor."""
    rank = call.meta("input").dim()
    if rank not in (4, 5):
        raise Declined(f"an input of {rank} dimensions")
    dtype = call.meta("input").dtype
    operands = [call.tensor("grad_output", dtype), call.tensor("input", *FLOATING), call.tensor("weight", dtype)]
    results = call.results()
    bias = call.planner.numbers(call.returned[2].shape) if results[2] is not None else None
    name = f"{2 if rank == 4 else 3}dBackward"
    strides, padding, dilation = call.value("stride"), call.value("padding"), call.value("dilation")
    if call.value("transposed"):
        numbers = [bias, strides, padding, dilation, call.value("output_padding"), call.value("groups")]
        call.call(f"diopiConvTranspose{name}", [*results, *operands, *numbers], results)
        return
    numbers = [bias, strides, padding, dilation, call.value("groups")]
    call.call(f"diopiConvolution{name}", [*results, *operands, *numbers], results)


def batch_norm_functional(call: Caller) -> None:
    """In training: the new statistics are copies, which the function updates."""
    if not call.value("training"):
        raise Declined("a functional batch normalisation in evaluation")
    operands = _normalized(call)
    before = [call.tensor(name, torch.float32, torch.float64) for name in ("running_mean", "running_var")]
    out, mean, deviation, *after = results = call.results()
    for source, target in zip(before, after, strict=True):
        assert source is not None and target is not None
        call.copy(source, target)
    numbers = [True, call.value("momentum"), call.value("eps")]
    call.call("diopiBatchNorm", [out, mean, deviation, *operands, *after, *numbers], results)


def batch_norm_evaluation(call: Caller) -> None:
    """The function writes statistics that PyTorch returns without elements, whatever its meta function says."""
    if any(user.args[1] != 0 and user.users for user in call.node.users):
        raise Declined("statistics of a batch in evaluation")
    operands = _normalized(call)
    running = [call.tensor(name, torch.float32, torch.float64) for name in ("running_mean", "running_var")]
    wide = _wide(call.meta("input").dtype)
    channels = [call.planner.number(call.meta("input").shape[1])]
    scratch = [call.scratch(channels, wide), call.scratch(channels, wide)]
    results = call.results()
    numbers = [False, call.value("momentum"), call.value("eps")]
    call.call("diopiBatchNorm", [results[0], *scratch, *operands, *running, *numbers], results)


def _normalized(call: Caller) -> list[int | None]:
    dtype = call.meta("input").dtype
    allowed = (dtype, _wide(dtype))
    return [call.tensor("input", *FLOATING), call.tensor("weight", *allowed), call.tensor("bias", *allowed)]


def batch_norm_backward(call: Caller) -> None:
    _mask(call)
    dtype, trains = call.meta("input").dtype, call.value("train")
    operands = [
        call.tensor("grad_out", dtype),
        call.tensor("input", *FLOATING),
        call.tensor("weight", dtype, _wide(dtype)),
        call.tensor("running_mean"),
        call.tensor("running_var"),
        *(call.tensor(name, _wide(dtype)) if trains else None for name in ("save_mean", "save_invstd")),
    ]
    results = call.results()
    call.call("diopiBatchNormBackward", [*results, *operands, trains, call.value("eps")], results)


def layer_norm_backward(call: Caller) -> None:
    _mask(call)
    dtype = call.meta("input").dtype
    operands = [
        call.tensor("grad_out", dtype),
        call.tensor("input", *FLOATING),
        call.tensor("weight", dtype),
        call.tensor("bias", dtype),
        call.tensor("mean", _wide(dtype)),
        call.tensor("rstd", _wide(dtype)),
    ]
    results = call.results()
    call.call("diopiLayerNormBackward", [*results, *operands, call.value("normalized_shape")], results)


def group_norm(call: Caller) -> None:
    dtype = call.meta("input").dtype
    _samples_and_channels(call)
    operands = [call.tensor("input", *FLOATING), call.tensor("weight", dtype), call.tensor("bias", dtype)]
    results = call.results()
    call.call("diopiGroupNorm", [*results, *operands, call.value("group"), call.value("eps")], results)


def group_norm_backward(call: Caller) -> None:
    _mask(call)
    _samples_and_channels(call)
    dtype = call.meta("input").dtype
    operands = [
        call.tensor("grad_out", dtype),
        call.tensor("input", *FLOATING),
        call.tensor("weight", dtype),
        call.tensor("mean", _wide(dtype)),
        call.tensor("rstd", _wide(dtype)),
    ]
    results = call.results()
    call.call("diopiGroupNormBackward", [*results, *operands, call.value("group")], results)


def _samples_and_channels(call: Caller) -> None:
    """The function reads both off the shape."""
    shape = call.planner.numbers(call.meta("input").shape)
    if len(shape) < 2 or shape[:2] != [call.value("N"), call.value("C")]:
        raise Declined("the interface reads samples and channels off the shape")


def rms_norm(call: Caller) -> None:
    """PyTorch's default of `eps` is that of the dtype in which the function computes."""
    dtype = call.meta("input").dtype
    operands = [call.tensor("input", *FLOATING), call.value("normalized_shape"), call.tensor("weight", dtype), None]
    eps = call.value("eps")
    results = call.results()
    added = torch.finfo(_wide(dtype)).eps if eps is None else eps
    call.call("diopiRMSNorm", [*results, *operands, added], results)


def rms_norm_backward(call: Caller) -> None:
    _mask(call)
    dtype = call.meta("input").dtype
    operands = [
        call.tensor("grad_out", dtype),
        call.tensor("input", *FLOATING),
        call.tensor("weight", dtype),
        None,
        call.tensor("rstd", _wide(dtype)),
    ]
    results = call.results()
    call.call("diopiRMSNormBackward", [*results, None, *operands, call.value("normalized_shape"), 0.0], results)


def embedding_backward(call: Caller) -> None:
    operands = [call.tensor("grad_output", *FLOATING), call.tensor("indices", torch.int32, torch.int64)]
    numbers = [call.value(name) for name in ("num_weights", "padding_idx", "scale_grad_by_freq")]
    results = call.results()
    call.call("diopiEmbeddingBackward", [*results, *operands, *numbers, False], results)


def copy(call: Caller) -> None:
    """A write to an input at the end of a graph; its version counts as after an operator."""
    source, target = call.meta("src"), call.meta("self")
    read, written = (call.planner.layout_of(one) for one in (source, target))
    same = read.dtype == written.dtype and read.sizes == written.sizes
    if not same or any(s == 0 and n > 1 for n, s in zip(written.sizes, written.strides, strict=True)):
        raise Declined("a copy that converts or broadcasts")
    operands = [call.tensor("src"), call.tensor("self")]
    slot = operands[1]
    assert slot is not None
    if call.planner.slots[slot]["kind"] != "input":
        raise Declined("a copy to what is no input")
    call.planner.values[call.node] = slot
    call.call("diopiCopyInp", list(operands), [None], writes=slot)


def attention(call: Caller) -> None:
    """Decomposes `scaled_dot_product_attention` for float16 and bfloat16 without a mask."""
    query = call.meta("query")
    if call.has("attn_bias") or call.value("dropout_p") != 0:
        raise Declined("a mask, or dropout")
    operands = [_transposed(call, name, query.dtype) for name in ("query", "key", "value")]
    scale = call.value("scale")
    results = [call.planner.result(one) if isinstance(one, torch.Tensor) else one for one in call.returned]
    call.used += [slot for slot, one in zip(results, call.returned, strict=True) if isinstance(one, torch.Tensor)]
    written = call.planner.permuted(results[0], (0, 2, 1, 3))
    call.used.append(written)
    scale = call.planner.number(query.shape[-1]) ** -0.5 if scale is None else scale
    numbers = [0.0, scale, call.value("is_causal"), -1, -1]
    call.call("diopiFlashAttention", [written, results[1], None, *operands, None, *numbers], results)


def attention_backward(call: Caller) -> None:
    """Its results have the layouts of the graph: the function writes them as it sees them."""
    query = call.meta("query")
    if call.value("dropout_p") != 0 or not all(call.value("grad_input_mask")[:3]) or call.returned[3] is not None:
        raise Declined("dropout, or gradients other than those of queries, keys and values")
    grad, *read = (_transposed(call, name, query.dtype) for name in ("grad_out", "query", "key", "value"))
    out = _transposed(call, "out", query.dtype)
    sums = call.tensor("logsumexp", torch.float32)
    scale = call.value("scale")
    scale = call.planner.number(query.shape[-1]) ** -0.5 if scale is None else scale
    results = call.results()
    written = [call.planner.permuted(slot, (0, 2, 1, 3)) for slot in results[:3]]
    call.used += written
    numbers = [0.0, scale, call.value("is_causal"), -1, -1]
    call.call("diopiFlashAttentionBackward", [*written, grad, None, *read, None, out, sums, *numbers], results)


def rotary_embedding(call: Caller) -> None:
    """Its gradient is a call of the same operator."""
    dtype = call.meta("x").dtype
    operands = [call.tensor("x", *FLOATING), call.tensor("cos", dtype), call.tensor("sin", dtype)]
    results = call.results()
    call.call("diopiRotaryEmbedding", [*results, *operands, call.value("conj"), call.value("interleaved")], results)


def masked_softmax(call: Caller) -> None:
    operands = [call.tensor("input", *SCORES), call.tensor("mask", torch.bool)]
    _softmax_call(call, "diopiScaledMaskedSoftmax", operands)


def masked_softmax_backward(call: Caller) -> None:
    dtype = call.meta("output").dtype
    operands = [call.tensor("grad_output", dtype), call.tensor("output", *SCORES), call.tensor("mask", torch.bool)]
    _softmax_call(call, "diopiScaledMaskedSoftmaxBackward", operands)


def _softmax_call(call: Caller, function: str, operands: list[int | None]) -> None:
    results = call.results()
    call.call(function, [*results, *operands, call.value("scale"), call.value("fixed_triu_mask")], results)


def _transposed(call: Caller, name: str, dtype: torch.dtype) -> int:
    """The interface has (batch, sequence, heads, size)."""
    slot = call.tensor(name, dtype)
    assert slot is not None
    found: int = call.planner.permuted(slot, (0, 2, 1, 3))
    call.used.append(found)
    return found


def select_backward(call: Caller) -> None:
    """Zeros, and the gradient at its position."""
    whole = call.planner.layout_of(call.returned[0])
    dimension = call.value("dim") % len(whole.sizes)
    index = call.value("index")
    index = index + whole.sizes[dimension] if index < 0 else index
    sizes, strides = ([*each[:dimension], *each[dimension + 1 :]] for each in (whole.sizes, whole.strides))
    offset = whole.offset + index * whole.strides[dimension]
    _scattered(call, replace(whole, sizes=sizes, strides=strides, offset=offset))


def slice_backward(call: Caller) -> None:
    """Zeros, and the gradient at its positions."""
    whole = call.planner.layout_of(call.returned[0])
    dimension = call.value("dim") % len(whole.sizes)
    start = call.value("start")
    start = start + whole.sizes[dimension] if start < 0 else start
    start = minimum(maximum(start, 0), whole.sizes[dimension])
    strides = list(whole.strides)
    offset = whole.offset + start * strides[dimension]
    strides[dimension] = strides[dimension] * call.value("step")
    sizes = call.planner.numbers(call.meta("grad_output").shape)
    _scattered(call, replace(whole, sizes=sizes, strides=strides, offset=offset))


def _scattered(call: Caller, seen: Any) -> None:
    source = call.tensor("grad_output", call.returned[0].dtype)
    (result,) = call.results()
    assert source is not None and result is not None
    call.planner.fill_step(call.node, result, 0)
    target = call.planner.inside(result, seen)
    call.used.append(target)
    call.call("diopiCopyInp", [source, target], [result])


def filled(call: Caller) -> None:
    """One number in all elements; those that the graph does not return are constants of the plan."""
    number = _FILLS.get(overload_name(call.node.target))
    if number is None:
        number = call.value("fill_value" if "fill_value" in call.arguments else "s")
    results = call.results()
    call.call("diopiFill", [*results, number], results)


_FILLS = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1}
RULES: dict[str, Callable[[Caller], None]] = {
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "_native_batch_norm_legit_functional": batch_norm_functional,
    "_native_batch_norm_legit_no_training": batch_norm_evaluation,
    "native_batch_norm_backward": batch_norm_backward,
    "native_layer_norm_backward": layer_norm_backward,
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward,
    "_fused_rms_norm": rms_norm,
    "_fused_rms_norm_backward": rms_norm_backward,
    "embedding_dense_backward": embedding_backward,
    "select_backward": select_backward,
    "slice_backward": slice_backward,
    "copy_": copy,
    **dict.fromkeys([*_FILLS, "full", "full_like", "new_full", "scalar_tensor"], filled),
    "_scaled_dot_product_fused_attention_overrideable": attention,
    "_scaled_dot_product_fused_attention_overrideable_backward": attention_backward,
    "diopi::rotary_embedding": rotary_embedding,
    "diopi::scaled_masked_softmax": masked_softmax,
    "diopi::scaled_masked_softmax_backward": masked_softmax_backward,
}
"""By overload, as the spec's bindings are."""
