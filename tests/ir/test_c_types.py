"""Facts about C types that follow from their text."""

from __future__ import annotations

import pytest

from diopigen.ir.c_types import is_written_through

WRITTEN = [
    "float *",
    "void *",
    "float **",
    "const float **",
    "handle_t *",
    "T &",
    "float *__restrict",
    "int *const",
    "constant *",
]
READ = ["float", "const float", "const float *", "float *const *", "const char *const *", "const T &", "plan_t"]
READ += ["double[2]", "const float *__restrict", "void (*)(int *)", "int *(*)(void)", ""]


@pytest.mark.parametrize(("c_type", "written"), [*((one, True) for one in WRITTEN), *((one, False) for one in READ)])
def test_a_function_writes_through_a_pointer_to_what_is_not_const(c_type: str, written: bool) -> None:
    assert is_written_through(c_type) is written
