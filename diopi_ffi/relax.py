"""Relax on a library: its operators become calls of packed functions, and what is left over is named.

library = diopi_ffi.load("libdiopi_impl.so")
diopi_ffi.device.register(library)
module, report = diopi_ffi.relax.legalize(module, library)
machine = relax.VirtualMachine(relax.build(module, target="llvm"), [tvm.device("ext_dev", 0)])
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from diopi_ffi.library import Library
from diopi_ffi.package import tvm_ffi
from diopi_ffi.relax_host import Trial, on_host
from diopi_ffi.relax_patterns import fuse
from diopi_ffi.relax_table import Planned, Table, UnsupportedCallError, results_of, shape_of
from diopigen.ir.relax_model import RelaxOperator

_NOT_COMPUTED = frozenset(
    {"relax.null_value", "relax.shape_of", "relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed"}
)


@dataclass(slots=True)
class Report:
    """Counts of the operators of a module, by outcome and name. `on_host` and `rejected` have the reason too."""

    legalized: Counter[str] = field(default_factory=Counter)
    views: Counter[str] = field(default_factory=Counter)
    leftover: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The fraction of operators that compute something which run in the library."""
        done, left = self.legalized.total(), self.leftover.total()
        return done / (done + left) if done + left else 1.0

    def __str__(self) -> str:
        left = ", ".join(f"{name} ({why}) x{count}" for (name, why), count in sorted(self.leftover.items()))
        names = f"{self.legalized.total()} legalized, {self.views.total()} views, {self.leftover.total()} left"
        return f"{names} ({self.share:.0%}){': ' + left if left else ''}"


