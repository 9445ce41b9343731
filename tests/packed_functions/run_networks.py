"""run_networks.py LIBRARY RUNTIME NETWORKS LEFTOVER: imports networks, runs them on ext_dev, prints results."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np
import torch
import tvm
from torch_networks import networks
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

import diopi_ffi
from diopi_ffi import device
from diopi_ffi import relax as relax_on_diopi


def run(library: diopi_ffi.Library, where: Any, network: torch.nn.Module, example: torch.Tensor, leftover: str) -> Any:
    module = from_exported_program(torch.export.export(network, (example,)), keep_params_as_input=False)
    try:
        module, report = relax_on_diopi.legalize(module, library, leftover=leftover)
    except relax_on_diopi.LeftOver as error:
        return {"rejected": str(error)}
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), [where])
    result = machine["main"](tvm.runtime.tensor(example.numpy(), where))
    found = (result if hasattr(result, "numpy") else result[0]).numpy()
    expected = network(example).detach().numpy()
    return {
        "equal": bool(np.allclose(found, expected, rtol=1e-4, atol=1e-5)),
        "error": float(np.abs(found - expected).max()),
        "share": report.share,
        "leftover": sorted({name for name, _ in report.leftover}),
        "report": str(report),
    }


def main() -> None:
    path, runtime, names, leftover = sys.argv[1:]
    library = diopi_ffi.load(path, runtime=runtime)
    where = device.register(library)
    every = networks()
    found = {name: run(library, where, *every[name], leftover) for name in names.split(",")}
    print(json.dumps(found), flush=True)
    os._exit(0)  # TVM keeps its pool: the simulated device would list it as leaks


if __name__ == "__main__":
    main()
