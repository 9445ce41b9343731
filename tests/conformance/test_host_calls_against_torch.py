"""Calls of hosts: the oracles against ATen on the call forms of tests/host_calls."""

from __future__ import annotations

import pytest
from host_calls import calls

pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

from aten_runs import failures, torch_results

from diopigen.ir.model import Interface


def test_oracles_agree_with_torch_on_host_calls(interface: Interface) -> None:
    random = {f.name for f in interface.functions if f.tolerance == "random"}
    asked = [call for call in calls(interface) if not call.not_in_torch and call.case.function not in random]
    results = torch_results(interface, (call.case for call in asked))
    assert failures(results) == {}
    assert sum(result.outcome == "passed" for result in results.results) > 900


def test_what_is_not_compared_cannot_be(interface: Interface) -> None:
    """A reason in the table that nothing needs is a mistake."""
    left_out = [call for call in calls(interface) if call.not_in_torch]
    results = torch_results(interface, (call.case for call in left_out))
    passed = {result.case.id.partition("@")[0] for result in results.results if result.outcome == "passed"}
    agrees: dict[tuple[str, str], list[bool]] = {}
    for call in left_out:
        agrees.setdefault((call.case.function, call.form), []).append(call.case.id in passed)
    assert [form for form, each in agrees.items() if all(each)] == []
