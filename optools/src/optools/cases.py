"""Captures as conformance cases of diopigen: a model table whose calls are those of the captures.

diopigen must be installed. Each different call is a case; small operands keep their values, larger ones their range.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from optools.schema import facts_of
from optools.store import FolderError, Stored

SMALL = 32
"""Elements of a tensor up to which a case has its values."""
_BATCHED = frozenset({"uint8", "int8", "int16", "int32", "int64"})


@dataclass(frozen=True)
class Table:
    """The text of a model table, how many calls became cases, and the others by the reason."""

    text: str
    cases: int
    calls: int
    unmapped: Counter[str]


def table(calls: Iterable[Stored], name: str, values: int = SMALL) -> Table:
    """The model table of some calls. Raises `FolderError` where diopigen is not installed."""
    try:
        from diopigen import api
        from diopigen.conformance.cases.aten_calls import AtenCall, Mapper, MappingError
        from diopigen.conformance.cases.model_text import row_text, table_text
        from diopigen.diagnostics import Sink
        from diopigen.package import package_data
    except ImportError as reason:
        raise FolderError(f"cases need diopigen: {reason}") from None
    workspace = api.Workspace(package_data("specs"), package_data("templates"), "specs")
    mapper = Mapper(api.load(workspace, Sink()).interface)
    counts: Counter[str] = Counter()
    rows: dict[str, Any] = {}
    unmapped: Counter[tuple[str, str, str]] = Counter()
    views: Counter[tuple[str, str]] = Counter()
    allocations: Counter[tuple[str, str]] = Counter()
    total = 0
    for call in calls:
        phase = str(call.line["phase"])
        try:
            facts = facts_of(call.func)
        except LookupError as reason:
            total += 1
            unmapped[phase, call.op, str(reason)] += 1
            continue
        if facts.view or facts.uninitialised:
            (views if facts.view else allocations)[phase, call.op] += 1
            continue
        total += 1
        arguments, results = _arguments(call, facts, values)
        try:
            row = mapper.row(AtenCall(phase, call.op, arguments, results))
        except (MappingError, AssertionError, KeyError, TypeError, ValueError) as reason:
            why = str(reason).splitlines()[0] if isinstance(reason, MappingError) else "its arguments have another form"
            unmapped[phase, call.op, why] += 1
            continue
        text = row_text(row, 0)
        counts[text] += 1
        rows.setdefault(text, row)
    text = table_text(
        name,
        f"Operator calls that were captured: {total} calls, {len(rows)} different ones.",
        torch.__version__.partition("+")[0],
        "optools to-cases",
        [(row, counts[key]) for key, row in rows.items()],
        unmapped,
        views,
        allocations,
    )
    others = Counter({f"{op}: {why}": count for (_, op, why), count in unmapped.items()})
    return Table(text, len(rows), total, others)


def _arguments(call: Stored, facts: Any, values: int) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The arguments by the names of the schema with defaults filled in, and the results, without their memory."""
    named: dict[str, Any] = {}
    known: dict[str, Any] = {}
    if call.has_operands:
        with contextlib.suppress(FolderError):  # an argument that no file holds: the shapes are known all the same
            args, kwargs = call.operands().thaw("cpu")
            known = {facts.argument(index): value for index, value in enumerate(args)} | kwargs
    lines = {facts.argument(index): value for index, value in enumerate(call.line["args"])} | call.line["kwargs"]
    for argument in call.func._schema.arguments:
        if argument.name in lines:
            named[argument.name] = _seen(lines[argument.name], known.get(argument.name), values)
        else:
            named[argument.name] = argument.default_value
    return named, tuple(_seen(value, None, 0) for value in call.line["outputs"])


def _seen(value: Any, tensor: Any, values: int) -> Any:
    from diopigen.conformance.cases.aten_calls import Seen

    if isinstance(value, list):
        others = tensor if isinstance(tensor, (list, tuple)) and len(tensor) == len(value) else [None] * len(value)
        return [_seen(one, other, values) for one, other in zip(value, others, strict=True)]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return Seen(tuple(value["shape"]), value["dtype"], _values(tensor, values))
    if "torch" in value:
        return value["torch"].rpartition(".")[2]
    if "float" in value:
        return float(value["float"])
    return next(iter(value.values()))


def _values(tensor: Any, most: int) -> Any:
    """The values of a small tensor as nested tuples, the range of a large one; None where normal numbers will do."""
    from diopigen.ir.recipe import Drawn

    if not isinstance(tensor, torch.Tensor) or not tensor.numel() or tensor.dtype.is_complex:
        return None
    if tensor.dtype == torch.bool:
        return None
    exact = tensor.double()
    if not bool(exact.isfinite().all()):
        return None
    if tensor.numel() <= most and tensor.dim():
        return _nested(exact.tolist(), not tensor.dtype.is_floating_point)
    low, high = float(exact.min()), float(exact.max())
    if str(tensor.dtype)[6:] in _BATCHED:
        return Drawn("integers", (int(low), int(high) + 1))
    if low >= 0 and high > low:
        return Drawn("uniform", (_rounded(low, down=True), _rounded(high, down=False)))
    return None


def _nested(value: Any, integers: bool) -> Any:
    if isinstance(value, list):
        return tuple(_nested(item, integers) for item in value)
    return int(value) if integers else value


def _rounded(value: float, down: bool) -> float:
    """Two digits, outwards."""
    if value == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    return float(f"{(math.floor if down else math.ceil)(value / unit) * unit:.3g}")


def validated(path: Path) -> list[str]:
    """Output of diopigen for the calls of a written table."""
    from diopigen import api
    from diopigen.conformance.cases.models import check_models
    from diopigen.diagnostics import Sink
    from diopigen.ir.models import load_models
    from diopigen.package import package_data

    workspace = api.Workspace(package_data("specs"), package_data("templates"), "specs")
    sink = Sink()
    models = [one for one in load_models(path.parent.parent, sink, "specs") if one.name == path.stem]
    check_models(api.load(workspace, Sink()).interface, models, sink)
    return [f"{found.span}: {found.message}" for found in sink.sorted() if path.name in str(found.span)]
