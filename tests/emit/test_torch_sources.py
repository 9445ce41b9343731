"""The sources of the backend for PyTorch, several of which are compiled as one: unnamed namespaces become one."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("operators", "src", "compile")
OUTER = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(
    r"^(?!return |using |namespace |template|struct |class |enum )(?:\[\[maybe_unused\]\] )?"
    r"[A-Za-z][^;=(){}\n]*?[ &*](\w+)(?:\{\})?(?: =|\[|;)",
    re.MULTILINE,
)
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)", re.MULTILINE)
FUNCTION = re.compile(
    r"^(?!TORCH_|return |template|using )[A-Za-z][^;={}()\n]*?[ &*](\w+)\(([^{;]*?)\)[^{;()]*\{", re.MULTILINE
)


def defined(text: str) -> set[str]:
    """What unnamed namespaces define at their first level: variables and types by name, functions with the types of
    their parameters, since others are overloads."""
    found = set()
    for block in UNNAMED.finditer(text):
        outer = [match[1] for match in OUTER.finditer(text) if match.start() < block.start()][-1]
        names = VARIABLE.findall(block[1]) + TYPE.findall(block[1])
        names += [f"{name}({types(parameters)})" for name, parameters in FUNCTION.findall(block[1])]
        found |= {f"{outer}::{name}" for name in names}
    return found


def types(parameters: str) -> str:
    """The parameters without their names and defaults."""
    plain = re.sub(r"\s*=[^,]*", "", " ".join(parameters.split()))
    return re.sub(r"(?<=[&*> \w])\b\w+(?=,|$)", "", plain).replace(" ,", ",").strip()


def test_no_two_sources_define_the_same_in_unnamed_namespaces() -> None:
    places = defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((ROOT / "runtime/torch" / folder).glob("*.cpp")):
            for name in defined(path.read_text()):
                places[name].add(f"{folder}/{path.name}")
    assert len(places) > 300
    assert {name: sorted(files) for name, files in places.items() if len(files) > 1} == {}


def test_what_is_found() -> None:
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
    assert defined(text) == {"a::b::kOne", "a::b::Two", "a::b::four(const at::Tensor&, int64_t)"}
