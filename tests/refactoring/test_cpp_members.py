"""Members of arguments in C++: only those of the kernels that are meant, and none in comments and texts."""

# ruff: noqa: E501 (a row is a line)

from __future__ import annotations

import pytest

from diopigen.refactoring.cpp import member_edits, members_of_any
from diopigen.spec.text_edits import applied


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("void f(const SumArgs& args) { g(args.dim); }", "void f(const SumArgs& args) { g(args.axis); }"),
        ("void f(const k::SumArgs& a, int n) { a.dim; }", "void f(const k::SumArgs& a, int n) { a.axis; }"),
        ("void f(const SumArgs& a) { if (n) { a\n.dim; } a.dim; }", "void f(const SumArgs& a) { if (n) { a\n.axis; } a.axis; }"),
        ("void f(const SumArgs& a) { a.dims; b.dim; a.x.dim; dim; }", None),
        ("void f(const SumArgs& a) { // a.dim }\n }", None),
        ('void f(const SumArgs& a) { g("a.dim }"); /* a.dim */ }', None),
        ("void f(const SumArgs& a);\nvoid g(const MaxArgs& a) { a.dim; }", None),
        ("void f(const SumArgs& a) { }\nint b = a.dim;", None),
        ("void f(const SumArgs& /*args*/) { args.dim; }", None),
        ("void f(const SumArgs& a) { '}'; a.dim; }", "void f(const SumArgs& a) { '}'; a.axis; }"),
        ("void f(const SumArgs& a) { auto g = [&](int i) { return a.dim; }; }", "void f(const SumArgs& a) { auto g = [&](int i) { return a.axis; }; }"),
    ],
)  # fmt: skip
def test_what_is_renamed(text: str, result: str | None) -> None:
    assert applied(member_edits(text, ["SumArgs"], "dim", "axis"), text) == (result or text)


def test_what_takes_the_arguments_of_any_operator() -> None:
    text = (
        "template <typename Args>\nint f(const Args& args) { return args.dim; }\n"
        "int g(const MaxArgs& args) { return args.dim; }\n"
        "struct Of { const Args& args_; int h() { return args_.dim; } };\n"
    )
    assert [text.count("\n", 0, position) for position in members_of_any(text, "dim")] == [1, 3]
