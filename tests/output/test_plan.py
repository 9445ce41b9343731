"""A plan that exists is safe to carry out; one that is not safe cannot be made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_helpers import file_sets, plan_of

from diopigen.diagnostics import Failure, Sink
from diopigen.emit.plan import Plan, PlannedFile, merge_plans, unsafe_reason


def test_is_a_sorted_mapping() -> None:
    plan = Plan((PlannedFile("b", b"2", ("y", "x", "y")), PlannedFile("a/z", b"1", ("x",))))
    assert list(plan.items()) == [("a/z", b"1"), ("b", b"2")]
    assert plan.inputs("b") == ("x", "y")
    assert plan.all_inputs() == ("x", "y")
    assert len(plan) == 2 and "b" in plan and "c" not in plan
    assert plan == Plan(tuple(reversed(plan.files)))


@given(file_sets())
def test_order_of_files_does_not_matter(files: dict[str, bytes]) -> None:
    assert plan_of(files) == plan_of(dict(reversed(files.items())))
    assert dict(plan_of(files)) == files


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "it is empty"),
        ("/etc/passwd", "it is absolute"),
        ("..", "it has the part '..'"),
        ("a/../b", "it has the part '..'"),
        ("a/./b", "it has the part '.'"),
        ("a//b", "it has the part ''"),
        ("a/", "it has the part ''"),
        ("a\\b", "it has the character '\\\\'"),
        ("c:x", "it has the character ':'"),
        ("a\nb", "it has the character '\\n'"),
        ("a\x7f", "it has the character '\\x7f'"),
        ("a /b", "the part 'a ' starts or ends with a space or ends with a dot"),
        ("a./b", "the part 'a.' starts or ends with a space or ends with a dot"),
        ("x" * 256, "a part of it is longer than 255 bytes"),
        ("ü" * 128, "a part of it is longer than 255 bytes"),
        ("a/.diopigen-x", "names that start with '.diopigen-' are reserved"),
        ("MANIFEST.json", "'MANIFEST.json' is reserved"),
        ("manifest.JSON", "'MANIFEST.json' is reserved"),
        ("\udc80", "it is not valid Unicode"),
    ],
)
def test_unsafe_paths(path: str, reason: str) -> None:
    assert unsafe_reason(path) == reason
    with pytest.raises(Failure) as caught:
        Plan((PlannedFile(path, b"", emitter="c"),))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "plan-path-unsafe",
        f"cannot plan the file '{path}' from c: {reason}",
    )
    assert found.fix == "give it a relative path with '/' between plain names"


@pytest.mark.parametrize(
    "path", ["a", "x" * 255, "ü" * 127, "a b/c.h", ".gitignore", "sub/MANIFEST.json", "..."[:1] + "x"]
)
def test_safe_paths(path: str) -> None:
    assert unsafe_reason(path) is None


@given(st.text(max_size=30))
def test_a_safe_path_stays_below_the_root(path: str) -> None:
    if unsafe_reason(path) is None:
        parts = path.split("/")
        assert all(part not in ("", ".", "..") for part in parts) and "\0" not in path


def test_all_unsafe_files_are_named_at_once() -> None:
    with pytest.raises(Failure) as caught:
        Plan((PlannedFile("../x", b""), PlannedFile("y", b"", ("/home/me/op.yaml",))))
    assert [found.message for found in caught.value.diagnostics] == [
        "cannot plan the file '../x': it has the part '..'",
        "cannot name the input '/home/me/op.yaml' of 'y': it is absolute",
    ]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a/x.h", "a/x.h", "'a/x.h' is written by c and by torch"),
        ("a/x.h", "a/X.h", "'a/x.h' (c) and 'a/X.h' (torch) differ in case only: 'a/x.h' and 'a/X.h'"),
        ("a/x.h", "A/y.h", "'a/x.h' (c) and 'A/y.h' (torch) differ in case only: 'a' and 'A'"),
        ("u\u0308", "\u00fc", "'u\u0308' (c) and '\u00fc' (torch) differ in case only: 'u\u0308' and '\u00fc'"),
        ("a", "a/x.h", "'a' is a file for c, but a folder for torch"),
        ("a/x.h", "a", "'a' is a file for torch, but a folder for c"),
    ],
)
def test_merge_reports_two_emitters_at_one_path(first: str, second: str, message: str) -> None:
    one = Plan((PlannedFile(first, b"1", emitter="c"), PlannedFile("z", b"", emitter="c")))
    two = Plan((PlannedFile(second, b"1", emitter="torch"), PlannedFile("w", b"", emitter="torch")))
    sink = Sink()
    merged = merge_plans([one, two], sink)
    assert sorted(merged) == sorted([first, "w", "z"])
    (found,) = sink.sorted()
    assert (found.code, found.message, found.fix) == (
        "plan-path-collision",
        message,
        "rename one of them; a path has one emitter",
    )
    with pytest.raises(Failure) as caught:
        Plan(one.files + two.files)
    assert [d.code for d in caught.value.diagnostics] == ["plan-path-collision"]


def test_merge_of_plans_that_agree() -> None:
    sink = Sink()
    merged = merge_plans([plan_of({"a/x": b"1"}), plan_of({"a/y": b"2"}), Plan()], sink)
    assert dict(merged) == {"a/x": b"1", "a/y": b"2"}
    assert not len(sink)
