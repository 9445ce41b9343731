"""Shared by tests of configurations: a run from text to table, and findings as a user sees them."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from diopigen.config.model import FunctionRule, ResolvedConfig, TensorRule
from diopigen.config.reader import parse_config
from diopigen.config.resolve import resolve
from diopigen.diagnostics import Sink
from diopigen.findings.render import render
from diopigen.ir.model import Interface

DATA = Path(__file__).parent / "data"
FILE = "convert_config.yaml"
NOT_IMPLEMENTED = frozenset({"diopiLinear", "diopiErfinv"})

VENDORS = ("ascend", "camb", "kunlunxin", "muxi", "topsrider", "torch")
VENDOR_FUNCTIONS: dict[str, list[str]] = json.loads((DATA / "vendor_functions.json").read_text())


def vendor_text(vendor: str) -> str:
    """The configuration that a real vendor uses."""
    return (DATA / "vendors" / f"{vendor}.yaml").read_text(encoding="utf-8")


def run(
    text: str, interface: Interface, *, vendor: str = "chip", implemented: Collection[str] | None = None
) -> tuple[ResolvedConfig | None, Sink]:
    """The table and the findings; without `implemented` the vendor has all but two operators."""
    sink = Sink()
    config = parse_config(text, FILE, sink)
    if config is None:
        return None, sink
    if implemented is None:
        implemented = {function.name for function in interface.functions} - NOT_IMPLEMENTED
    return resolve(config, interface, vendor, implemented, sink), sink


def findings(text: str, interface: Interface, implemented: Collection[str] | None = None) -> str:
    """The findings as text, each with the line that it is about."""
    _, sink = run(text, interface, implemented=implemented)
    return render(sink.sorted(), "text", sources=lambda file: text if file == FILE else None)


def table(text: str, interface: Interface) -> ResolvedConfig:
    """The table of a configuration without errors."""
    resolved, sink = run(text, interface)
    assert resolved is not None
    assert not sink.has_errors, render(sink.sorted(), "text")
    return resolved


def function_rule(resolved: ResolvedConfig, name: str) -> FunctionRule:
    """Resolved settings of one function."""
    (rule,) = [rule for rule in resolved.functions if rule.function == name]
    return rule


def tensor_rule(resolved: ResolvedConfig, name: str, param: str) -> TensorRule:
    """Resolved settings of one tensor."""
    (rule,) = [rule for rule in function_rule(resolved, name).tensors if rule.param == param]
    return rule


def casts(rule: TensorRule) -> dict[str, str]:
    """The casts of a tensor, from and to."""
    return {cast.source: cast.target for cast in rule.casts}
