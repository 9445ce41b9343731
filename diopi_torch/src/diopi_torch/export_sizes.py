"""Sizes that a saved graph leaves open: named dimensions of its inputs, and the plans that it needs for them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from .planner import Plan
from .symbols import Source

SMALLEST = 2
"""PyTorch traces dimensions of no element and of one for themselves."""
LARGEST = 1 << 16
"""Of the sizes that plans are looked for."""
MOST_PLANS = 16


@dataclass(frozen=True)
class Dimension:
    """A dimension that is open, by its name."""

    name: str
    least: int = SMALLEST
    most: float = math.inf

    def text(self) -> str:
        """Its range."""
        return (
            f"{self.name} from {self.least} to {self.most}"
            if self.most < math.inf
            else f"{self.name} from {self.least}"
        )


def dimensions_of(argument: Any, shapes: Any, name: str) -> list[dict[int, Dimension]]:
    """The open dimensions of each tensor of an argument, as `torch.export` has them: for a tensor None, dimensions by
    their index, or a list with one for each, where a dimension is a `torch.export.Dim`, a name or None. Raises
    `ValueError`."""
    if isinstance(argument, torch.Tensor):
        listed = dict(enumerate(shapes)) if isinstance(shapes, (list, tuple)) else dict(shapes or {})
        if any(not -argument.dim() <= k < argument.dim() for k in listed):
            raise ValueError(f"{name} has {argument.dim()} dimensions, and dynamic_shapes {sorted(listed)}")
        found = {k % argument.dim(): _dimension(one, f"{name}_{k}") for k, one in listed.items() if one is not None}
        return [found]
    if isinstance(argument, (list, tuple)):
        own = [None] * len(argument) if shapes is None else shapes
        if len(own) != len(argument):
            raise ValueError(f"{name} has {len(argument)} parts, and dynamic_shapes {len(own)}")
        pairs = zip(argument, own, strict=True)
        return [one for k, (each, shape) in enumerate(pairs) for one in dimensions_of(each, shape, f"{name}_{k}")]
    if isinstance(argument, Mapping):
        named = shapes or {}
        return [one for key, each in argument.items() for one in dimensions_of(each, named.get(key), f"{name}_{key}")]
    return []


def _dimension(given: Any, name: str) -> Dimension:
    if isinstance(given, str):
        return Dimension(given)
    least, most = getattr(given, "min", None), getattr(given, "max", None)
    if isinstance(given, type) or hasattr(given, "__name__"):
        name = given.__name__
    elif type(given).__name__ != "_DimHint":
        raise ValueError(f"{given!r} is no dimension: a torch.export.Dim, a name or None are")
    return Dimension(name, max(SMALLEST, least or 0), math.inf if most is None or most > 1 << 62 else most)


def dimensions_of_program(program: torch.export.ExportedProgram) -> list[dict[int, Dimension]]:
    """The open dimensions of each input of what `torch.export` made. Raises `ValueError`."""
    named = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    found = []
    for name in program.graph_signature.user_inputs:
        value = named[name].meta["val"] if name in named else None
        if not isinstance(value, torch.Tensor):
            continue
        own = {}
        for k, size in enumerate(value.shape):
            if not isinstance(size, torch.SymInt):
                continue
            expression = size.node.expr
            if not expression.is_Symbol:
                raise ValueError(f"dimension {k} of {name} is {expression}: only names can be saved")
            limits = program.range_constraints.get(expression)
            most = limits.upper if limits is not None and limits.upper.is_Integer else math.inf
            least = int(limits.lower) if limits is not None and limits.lower.is_Integer else 0
            own[k] = Dimension(str(expression), max(SMALLEST, least), most if most == math.inf else int(most))
        found.append(own)
    return found


@dataclass
class Tracing:
    """Inputs without elements, whose open dimensions are symbols. Dimensions of one name are one symbol."""

    mode: FakeTensorMode = field(
        default_factory=lambda: FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    )
    symbols: dict[str, tuple[Dimension, torch.SymInt]] = field(default_factory=dict)

    def parameter(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor of the model."""
        return self.mode.from_tensor(value, static_shapes=True)

    def input(self, value: torch.Tensor, open_dimensions: Mapping[int, Dimension], name: str) -> torch.Tensor:
        """An example of an input. Raises `ValueError` where its sizes are not those of the names."""
        from torch._dynamo.source import ConstantSource

        if not open_dimensions:
            return self.mode.from_tensor(value, static_shapes=True)
        sizes = [DimDynamic.DYNAMIC if k in open_dimensions else DimDynamic.STATIC for k in range(value.dim())]
        context = StatelessSymbolicContext(dynamic_sizes=sizes, constraint_sizes=[None] * value.dim())
        made = self.mode.from_tensor(value, symbolic_context=context, source=ConstantSource(name))
        for k, dimension in open_dimensions.items():
            self._name(dimension, made.shape[k], value.shape[k])
        return made

    def _name(self, dimension: Dimension, size: Any, example: int) -> None:
        other = self.symbols.setdefault(dimension.name, (dimension, size))
        # These comparisons are guards: PyTorch knows the outcome from here on.
        if other[0] != dimension:
            raise ValueError(f"{dimension.name} has two ranges: {other[0].text()}, {dimension.text()}")
        if other[1] is not size and not bool(other[1] == size):
            raise ValueError(f"{dimension.name} has {other[1].node.hint} and {example} elements in the examples")
        if size < dimension.least or (dimension.most < math.inf and size > dimension.most):
            raise ValueError(f"an example has {example} elements where {dimension.text()}")

    def hint(self, symbol: Any) -> int:
        """Its size in the example."""
        env = self.mode.shape_env
        return next(int(size.node.hint) for _, size in self.symbols.values() if env.replace(size.node.expr) == symbol)

    def names(self) -> dict[Any, str]:
        """Of the symbols."""
        env = self.mode.shape_env
        return {env.replace(size.node.expr): name for name, (_, size) in self.symbols.items()}

    def guards(self) -> list[Any]:
        """Conditions on sizes that the trace assumes."""
        env = self.mode.shape_env
        return [env.replace(guard.expr) for guard in env.guards]


