"""The table of call forms: it covers what glue calls, and each of its entries is a whole call."""

from __future__ import annotations

from collections import Counter

from host_calls import calls, pairs

from diopigen.ir.model import Interface


def test_every_function_that_glue_calls_has_a_form(interface: Interface) -> None:
    covered = {call.case.function for call in calls(interface)}
    assert covered == set(pairs())
    assert len(covered) == 261


def test_every_form_has_a_name_of_its_own(interface: Interface) -> None:
    twice = [name for name, count in Counter(call.case.id for call in calls(interface)).items() if count > 1]
    assert twice == []


def test_every_function_is_one_of_the_interface(interface: Interface) -> None:
    assert [name for name in pairs() if interface.function(name) is None] == []
