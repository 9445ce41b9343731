"""Memory formats that belong to a library: only that logical elements stay what they are can be checked."""

from __future__ import annotations

from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle


@oracle("NativeMemoryFormatCast")
def _cast(call: Call) -> Answer:
    """Format 0 is plain memory, which the suite can read."""
    return {"out": Allocated(Expected(call.wide("in")), call.dtype("in"))}


@oracle("GetNativeMemoryFormat")
def _format(call: Call) -> Answer:
    """The suite makes tensors in plain memory."""
    del call
    return {"format": 0}


@oracle("TensorDestructionHook")
def _hook(call: Call) -> Answer:
    """Nothing is written; the call must only succeed."""
    del call
    return {}
