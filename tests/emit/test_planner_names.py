"""The functions and forms that the planner of compiled graphs names in its code are those that the spec has for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from diopigen.completeness.sources import fused_forms
from diopigen.emit.torch.compiled import call_bindings, functions_of
from diopigen.emit.torch.forms import families, kernels_of
from diopigen.ir.model import Interface

ROOT = Path(__file__).parents[2]
PLANNER = ROOT / "diopi_torch/src/diopi_torch"
_FUNCTION = re.compile(r"diopi[A-Z0-9]\w*")


def _named() -> Iterator[str]:
    """The names of functions in the planner's code; an f-string has the beginning of one."""
    for path in sorted(PLANNER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FUNCTION.fullmatch(node.value):
                yield node.value


def test_what_the_planner_calls_is_in_its_table(interface: Interface) -> None:
    known = families(interface)
    table = functions_of(interface, call_bindings(interface, known, kernels_of(interface, known)))
    others = {*interface.named_types, *(f.name for f in interface.functions if f.header == interface.types_header)}
    named = set(_named()) - others
    assert len(named) > 20
    assert [name for name in sorted(named) if not any(function.startswith(name) for function in table)] == []


def test_what_is_planned_is_named_by_the_planner(interface: Interface) -> None:
    named = set(_named())
    planned = [function.name for function in interface.functions if function.planned]
    assert len(planned) > 20
    assert [name for name in planned if not any(name.startswith(one) for one in named)] == []


def test_forms_of_the_spec_are_those_of_the_planner(interface: Interface) -> None:
    forms = fused_forms(ROOT)
    assert forms is not None
    assert {fused.form for function in interface.functions for fused in function.fused} == set(forms)
