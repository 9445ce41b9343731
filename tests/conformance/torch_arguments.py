"""Arguments of a case as float64 tensors, and the comparison of an oracle with a function of torch over all cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls import call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Call, Expected, answer_of
from diopigen.conformance.oracles.serving_layers import asks_for_size
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")


class Arguments:
    """The arguments of a call: floats as float64 tensors, integers as int64 and bools as they are."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __getattr__(self, name: str) -> Any:
        value = self.call.values.get(name)
        if not isinstance(value, np.ndarray):
            return value
        tensor = torch.from_numpy(np.array(value))
        return tensor if value.dtype == bool else tensor.double() if value.dtype.kind == "f" else tensor.long()


Reference = Callable[[Arguments], dict[str, Any]]


def compare(interface: Interface, name: str, reference: Reference, least: int = 10) -> None:
    """Compares each output that the reference returns, over all cases but queries of sizes. Fails where fewer than
    `least` outputs have elements."""
    function = interface.function(name)
    assert function is not None
    compared = 0
    for case in cases_of(interface, function):
        if case.expect != SUCCESS:
            continue
        call = call_of(interface, case)
        memories = [name for name in ("pre_work", "workspace") if f"{name}_size" in case.arguments]
        if asks_for_size(call, *memories):
            continue
        with np.errstate(all="ignore"):
            answer = answer_of(call)
        for output, found in reference(Arguments(call)).items():
            expected = answer[output]
            assert isinstance(expected, Expected)
            values = np.asarray(expected.values, dtype=np.float64)
            np.testing.assert_allclose(found.double().numpy(), values, rtol=1e-11, atol=1e-11, err_msg=case.id)
            compared += found.numel() > 0
    assert compared >= least, "there are cases to compare"
