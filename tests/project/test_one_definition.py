"""C++ text that must stand once: types of headers that share a namespace, names of sources that are compiled as one.

Fused kernels carry a copy of some functions, which must be the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?=[ :{][^;]*\{)", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(
    r"^(?!return |using |namespace |template|struct |class |enum )(?:\[\[maybe_unused\]\] )?"
    r"[A-Za-z][^;=(){}\n]*?[ &*](\w+)(?:\{\})?(?: =|\[|;)",
    re.MULTILINE,
)
FUNCTION = re.compile(
    r"^(?!TORCH_|return |template|using )[A-Za-z][^;={}()\n]*?[ &*](\w+)\(([^{;]*?)\)[^{;()]*\{", re.MULTILINE
)
TEMPLATE = re.compile(
    r"^template <typename T>\s+(?:DIOPIGEN_DEVICE|INLINE) T (\w+)\((T [^)]*)\) \{(.*?)(?: |^)\}$",
    re.MULTILINE | re.DOTALL,
)


def named(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Matches of a pattern, with their namespace."""
    for found in pattern.finditer(text):
        outer = [match[1] for match in NAMESPACE.finditer(text) if match.start() < found.start()]
        yield (outer[-1] if outer else ""), found


def repeated(positions: dict[str, set[str]]) -> dict[str, list[str]]:
    return {name: sorted(files) for name, files in positions.items() if len(files) > 1}


@pytest.mark.parametrize("library", ["cpu", "cuda"])
def test_no_two_headers_define_a_type(library: str) -> None:
    """It would break the one-definition rule, which no compiler has to report."""
    positions = defaultdict(set)
    headers = [path for folder in ("core", library) for path in sorted((ROOT / "impl" / folder).rglob("*.h"))]
    for path in headers:
        for outer, found in named(path.read_text(), TYPE):
            positions[f"{outer}::{found[1]}"].add(str(path.relative_to(ROOT)))
    assert len(positions) > 100
    assert repeated(positions) == {}


def unnamed(text: str) -> set[str]:
    """Definitions of unnamed namespaces at their first level: variables and types by name, functions with the types of
    their parameters, since others are overloads."""
    result = set()
    for outer, block in named(text, UNNAMED):
        names = VARIABLE.findall(block[1]) + TYPE.findall(block[1])
        names += [f"{name}({types(parameters)})" for name, parameters in FUNCTION.findall(block[1])]
        result |= {f"{outer}::{name}" for name in names}
    return result


def types(parameters: str) -> str:
    """The parameters without their names and defaults."""
    plain = re.sub(r"\s*=[^,]*", "", " ".join(parameters.split()))
    return re.sub(r"(?<=[&*> \w])\b\w+(?=,|$)", "", plain).replace(" ,", ",").strip()


def test_no_two_sources_of_the_pytorch_backend_define_a_name() -> None:
    """Several of them are compiled as one: their unnamed namespaces become one."""
    positions = defaultdict(set)
    folders = [ROOT / "runtime/torch" / folder for folder in ("operators", "src", "compile")]
    sources = [path for folder in folders for path in sorted(folder.glob("*.cpp"))]
    collectives = sorted((ROOT / "runtime/torch/distributed").glob("*.cpp"))
    for path in [*sources, *collectives, *(ROOT / "generated/torch" / name for name in ("ruled.cpp", "compiled.cpp"))]:
        for name in unnamed(path.read_text()):
            positions[name].add(path.name)
    assert len(positions) > 300
    assert repeated(positions) == {}


def test_what_unnamed_namespaces_define() -> None:
    text = """namespace a::b {
namespace {
constexpr int kOne = 1;
struct Two {
    int three() { return 3; }
};
at::Tensor four(const at::Tensor& tensor, int64_t count = 4) {
    return tensor;
}
}  // namespace
void five() {}
}  // namespace a::b
"""
    assert unnamed(text) == {"a::b::kOne", "a::b::Two", "a::b::four(const at::Tensor&, int64_t)"}


def templates(path: str) -> dict[tuple[str, str], str]:
    """The functions for any type T: by name and parameters, their bodies."""
    text = (ROOT / path).read_text()
    return {(name, parameters): " ".join(body.split()) for name, parameters, body in TEMPLATE.findall(text)}


def test_fused_kernels_compute_as_the_library_does() -> None:
    """A fused kernel is one source without headers: what it shares with the spec's functions, it repeats."""
    library = templates("runtime/adaptor/include/diopigen/elementwise/functions.h")
    fused = templates("diopi_torch/src/diopi_torch/fused_prelude.py")
    assert len(fused) > 10
    assert fused == {key: library.get(key) for key in fused}
