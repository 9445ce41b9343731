"""Whatever is done to the files of a spec, loading and checking it ends in findings or none, never in a traceback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from check_helpers import MINIATURE, findings, shown
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sampling import examples

from diopigen.check.rule import families
from diopigen.ir.findings import RULES as IR_RULES
from diopigen.spec.schema import RULES as GRAMMAR_RULES
from diopigen.spec.text_file import RULES as FILE_RULES
from diopigen.spec.yaml_reader import RULES as YAML_RULES

ATEN = Path("aten/miniature.yaml")
FILES = {path.relative_to(MINIATURE): path.read_bytes() for path in sorted(MINIATURE.rglob("*.yaml"))}
RULES = {*IR_RULES, *YAML_RULES, *GRAMMAR_RULES, *FILE_RULES, *(rule for family in families() for rule in family.rules)}
TOKENS = sorted({token for content in FILES.values() for token in content.replace(b",", b" , ").split()})
# Tokens that mean something to another part of the grammar are the ones that go wrong.
ODD = (
    b"null true 0 -1 1e400 '' [] {} [a] {a: b} & * | > - : ? ( ) same(out) input any reduce(input) value() '*n'".split()
)


def broken(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with one thing done to it."""
    lines = content.splitlines(keepends=True)
    line = draw(st.integers(0, len(lines) - 1))
    kind = draw(st.sampled_from(["bytes", "cut", "drop", "double", "swap", "token", "indent"]))
    if kind == "bytes":
        start = draw(st.integers(0, len(content)))
        return content[:start] + draw(st.binary(min_size=1, max_size=4)) + content[start + draw(st.integers(0, 4)) :]
    if kind == "cut":
        return content[: draw(st.integers(0, len(content)))]
    if kind == "drop":
        del lines[line]
    elif kind == "double":
        lines.insert(line, lines[line])
    elif kind == "swap":
        other = draw(st.integers(0, len(lines) - 1))
        lines[line], lines[other] = lines[other], lines[line]
    elif kind == "indent":
        lines[line] = b"  " + lines[line] if draw(st.booleans()) else lines[line][2:]
    else:
        words = lines[line].split(b" ")
        index = draw(st.integers(0, len(words) - 1))
        words[index] = draw(st.sampled_from(ODD) | st.sampled_from(TOKENS))
        lines[line] = b" ".join(words)
    return b"".join(lines)


@st.composite
def damage(draw: st.DrawFn) -> tuple[Path, bytes]:
    """A file of the miniature spec and what is in it now."""
    file = draw(st.sampled_from(sorted(FILES)))
    content = FILES[file]
    for _ in range(draw(st.integers(1, 3))):
        if content:
            content = broken(draw, content)
    return file, content


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("damaged") / "spec"
    shutil.copytree(MINIATURE, folder)
    yield folder


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damage())
@example((ATEN, FILES[ATEN].replace(b" lean(Tensor self)", b" lean(Tensor null")))
def test_damage_is_reported_and_never_raised(spec: Path, damaged: tuple[Path, bytes]) -> None:
    file, content = damaged
    (spec / file).write_bytes(content)
    try:
        found = findings(spec)
        assert shown(found, spec).endswith("\n")
        for finding in found:
            assert finding.code in RULES
            assert finding.message
            assert finding.fix
            assert finding.span is not None
            text = (spec / Path(finding.span.file).relative_to("specs")).read_text(errors="replace")
            assert 1 <= finding.span.line <= len(text.splitlines()) + 1
            assert 1 <= finding.span.column <= max(map(len, ["", *text.splitlines()])) + 1
    finally:
        (spec / file).write_bytes(FILES[file])


def test_the_undamaged_spec_is_clean(spec: Path) -> None:
    assert findings(spec) == []
