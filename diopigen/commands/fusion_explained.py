"""Answers to `diopigen explain --fusion`: what compiled graphs fuse, by the spec, or by the report of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diopigen.commands.explanations import named_function
from diopigen.diagnostics import failure
from diopigen.emit.elementwise.kernels import kernel_text
from diopigen.emit.torch.compiled import CallBinding, call_bindings, fusibility, reductions
from diopigen.emit.torch.forms import families, kernels_of
from diopigen.ir.model import Interface

_LAST = "  (last dimensions)"
RULES = {"fusion-report": "A report of compiled graphs is what DIOPI_COMPILE_REPORT saves."}


def explain_fusion(interface: Interface, name: str | None, with_sources: bool) -> str:
    """All functions; one of them, by its name; or the report of a run, by its path. Raises `Failure`."""
    if name is not None and ("." in name or "/" in name or Path(name).is_file()):
        return "\n".join(_report(Path(name), with_sources))
    known = families(interface)
    calls = call_bindings(interface, known, kernels_of(interface, known))
    why = fusibility(interface, calls)
    if name is None:
        return "\n".join(_all(interface, why, _overloads(interface, calls)))
    return "\n".join(_function(interface, name, why, _overloads(interface, calls)))


def _overloads(interface: Interface, calls: Sequence[CallBinding]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for call in calls:
        found.setdefault(call.function.name, []).append(call.overload)
    for overload, (_, function) in reductions(interface).items():
        if overload not in found.setdefault(function.name, []):
            found[function.name].append(overload)
    return found


def _all(interface: Interface, why: Mapping[str, str], overloads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    fused = [name for name, reason in why.items() if not reason]
    forms: dict[str, list[str]] = {}
    for overload, (_, function) in reductions(interface).items():
        forms.setdefault(function.name, []).append(overload)
    yield f"{len(fused)} of {len(why)} functions can be part of a fused kernel:"
    for name in fused:
        own = forms.get(name, overloads.get(name, ()))
        yield f"  {name:<32} {', '.join(own)}{_LAST if name in forms else ''}"
    yield "The others cannot, because"
    for reason, count in Counter(reason for reason in why.values() if reason).most_common():
        yield f"  {count:>4}  {reason}"


def _function(
    interface: Interface, name: str, why: Mapping[str, str], overloads: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    function = named_function(interface, name)
    reason = why[function.name]
    yield f"{function.name}: {f'not fused: {reason}' if reason else 'can be part of a fused kernel'}"
    if function.name in overloads:
        yield f"  serves {', '.join(overloads[function.name])}"
    if reason:
        return
    if own := [
        f"{overload} as {form}" for overload, (form, owner) in reductions(interface).items() if owner is function
    ]:
        yield f"  reduces the last dimensions, a row at a time: {', '.join(own)}"
        return
    kernel = kernel_text(function)
    for kind, constant, value in ((kind, each, value) for each, kind, value in kernel.constants):
        yield f"  const {kind} {constant}_ = {value};"
    yield from (f"  {line}" for line in kernel.lines)


def _report(path: Path, with_sources: bool) -> Iterator[str]:
    for number, graph in enumerate(_graphs(path), start=1):
        kernels = graph["kernels"]
        fused = sum(len(nodes) for kernel in kernels for nodes in kernel["uses"])
        yield f"graph {number}: {graph['steps']} steps, {graph['arena']} bytes of arena, {fused} nodes fused"
        for kernel in kernels:
            for nodes in kernel["uses"]:
                yield f"  {kernel['name']}: {', '.join(node['overload'] for node in nodes)}"
                yield from _lines(nodes)
            if with_sources:
                yield from (f"    | {line}" for line in kernel["source"].splitlines())
        yield from _grouped("not fused", graph["not_fused"])
        yield from _grouped("through the dispatcher", graph["dispatched"])
        yield from _layouts(graph)


def _grouped(title: str, nodes: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Nodes by reason and overload, the most frequent first."""
    found = Counter((node["why"], node["overload"]) for node in nodes)
    if found:
        yield f"  {title}:"
    for (why, overload), count in found.most_common():
        yield f"    {count:>4}  {overload}: {why}"


def _layouts(graph: Mapping[str, Any]) -> Iterator[str]:
    """The layouts that functions demand, and the conversions that the graph has for them."""
    if found := Counter(_layout_text(node) for node in graph.get("layouts", ())):
        yield "  layouts:"
        yield from (f"    {count:>4}  {text}" for text, count in found.most_common())
    if conversions := Counter(node["to"] for node in graph.get("conversions", ())):
        yield "  conversions of layouts:"
        yield from (f"    {count:>4}  to {layout}" for layout, count in conversions.most_common())


def _layout_text(node: Mapping[str, Any]) -> str:
    """`convolution: input and weight channels_last`."""
    tensors: dict[str, list[str]] = {}
    for tensor, layout in node["layouts"].items():
        tensors.setdefault(layout, []).append(tensor)
    texts = (f"{', '.join(own)} {layout}" for layout, own in tensors.items())
    return f"{node['overload']}: {'; '.join(texts)}"


def _lines(nodes: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for line in dict.fromkeys(node["line"] for node in nodes if node["line"]):
        yield f"    {line}"


def _graphs(path: Path) -> list[dict[str, Any]]:
    try:
        graphs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        if all({"steps", "arena", "kernels", "not_fused", "dispatched"} <= graph.keys() for graph in graphs):
            return graphs
        reason = "a line lacks keys of a graph"
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, AttributeError) as error:
        reason = str(error)
    raise failure("fusion-report", f"{path} is no report of compiled graphs: {reason}")
