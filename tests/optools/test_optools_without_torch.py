"""One line where torch is not installed, and the rest of optools that needs none."""

from __future__ import annotations

import importlib.util

import pytest
from optools.expression import ExpressionError, Names, Steps


def test_torch_is_installed() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: tests/optools is left out; pip install 'diopigen[torch]' installs it")


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("mm,add.*", ["mm", "add.Tensor", "add_"], ["bmm", "mm.out"]),
        ("torch.add", ["torch.add"], ["torchxadd", "torch.addmm"]),
        (r"(add|mul)_?\..*", ["add.Tensor", "mul_.Scalar"], ["add", "submul.x"]),
        (r"a{1,2}", ["a", "aa"], ["aaa"]),
        ("", [], ["mm"]),
    ],
)
def test_expressions_are_full_names(text: str, yes: list[str], no: list[str]) -> None:
    names = Names(text)
    assert [name for name in yes + no if names.match(name)] == yes
    assert bool(names) == bool(text)


def test_a_broken_expression_is_named() -> None:
    with pytest.raises(ExpressionError, match=r"'add\(' is no regular expression"):
        Names("add(")


@pytest.mark.parametrize(
    ("text", "steps"),
    [("3", [3]), ("2:5", [2, 3, 4]), ("::4", [0, 4, 8]), ("1,7", [1, 7]), ("8:", [8, 9]), (None, list(range(10)))],
)
def test_steps_are_slices(text: str | None, steps: list[int]) -> None:
    own = Steps.of(text)
    assert [step for step in range(10) if own.contain(step)] == steps
    assert own.all == (text is None)


@pytest.mark.parametrize("text", ["x", "1:2:3:4", "-1", "1::0", ","])
def test_broken_steps_are_named(text: str) -> None:
    with pytest.raises(ExpressionError, match="is no range of steps: write 3, 3:10 or ::100"):
        Steps.of(text)
