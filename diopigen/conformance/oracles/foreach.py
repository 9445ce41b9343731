"""One operation on every tensor of a list."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import widest
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.reduction import vector_norm


@oracle("ForeachnormScalar")
def _foreach_norm(call: Call) -> Answer:
    order = float(call["ord"])
    found = []
    for x in call["inputs"]:
        wide = widest(x).ravel()
        found.append(Expected(vector_norm(wide, order, (0,)), None, max(wide.size, 1)))
    return {"outs": found}


@oracle("AmpForeachNonFiniteCheckAndUnscaleInp")
def _unscale(call: Call) -> Answer:
    """The mark is set where any element was not finite before the scaling, otherwise it stays."""
    gradients = [widest(gradient) for gradient in call["scaled_grads"]]
    overflows = any(not np.all(np.isfinite(gradient)) for gradient in gradients)
    mark = np.ones_like(call["found_inf"]) if overflows else call["found_inf"]
    factor = call.wide("inv_scale").ravel()[0]
    return {
        "scaled_grads": [Expected(gradient * factor) for gradient in gradients],
        "found_inf": Expected(mark),
    }
