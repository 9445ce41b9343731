"""Report on a plan: shown by `DIOPI_COMPILE_LOG`, saved by `DIOPI_COMPILE_REPORT` for `diopigen explain --fusion`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.fx

from .graph_nodes import overload_name, source_of


@dataclass(frozen=True)
class Note:
    """Nodes that became a kernel, or the reason why they did not."""

    nodes: tuple[torch.fx.Node, ...]
    kernel: str = ""
    why: str = ""
    is_failure: bool = False
    """The device has not compiled the kernel: it may another time."""

    def text(self) -> str:
        """A line of the log."""
        named = ", ".join(f"{node.name} ({node.target})" for node in self.nodes)
        return f"{self.kernel}: {named}" if self.kernel else f"{named}: {self.why}"


def show(planned: Any) -> None:
    """Reports that the environment requests: `DIOPI_COMPILE_LOG` has `fusion` (what was fused, and why other nodes
    were not), `source` (the kernels) or `plan` (the plan as JSON), several with commas, on standard error;
    `DIOPI_COMPILE_REPORT` names a file to which each plan adds a line of JSON."""
    words = os.environ.get("DIOPI_COMPILE_LOG", "").split(",")
    document, notes = planned.document, planned.notes
    lines = [f"diopi: fusion: {note.text()}" for note in notes] if "fusion" in words else []
    if "source" in words:
        kernels = [step["kernel"] for step in document["steps"] if "kernel" in step]
        lines += [f"diopi: source of {kernel['name']}:\n{kernel['source']}" for kernel in kernels]
    if "plan" in words:
        lines.append(f"diopi: plan: {json.dumps(document)}")
    if lines:
        print("\n".join(lines), file=sys.stderr)
    if path := os.environ.get("DIOPI_COMPILE_REPORT"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(report(planned.resolved(), notes)) + "\n")


def report(document: dict[str, Any], notes: Sequence[Note]) -> dict[str, Any]:
    """A plan as `diopigen explain --fusion` reads it: its kernels, nodes that are in none of them, and nodes that went
    through the dispatcher."""
    sources = {step["kernel"]["name"]: step["kernel"]["source"] for step in document["steps"] if "kernel" in step}
    kernels: dict[str, dict[str, Any]] = {}
    single = []
    for note in notes:
        if note.kernel:
            own = kernels.setdefault(note.kernel, {"name": note.kernel, "source": sources[note.kernel], "uses": []})
            own["uses"].append([_described(node) for node in note.nodes])
        else:
            single += [{**_described(node), "why": note.why} for node in note.nodes]
    dispatched = [
        {"node": step["node"], "overload": step["overload"], "line": step["source"], "why": step["reason"]}
        for step in document["steps"]
        if "reason" in step
    ]
    layouts = [
        {"node": step["node"], "overload": step["overload"], "line": step["source"], "layouts": step["layouts"]}
        for step in document["steps"]
        if "layouts" in step
    ]
    converted = [step.get("converts", {}) for step in document["steps"]]
    return {
        "steps": len(document["steps"]),
        "arena": document["arena"],
        "kernels": list(kernels.values()),
        "not_fused": single,
        "dispatched": dispatched,
        "layouts": layouts,
        "conversions": [{"node": node, "to": layout} for own in converted for node, layout in own.items()],
    }


def _described(node: torch.fx.Node) -> dict[str, str]:
    target = node.target
    name = overload_name(target) if isinstance(target, torch._ops.OpOverload) else str(target)
    return {"node": node.name, "overload": name, "line": source_of(node)}
