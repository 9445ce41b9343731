"""run_two_devices.py RUNTIME FIRST SECOND: one module of Relax on the devices of two libraries in turn."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import tvm
from tvm import relax

import diopi_ffi
from diopi_ffi import device
from diopi_ffi.relax import legalize


def _module() -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = builder.emit(relax.op.nn.relu(relax.op.subtract(x, relax.op.add(x, x))))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


def main() -> None:
    runtime, *paths = sys.argv[1:]
    machines = []
    for path in paths:
        library = diopi_ffi.load(path, runtime=runtime, device="ext_dev")
        where = device.register(library, name=path)
        module, _ = legalize(_module(), library, leftover="host")
        machines.append((relax.VirtualMachine(relax.build(module, target="llvm"), [where]), where))
    assert [where.index for _, where in machines] == [0, 1]
    assert [where.device_name for _, where in machines] == paths
    x = np.array([[1, -2, 3], [-4, 5, -6]], dtype=np.float32)
    for _ in range(2):
        for machine, where in machines:
            result = machine["main"](tvm.runtime.tensor(x, where))
            assert result.device == where and result.numpy().tolist() == np.maximum(-x, 0).tolist()
    print("passed", flush=True)
    os._exit(0)  # TVM keeps its pools: the simulated device would list them as leaks


if __name__ == "__main__":
    main()
