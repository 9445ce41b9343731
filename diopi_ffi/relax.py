"""Relax on a library: its operators become calls of packed functions, and what is left over is named.

library = diopi_ffi.load("libdiopi_impl.so")
diopi_ffi.device.register(library)
module, report = diopi_ffi.relax.legalize(module, library)
machine = relax.VirtualMachine(relax.build(module, target="llvm"), [tvm.device("ext_dev", 0)])
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from diopi_ffi.library import Library
from diopi_ffi.relax_table import BY_HAND, INT64_MAX, Planned, Unsuited, by_aten_name

VIEWS = frozenset({"relax.reshape", "relax.flatten", "relax.squeeze", "relax.expand_dims"})
"""Operators that move nothing: TVM's virtual machine makes another tensor over the same memory."""
_NOT_COMPUTED = frozenset(
    {"relax.null_value", "relax.shape_of", "relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed"}
)
_HOST_FUNCTIONS = itertools.count()


@dataclass(slots=True)
class Report:
    """What became of the operators of a module, counted by name. `on_host` and `rejected` have the reason too."""

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


def legalize(module: Any, library: Library, *, leftover: str = "reject") -> tuple[Any, Report]:
    """The module with operators replaced by calls of the library's packed functions, and what became of each.

    `leftover` says what happens to operators that the library has no function for: `reject` raises `LeftOver`, `host`
    runs them on the host, between copies. Left alone, TVM would compile them for the host and let them read the memory
    of the device.
    """
    import tvm
    from tvm import relax

    if leftover not in ("reject", "host"):
        raise ValueError(f"leftover is 'reject' or 'host', not '{leftover}'")
    for simplify in (relax.transform.CanonicalizeBindings(), relax.transform.DeadCodeElimination()):
        module = simplify(module)
    legalizer = _Legalizer(library, on_host=leftover == "host")

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):  # type: ignore[misc, name-defined, unused-ignore]
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if not isinstance(call.op, tvm.ir.Op) or call.op.name in _NOT_COMPUTED:
                return call
            return legalizer.replaced(self.builder_, call)

    if library.has("diopiLinear"):
        module = _with_linear(module, legalizer)
    mutator = Mutator(module)
    for name, function in module.functions_items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(name, mutator.visit_expr(function))
    done = mutator.builder_.get()
    if leftover == "reject" and legalizer.report.leftover:
        raise LeftOver(legalizer.report)
    return done, legalizer.report


