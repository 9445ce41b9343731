"""A spec without findings of `check` can be generated: operators removed or renamed, and errors that emitters
report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sampling import first

from diopigen import api
from diopigen.check.rule import check_interface
from diopigen.diagnostics import Failure, Severity, Sink
from diopigen.ir.model import Function, Interface


def with_functions(interface: Interface, change: dict[str, Function | None]) -> Interface:
    """The interface with some functions replaced, or taken away for None."""
    headers = []
    for header in interface.headers:
        functions = (change.get(function.name, function) for function in header.functions)
        headers.append(replace(header, functions=tuple(one for one in functions if one is not None)))
    names = {one.name: interface.file_of[old] for old, one in change.items() if one is not None}
    return replace(interface, headers=tuple(headers), file_of={**interface.file_of, **names})


def refusals(interface: Interface, where: api.Workspace) -> list[str]:
    """Errors of `generate`, by target."""
    found = []
    for target in api.targets():
        try:
            api.plan(interface, where, Sink(), [target])
        except Failure as fault:
            found += [diagnostic.message for diagnostic in fault.diagnostics]
    return found


def checked(interface: Interface, where: api.Workspace) -> list[str]:
    sink = Sink()
    check_interface(interface, sink)
    api.check_targets(interface, where, sink)
    return [found.message for found in sink.sorted() if found.severity is Severity.ERROR]


# Of glue, attention, a kernel alone, and the queries of tensors.
@pytest.mark.parametrize("operator", first(["FlashAttention", "Abs", "Addcmul", "Sign"]))
@pytest.mark.parametrize("renamed", first([False, True]))
def test_an_operator_that_is_gone_or_renamed(
    operator: str, renamed: bool, interface: Interface, workspace: api.Workspace
) -> None:
    change: dict[str, Function | None] = {}
    for function in interface.functions:
        if function.operator == operator:
            other = function.name.replace(operator, f"{operator}Anew")
            change[function.name] = replace(function, name=other, operator=f"{operator}Anew") if renamed else None
    broken = with_functions(interface, change)
    assert set(refusals(broken, workspace)) <= set(checked(broken, workspace))


def test_the_spec_as_it_is_has_neither(interface: Interface, workspace: api.Workspace) -> None:
    assert refusals(interface, workspace) == [] == checked(interface, workspace)


@pytest.mark.parametrize(
    ("name", "target"), first([("status", "dispatch"), ("kernels", "entry"), ("all_fit", "adaptor")])
)
def test_no_parameter_is_called_like_a_variable_of_generated_code(
    name: str, target: str, interface: Interface, workspace: api.Workspace
) -> None:
    function = interface.function("diopiRelu")
    assert function is not None
    params = [replace(param, name=name) if param.name == "input" else param for param in function.params]
    broken = with_functions(interface, {"diopiRelu": replace(function, params=tuple(params), kernel=None)})
    assert f"diopiRelu: '{name}' is a variable of generated code ({target})" in checked(broken, workspace)
