"""Records the errors of the reference library and of PyTorch, which every report compares with (docs/conformance.md).

    diopigen conformance run --lib build/libdiopi_impl.so --json results.json      # all cases
    tools/record_accuracy.py results.json                                          # needs torch

Writes diopigen/conformance/report/recorded.json: by function and dtype the largest and the mean error in ULP. PyTorch
runs the same cases through the overloads of ATen that the spec names, with its kernels for the CPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from diopigen import api
from diopigen.conformance.cases.suite import cases_of, tested
from diopigen.conformance.compare.ulp import combined, measure
from diopigen.conformance.model import SUCCESS, Case, CaseResult, Measured
from diopigen.conformance.oracles import Allocated, Call, Expected, answer_of, oracle_of
from diopigen.conformance.report.accuracy import RECORDED, rows_of
from diopigen.conformance.run.reading import read_results
from diopigen.contract.dtypes import kind
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface

ROOT = Path(__file__).resolve().parent.parent
Errors = dict[str, dict[str, list[float]]]


def errors_of(results: list[CaseResult]) -> Errors:
    """The largest and the mean error by function and dtype, with three digits."""
    found: Errors = {}
    for row in rows_of(results):
        found.setdefault(row.function, {})[row.dtype] = [float(f"{row.worst:.3g}"), float(f"{row.mean:.3g}")]
    return dict(sorted(found.items()))


def torch_results(interface: Interface) -> list[CaseResult]:
    """The cases that ATen has an overload for, run by it."""
    found = []
    for function in tested(interface):
        if not function.aten or function.tolerance in ("exact", "random") or oracle_of(function) is None:
            continue
        for case in cases_of(interface, function):
            if case.expect == SUCCESS and (measured := tuple(combined(_measured(interface, function, case)))):
                found.append(CaseResult(case, "passed", 0.0, errors=measured))
    return found


def _measured(interface: Interface, function: Function, case: Case) -> Iterator[Measured]:
    """The errors of ATen's results; none of a call that it does not take."""
    from aten_binding import BindingError, bind, stored
    from calls import call_of

    if kind(case.dtype) not in ("float", "complex"):
        return  # and torch divides the lowest integer by -1 with an instruction that ends the process
    call = call_of(interface, case)
    try:
        results = bind(call).run()
    except (BindingError, RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):
        return
    with np.errstate(all="ignore"):
        answer = answer_of(call)
    unordered = {p.name for p in function.params if p.unordered is not None or p.ties is not None}
    for name, tensor in results.items():
        for expected, dtype, one in _pairs(answer.get(name), call, name, tensor):
            if isinstance(expected, Expected) and one is not None and name not in unordered:
                elements = stored(one, dtype)
                if elements.size == expected.values.size and (errors := measure(elements, dtype, expected)):
                    yield errors


def _pairs(expected: Any, call: Call, name: str, tensor: Any) -> Iterator[tuple[Any, str, Any]]:
    if isinstance(expected, Allocated):
        yield expected.expected, expected.dtype, tensor
    elif isinstance(expected, (list, tuple)):
        yield from zip(expected, call.dtypes[name], tensor, strict=True)
    elif name in call.dtypes:
        yield expected, call.dtypes[name], tensor


def text_of(entries: list[Mapping[str, Any]]) -> str:
    """The file: a line for each function, so that differences can be read."""
    parts = []
    for entry in entries:
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(errors)}" for name, errors in entry["errors"].items())
        head = ", ".join(f"{json.dumps(key)}: {json.dumps(entry[key])}" for key in ("name", "version"))
        parts.append(f'{{{head}, "errors": {{\n{lines}\n}}}}')
    return "[" + ",\n".join(parts) + "]\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="JSON of a run of all cases over the reference library")
    parser.add_argument("--without-torch", action="store_true", help="keep what is recorded of PyTorch")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests/conformance"))  # which knows the calls of ATen
    interface = api.load(api.workspace(str(ROOT / "specs")), Sink()).interface
    reference = read_results(options.results)
    version = reference.library_version.partition(" ")[0]
    entries: list[Mapping[str, Any]] = [
        {"name": "reference", "version": version, "errors": errors_of(list(reference.results))}
    ]
    if options.without_torch:
        known = json.loads(RECORDED.read_text(encoding="utf-8"))
        entries += [entry for entry in known if entry["name"] == "PyTorch"]
    else:
        import torch

        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        measured = torch_results(interface)
        entries.append({"name": "PyTorch", "version": torch.__version__, "errors": errors_of(measured)})
    RECORDED.write_text(text_of(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
