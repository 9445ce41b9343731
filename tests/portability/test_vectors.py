"""Instructions are read for inner loops, and for whether these compute with vectors."""

from __future__ import annotations

from pathlib import Path

import pytest
import vectors
from vectors import Loop, Vectors

SUM = """\
 2c:\tmov\tv0.16b, v1.16b
 30:\tldr\tq2, [x0], #16
 34:\t{instruction}
 38:\tcmp\tx0, x1
 3c:\tb.ne\t30 <sum(float const*, long)+0x4>  // b.any
 40:\tfadd\tv0.4s, v0.4s, v0.4s
 44:\tret""".replace(" 2c", "  2c")


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("fadd\tv0.4s, v0.4s, v2.4s", Vectors.COMPUTED),
        ("bl\t0 <_ZGVnN4v_diopi_cpu_expf>", Vectors.COMPUTED),
        ("st1\t{v0.4s}, [x2]", Vectors.MOVED),
        ("mov\tv0.16b, v2.16b", Vectors.MOVED),
        ("fadd\ts0, s0, s2", Vectors.MOVED),
    ],
)
def test_vectors_count_within_a_loop(instruction: str, expected: Vectors) -> None:
    assert vectors.neon(SUM.format(instruction=instruction).split("\n")) is expected


def test_what_is_around_a_loop_does_not_count() -> None:
    scalar = SUM.replace("q2", "s2").format(instruction="fadd\ts0, s0, s2").split("\n")
    assert vectors.neon(scalar) is Vectors.NONE
    outer = [*scalar[:-1], " 44:\tcbnz\tx3, 2c <sum(float const*, long)>", " 48:\tret"]
    assert vectors.neon(outer) is Vectors.NONE
    assert [[each[0] for each in loop] for loop in vectors.inner_loops(outer)] == [[0x30, 0x34, 0x38, 0x3C]]
    assert vectors.neon([*scalar, " 48:\tbl\t0 <memset>"]) is Vectors.MOVED


@pytest.mark.parametrize(
    ("name", "source", "label"),
    [
        ("void diopigen::(anonymous namespace)::MulLoop::run<diopigen::core::Integer<long> >"
         "(diopigen::core::Block const&)", "generated/cpu/elementwise_binary.cpp", "Mul Int64"),
        ("void diopigen::cpu::take_larger<float>(float const*, long) [clone .isra.0]",
         "impl/cpu/functions/pooling/pooling.cpp", "take_larger<float>"),
        ("diopigen::cpu::ExtremeIndex<diopigen::cpu::Largest, diopigen::core::Half>::position_of(float, long) const",
         "impl/cpu/functions/reduction/extrema_kernel.cpp", "ExtremeIndex<Largest, Half>::position_of"),
        ("diopigen::cpu::take_larger(float const*)", "impl/cpu/functions/loss/mse_kernel.cpp", ""),
        ("diopigen::core::Pool::run<float>(float const*)", "impl/cpu/functions/pooling/pooling.cpp", ""),
    ],
)  # fmt: skip
def test_loops_are_those_that_the_sources_mark(name: str, source: str, label: str) -> None:
    assert vectors._label(name, source, vectors._marked()) == label


def test_a_lost_vector_and_an_unused_exception_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SCALAR", {"Div *": "no instruction", "Old *": "once"})
    found = [Loop("a", "Div Int8", Vectors.NONE, "no instruction"), Loop("a", "Exp float", Vectors.NONE, "C library")]
    assert vectors.faults(found) == ["no loop needs the exception Old *"]
    assert vectors.faults([*found, Loop("b", "Add float", Vectors.NONE)])[0] == "b: Add float has no vectors"
    assert vectors.table({"x": found}).split("\n")[2:4] == [
        "| a | 2 | 0 | 0 | 2 | 1 × no instruction, 1 × C library |",
        "| together | 2 | 0 | 0 | 2 |  |",
    ]


def test_functions_are_read_from_an_object(tmp_path: Path) -> None:
    tool = tmp_path / "objdump"
    text = "\nx.o: file format\n\n\nDisassembly of section .text:\n\n0000000000000000 <f(int)>:\n   0:\tret\n\n"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{text}0000000000000010 <g()>:\n  10:\tret\nEND\n", encoding="utf-8")
    tool.chmod(0o755)
    assert dict(vectors.functions(tmp_path, str(tool))) == {"f(int)": ["   0:\tret"], "g()": ["  10:\tret"]}