def plans_for(make: Callable[[Mapping[Any, int]], Plan], sources: Sequence[Source], values: Mapping[Any, int],
              guards: Sequence[Any]) -> list[Plan]:  # fmt: skip
    """Plans that together are for the sizes that are open, as far as sizes of both ends and powers of two tell. `make`
    plans for the values of the symbols."""
    import sympy

    plans = [make(values)]
    for candidate in _candidates(sources, values):
        assigned = {symbol: sympy.Integer(value) for symbol, value in candidate.items()}
        if all(guard.xreplace(assigned) == sympy.true for guard in guards) and not any(
            _accepts(plan, sources, candidate) for plan in plans
        ):
            plans.append(make(candidate))
        if len(plans) == MOST_PLANS:
            break
    return plans


def _candidates(sources: Sequence[Source], values: Mapping[Any, int]) -> list[dict[Any, int]]:
    least = {source.symbol: int(max(source.least, SMALLEST)) for source in sources}
    most = {source.symbol: int(min(source.most, LARGEST)) for source in sources}
    found = [least, most] if sources else []
    for source in sources:
        own = source.symbol
        sizes = {1 << k for k in range(1, LARGEST.bit_length()) if least[own] <= 1 << k <= most[own]}
        found += [{**values, own: size} for size in sorted({least[own], *sizes, most[own]})]
    return found


def _accepts(plan: Plan, sources: Sequence[Source], values: Mapping[Any, int]) -> bool:
    symbols = [values[source.symbol] for source in sources]
    held, _ = torch.ops.diopi.evaluate(json.dumps(plan.document["expressions"]), symbols)
    return all(held[one["expression"]] for one in plan.document["conditions"])