class _Legalizer:
    def __init__(self, library: Library, *, on_host: bool) -> None:
        self._library = library
        self._on_host = on_host
        self._registered: set[str] = set()
        self.report = Report()

    def replaced(self, builder: Any, call: Any) -> Any:
        """What computes a call instead."""
        name = call.op.name
        if name in VIEWS:
            self.report.views[name] += 1
            return _as_reshape(call)
        if name.startswith(("relax.memory", "relax.vm", "relax.builtin")):
            return call
        try:
            found = self._computed(builder, call)
            self.report.legalized[name] += 1
            return found
        except Unsuited as error:
            self.report.leftover[name, str(error)] += 1
            return self._host(call) if self._on_host else call

    def _computed(self, builder: Any, call: Any) -> Any:
        from tvm import relax

        name = call.op.name
        if name == "relax.split":
            return self._split(builder, call)
        if name == "relax.strided_slice":
            return self._slices(builder, call)
        planned = BY_HAND[name](call) if name in BY_HAND else self._by_name(call)
        out = call.ty.fields[0] if name == "relax.nn.batch_norm" else call.ty
        result = self._call(builder, planned, out)
        return relax.Tuple([result, *call.args[3:5]]) if name == "relax.nn.batch_norm" else result

    def _by_name(self, call: Any) -> Planned:
        from tvm import relax

        found = by_aten_name(self._library.interface, call.op.name)
        if found is None or any(not isinstance(arg.ty, relax.TensorType) for arg in call.args):
            raise Unsuited("no function of the interface")
        function, defaults = found
        if sum(value is None for value in defaults) != len(call.args):
            raise Unsuited("another number of tensors")
        if call.attrs is not None and any(getattr(call.attrs, str(key)) is not None for key in _keys(call.attrs)):
            raise Unsuited("it has attributes")
        tensors = iter(call.args)
        return Planned(function.name, [next(tensors) if value is None else value for value in defaults])

    def count_fused(self, *names: str) -> None:
        """Counts operators that one call computes together."""
        self.report.legalized.update(names)

    def packed(self, planned: Planned, out: Any) -> Any:
        """The call of a packed function in destination-passing style."""
        from tvm import relax

        self._register(planned.function)
        return relax.call_dps_packed(f"diopi.{planned.function}", [_argument(one) for one in planned.arguments], out)

    def _call(self, builder: Any, planned: Planned, out: Any) -> Any:
        """A call with room for results that are not used."""
        from tvm import relax

        if not self._library.has(planned.function):
            raise Unsuited(f"the library has no {planned.function}")
        types = [out, *(relax.TensorType(shape, dtype) for shape, dtype in planned.scratch)]
        call = self.packed(planned, types if len(types) > 1 else out)
        return relax.TupleGetItem(builder.emit(call), 0) if len(types) > 1 else call

    def _register(self, function: str) -> None:
        if function not in self._registered:
            from diopi_ffi.package import tvm_ffi

            tvm_ffi().register_global_func(f"diopi.{function}", self._library.packed(function), override=True)
            self._registered.add(function)

    def _split(self, builder: Any, call: Any) -> Any:
        from tvm import relax

        shape = [int(size) for size in call.args[0].ty.shape.values]
        axis = int(call.attrs.axis) % len(shape)
        sections = call.attrs.indices_or_sections
        if hasattr(sections, "__len__"):
            starts = [0, *(int(start) for start in sections)]
        else:
            starts = list(range(0, shape[axis], -(-shape[axis] // int(sections))))
        parts = []
        for start, end, out in zip(starts, [*starts[1:], shape[axis]], call.ty.fields, strict=True):
            planned = Planned("diopiSlice", [call.args[0], axis, start, end, 1])
            parts.append(builder.emit(self._call(builder, planned, out)))
        return relax.Tuple(parts)

    def _slices(self, builder: Any, call: Any) -> Any:
        """One slice for each dimension, as the interface has it."""
        from tvm import relax

        value = call.args[0]
        dtype, shape = str(value.ty.dtype), [int(size) for size in value.ty.shape.values]
        columns = [[_number(item) for item in part.fields] for part in call.args[1:]]
        columns += [[1] * len(columns[0])] if len(columns) == 3 else []
        for axis, begin, end, step in zip(*columns, strict=True):
            if step < 1:
                raise Unsuited("a slice runs backwards")
            axis %= len(shape)
            start, stop = (max(0, min(at + shape[axis] if at < 0 else at, shape[axis])) for at in (begin, end))
            shape[axis] = max(0, -(-(stop - start) // step))
            planned = Planned("diopiSlice", [value, axis, start, min(stop, INT64_MAX), step])
            value = builder.emit(self._call(builder, planned, relax.TensorType(shape, dtype)))
        return value

    def _host(self, call: Any) -> Any:
        """The operator compiled for the host, called between copies."""
        import tvm
        from tvm import relax

        from diopi_ffi.package import tvm_ffi

        tensors = [arg for arg in call.args if isinstance(arg.ty, relax.TensorType)]
        outs = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
        builder = relax.BlockBuilder()
        inputs = [relax.Var(f"x{k}", arg.ty) for k, arg in enumerate(tensors)]
        by_position = iter(inputs)
        arguments = [next(by_position) if isinstance(arg.ty, relax.TensorType) else arg for arg in call.args]
        with builder.function("main", inputs):
            builder.emit_func_output(builder.emit(relax.Call(call.op, arguments, call.attrs, call.ty_args)))
        machine = relax.VirtualMachine(relax.build(builder.get(), target="llvm"), [tvm.cpu()])
        name = f"diopi.host.{next(_HOST_FUNCTIONS)}"
        tvm_ffi().register_global_func(name, _between_copies(machine["main"], len(tensors)), override=True)
        return relax.call_dps_packed(name, tensors, outs)


def _between_copies(function: Callable[..., Any], count: int) -> Callable[..., None]:
    """A function of the host that takes `count` tensors of the device, and behind them those that it writes."""
    import tvm

    def called(*tensors: Any) -> None:
        host = [tvm.runtime.empty(tensor.shape, str(tensor.dtype), tvm.cpu()) for tensor in tensors[:count]]
        for target, source in zip(host, tensors[:count], strict=True):
            source.copyto(target)
        found = function(*host)
        for result, out in zip(found if len(tensors) - count > 1 else [found], tensors[count:], strict=True):
            result.copyto(out)

    return called


def _with_linear(module: Any, legalizer: _Legalizer) -> Any:
    """Products with a transposed matrix, with a summand where there is one, as one diopiLinear."""
    from tvm import relax
    from tvm.relax import dpl

    image, weight, bias = dpl.wildcard(), dpl.wildcard(), dpl.wildcard()
    turned = dpl.is_op("relax.permute_dims")(weight)
    product = dpl.is_op("relax.matmul")(image, turned)
    added = dpl.is_op("relax.add")(product, bias) | dpl.is_op("relax.add")(bias, product)

    def rewritten(call: Any, matched: Any) -> Any:
        matrix, summand = matched[weight], matched.get(bias)
        shape = matrix.ty.shape.values
        axes = matched[turned].attrs.axes
        if len(shape) != 2 or (axes is not None and [int(axis) for axis in axes] != [1, 0]):
            return call
        if summand is not None and [int(size) for size in summand.ty.shape.values] != [int(shape[0])]:
            return call
        legalizer.count_fused("relax.matmul", "relax.permute_dims", *(["relax.add"] if summand is not None else []))
        return legalizer.packed(Planned("diopiLinear", [matched[image], matrix, summand]), call.ty)

    for pattern in (added, product):
        for name, function in module.functions_items():
            if isinstance(function, relax.Function):
                module.update_func(name, dpl.rewrite_call(pattern, rewritten, function))
    return relax.transform.DeadCodeElimination()(module)


def _keys(attrs: Any) -> list[Any]:
    return list(attrs.keys())


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