class LeftOver(Exception):
    """A module has operators that the library cannot run. `report` has their names."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"operators that no function of the library computes: {report}")
        self.report = report


def legalize(module: Any, library: Library, *, leftover: str = "reject", trial: bool = True) -> tuple[Any, Report]:
    """The module with operators replaced by calls of the library's packed functions, and what became of each.

    `leftover` says what happens to operators that the library has no function for: `reject` raises `LeftOver`, `host`
    runs them on the host, between copies. Left alone, TVM would compile them for the host and let them read the memory
    of the device. With `trial` each call is made once on zeros, so that one that the library rejects is left over too,
    and no error when the module runs.
    """
    from tvm import relax

    if leftover not in ("reject", "host"):
        raise ValueError(f"leftover is 'reject' or 'host', not '{leftover}'")
    for simplify in (relax.transform.CanonicalizeBindings(), relax.transform.DeadCodeElimination()):
        module = simplify(module)
    tried = Trial(library) if trial else None
    table = Table(library.interface)
    _, report = _legalized(module, library, table, tried, host=False)
    if report.leftover:
        # Batch norm and the like, of operators that the library may have.
        simpler = relax.transform.DecomposeOpsForInference()(module)
        _, other = _legalized(simpler, library, table, tried, host=False)
        module = simpler if other.leftover.total() < report.leftover.total() else module
    done, report = _legalized(module, library, table, tried, host=leftover == "host")
    if leftover == "reject" and report.leftover:
        raise LeftOver(report)
    return done, report


def _legalized(module: Any, library: Library, table: Table, trial: Trial | None, *, host: bool) -> tuple[Any, Report]:
    import tvm
    from tvm import relax

    legalizer = _Legalizer(library, table, host=host, trial=trial)

    @relax.expr_functor.mutator
    # misc, name-defined: without types of TVM its class is Any, which mypy takes for no base class. unused-ignore:
    # where TVM is not installed, name-defined is no error.
    class Mutator(relax.PyExprMutator):  # type: ignore[misc, name-defined, unused-ignore]
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            return legalizer.replaced(self.builder_, call) if isinstance(call.op, tvm.ir.Op) else call

    module = fuse(module.clone(), table, library.has, legalizer.fused)
    mutator = Mutator(module)
    for name, function in module.functions_items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(name, mutator.visit_expr(function))
    return mutator.builder_.get(), legalizer.report


class _Legalizer:
    """Replaces calls of operators, and counts what became of them."""

    def __init__(self, library: Library, table: Table, *, host: bool, trial: Trial | None) -> None:
        self._library = library
        self._table = table
        self._host = host
        self._trial = trial
        self._registered: set[str] = set()
        self.report = Report()

    def replaced(self, builder: Any, call: Any) -> Any:
        """The call that replaces an operator."""
        name = call.op.name
        if name in self._table.views:
            self.report.views[name] += 1
            return _as_reshape(call)
        if name in _NOT_COMPUTED or name.startswith(("relax.memory", "relax.vm", "relax.builtin")):
            return call
        try:
            found = self._computed(builder, call)
            self.report.legalized[name] += 1
            return found
        except UnsupportedCallError as error:
            self.report.leftover[name, str(error)] += 1
            return on_host(call) if self._host else call

    def _computed(self, builder: Any, call: Any) -> Any:
        """By the first entry that fits and that the library has."""
        reasons = []
        for entry in self._table.entries(call.op.name):
            try:
                if not self._library.has(entry.function):
                    raise UnsupportedCallError(f"the library has no {entry.function}")
                if entry.several:
                    return {"split": self._split, "slices": self._slices}[entry.several](builder, call)
                if entry.merged:
                    return self._merged(builder, entry, call)
                return self._emitted(builder, self._table.planned(entry, call), call)
            except UnsupportedCallError as error:
                reasons.append(str(error))
        raise UnsupportedCallError("; ".join(reasons) or "no function of the interface")

    def fused(self, planned: Planned, call: Any, names: Sequence[str]) -> Any:
        """The call of a function that computes several operators together, which are counted."""
        if planned.scratch:
            raise UnsupportedCallError("it has further results")
        if self._trial is not None:
            self._trial.require(planned, [call.ty])
        self.report.legalized.update(names)
        return self._packed(planned, call.ty)

    def _emitted(self, builder: Any, planned: Planned, call: Any) -> Any:
        """The call of a plan; a tuple where the call that it replaces has one."""
        from tvm import relax

        outs = results_of(call)
        outs = outs[: len(outs) - len(planned.returned)]
        found = self._calls(builder, planned, outs)
        if not isinstance(call.ty, relax.TupleType):
            return found[0]
        return relax.Tuple([*found, *planned.returned])

    def _calls(self, builder: Any, planned: Planned, outs: Sequence[Any]) -> list[Any]:
        """The results of a plan; there is room behind them for those that are not used."""
        from tvm import relax

        if self._trial is not None:
            self._trial.require(planned, outs)
        types = [*outs, *(relax.TensorType(shape, dtype) for shape, dtype in planned.scratch)]
        if len(types) == 1:
            return [self._packed(planned, types[0])]
        call = builder.emit(self._packed(planned, types))
        return [relax.TupleGetItem(call, k) for k in range(len(outs))]

    def _packed(self, planned: Planned, out: Any) -> Any:
        """The call of a packed function in destination-passing style."""
        from tvm import relax

        name = f"diopi.{self._library.number}.{planned.function}"
        if name not in self._registered:
            tvm_ffi().register_global_func(name, self._library.packed(planned.function), override=True)
            self._registered.add(name)
        return relax.call_dps_packed(name, [_argument(one) for one in planned.arguments], out)

    def _merged(self, builder: Any, entry: RelaxOperator, call: Any) -> Any:
        """With the leading dimensions of all tensors merged, which are the same in each."""
        from tvm import relax

        shapes = [shape_of(arg) for arg in call.args]
        leading = [shape[: 1 - entry.merged] for shape in shapes]
        if any(len(shape) < entry.merged or shape[: 1 - entry.merged] != leading[0] for shape in shapes):
            raise UnsupportedCallError(
                f"{entry.function} takes {entry.merged} dimensions, and the others are not the same"
            )
        last = 1 - entry.merged
        args = [
            builder.emit(relax.op.reshape(arg, (math.prod(shape[:last]), *shape[last:])))
            for arg, shape in zip(call.args, shapes, strict=True)
        ]
        merged = builder.normalize(relax.Call(call.op, args, call.attrs, call.ty_args))
        result = builder.emit(self._emitted(builder, self._table.planned(entry, merged), merged))
        return relax.op.reshape(result, call.ty.shape)

    def _split(self, builder: Any, call: Any) -> Any:
        from tvm import relax

        shape = shape_of(call.args[0])
        axis = int(call.attrs.axis) % len(shape)
        sections = call.attrs.indices_or_sections
        if hasattr(sections, "__len__"):
            starts = [0, *(int(start) for start in sections)]
        else:
            starts = list(range(0, shape[axis], -(-shape[axis] // int(sections))))
        parts = []
        for start, end, out in zip(starts, [*starts[1:], shape[axis]], call.ty.fields, strict=True):
            planned = Planned("diopiSlice", [call.args[0], axis, start, end, 1])
            parts.append(builder.emit(self._calls(builder, planned, [out])[0]))
        return relax.Tuple(parts)

    def _slices(self, builder: Any, call: Any) -> Any:
        """One slice for each dimension, as the interface has it."""
        from tvm import relax

        value = call.args[0]
        dtype, shape = str(value.ty.dtype), shape_of(value)
        columns = [[_number(item) for item in part.fields] for part in call.args[1:]]
        columns += [[1] * len(columns[0])] if len(columns) == 3 else []
        for axis, begin, end, step in zip(*columns, strict=True):
            if step < 1:
                raise UnsupportedCallError("a slice runs backwards")
            axis %= len(shape)
            start, stop = (max(0, min(at + shape[axis] if at < 0 else at, shape[axis])) for at in (begin, end))
            shape[axis] = max(0, -(-(stop - start) // step))
            planned = Planned("diopiSlice", [value, axis, start, stop, step])
            value = builder.emit(self._calls(builder, planned, [relax.TensorType(shape, dtype)])[0])
        return value


def _number(value: Any) -> int:
    return int(getattr(value, "value", value))


def _argument(value: Any) -> Any:
    """A number, a text, a list or None as an expression of Relax."""
    from tvm import ir, relax, tirx

    if isinstance(value, bool):
        return tirx.IntImm("bool", value)
    if isinstance(value, int):
        return tirx.IntImm("int64", value)
    if isinstance(value, float):
        return tirx.FloatImm("float64", value)
    if isinstance(value, str):
        return ir.StringImm(value)
    if isinstance(value, (list, tuple)):
        return relax.ShapeExpr(list(value))
    return relax.op.null_value() if value is None else value


def _as_reshape(call: Any) -> Any:
    from tvm import relax

    return call if call.op.name == "relax.reshape" else relax.op.reshape(call.args[0], call.ty.shape)
