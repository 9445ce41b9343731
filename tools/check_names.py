"""Fails where handwritten C++ of impl/ and runtime/ has a name in another form than `.clang-tidy` says.

The forms are those of clang-tidy's readability-identifier-naming, from the nearest `.clang-tidy` above a file, which
editors read too. clang-tidy takes seconds for a source, with its headers: this reads declarations alone, all in
seconds, without a build. A name that a public header (`include/`) declares is part of the interface for vendors:
sources may define and use it. Names of overrides are not ours.

Exit codes: 0 fine, 1 findings.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tree_sitter_cpp
import yaml
from tree_sitter import Language, Node, Parser, Query, QueryCursor

ROOT = Path(__file__).resolve().parent.parent
FORMS = {
    "lower_case": "[a-z][a-z0-9]*(_[a-z0-9]+)*",
    "UPPER_CASE": "[A-Z][A-Z0-9]*(_[A-Z0-9]+)*",
    "camelBack": "[a-z][a-zA-Z0-9]*",
    "CamelCase": "[A-Z][a-zA-Z0-9]*",
    "aNy_CasE": r"\w+",
}
DECLARATIONS = """
(namespace_definition name: (namespace_identifier) @Namespace)
(nested_namespace_specifier (namespace_identifier) @Namespace)
(class_specifier name: [(type_identifier) @Class (template_type name: (type_identifier) @Class)] body: (_))
(struct_specifier name: [(type_identifier) @Class (qualified_identifier name: (type_identifier) @Class)] body: (_))
(enum_specifier name: (type_identifier) @Class body: (_))
(alias_declaration name: (type_identifier) @TypeAlias)
(type_parameter_declaration (type_identifier) @TypeTemplateParameter)
(enumerator name: (identifier) @EnumConstant)
(preproc_def name: (identifier) @MacroDefinition)
(preproc_function_def name: (identifier) @MacroDefinition)
(function_declarator declarator: (identifier) @Function)
(function_declarator declarator: (field_identifier) @Function)
(field_declaration declarator: [(field_identifier) @Member (pointer_declarator (field_identifier) @Member)
  (reference_declarator (field_identifier) @Member) (array_declarator declarator: (field_identifier) @Member)])
(declaration declarator: [(identifier) @Variable (array_declarator declarator: (identifier) @Variable)
  (init_declarator declarator: [(identifier) @Variable (pointer_declarator (identifier) @Variable)
    (reference_declarator (identifier) @Variable) (array_declarator declarator: (identifier) @Variable)])])
(parameter_list (parameter_declaration declarator: [(identifier) @Parameter (pointer_declarator (identifier) @Parameter)
  (reference_declarator (identifier) @Parameter)]))
(template_parameter_list (parameter_declaration declarator: (identifier) @ValueTemplateParameter))
(parameter_list (optional_parameter_declaration declarator: (identifier) @Parameter))
(for_range_loop declarator: [(identifier) @Variable (_ (identifier) @Variable)])
"""
DECLARED = ("declaration", "field_declaration", "for_range_loop", "function_definition")
"""Nodes whose words, such as constexpr, are those of the names that they declare."""
SHARED = ("Function", "Variable", "Parameter", "Member")
"""Kinds whose names sources share with public headers."""
LANGUAGE = Language(tree_sitter_cpp.language())
QUERY = Query(LANGUAGE, DECLARATIONS)
MACRO = re.compile(
    rb"(?<!#define )(?<!#ifndef )(?<!#ifdef )\b(DIOPI(GEN)?_[A-Z_]+|__[a-z]+__)\b(?!\()|(?<=\] )DIOPI_[A-Z_]+"
)
"""Macros before declarations, which the grammar takes for types."""
USE = re.compile(r"operator.*|[A-Z0-9]+(_[A-Z0-9]+)+|ElfW|_[_A-Z].*")
"""Operators, uses of macros that look like declarations, and names that compilers reserve."""


class Name(NamedTuple):
    """A declared name, its kind as in `.clang-tidy`, its position."""

    kind: str
    text: str
    line: int
    column: int


def main() -> int:
    shared = {
        name.text for path in sources("runtime", "generated/include") if "include" in path.parts for name in names(path)
    }
    classes = {name.text for path in sources("impl", "runtime") for name in names(path) if name.kind == "Class"}
    findings = [
        f"{path.relative_to(ROOT)}:{name.line}:{name.column}: {name.kind} '{name.text}' is not {form}"
        for path in sources("impl", "runtime")
        for name in names(path)
        if (name.kind == "Class" or name.text not in classes)  # constructors
        and (form := wrong(path, name))
        and ("include" in path.parts or name.kind not in SHARED or name.text not in shared)
    ]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


def sources(*folders: str) -> list[Path]:
    """C++ and CUDA sources below folders, those that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in listed if name.endswith((".h", ".cpp", ".cu")) and (ROOT / name).exists()]


@cache
def names(path: Path) -> tuple[Name, ...]:
    """Names that a file declares."""
    tree = Parser(LANGUAGE).parse(MACRO.sub(lambda found: b" " * len(found[0]), path.read_bytes()))
    captures = QueryCursor(QUERY).captures(tree.root_node)
    return tuple(found for kind, nodes in captures.items() for node in nodes for found in named(kind, node))


def named(kind: str, node: Node) -> Iterator[Name]:
    """The name at a node of this kind; none for an override or what is no declaration."""
    text = (node.text or b"").decode()
    declaration = node
    while declaration.parent and declaration.type not in DECLARED:
        declaration = declaration.parent
    if kind in ("Variable", "Member"):
        words = {(child.text or b"").decode() for child in declaration.children}
        scope = declaration.parent.type if declaration.parent else ""
        if "constexpr" in words:
            kind = "ConstexprVariable"
        elif kind == "Member" and "static" not in words and is_private(declaration):
            kind = "PrivateMember"
        elif (
            "const" in words
            and scope in ("declaration_list", "translation_unit")
            and node.parent
            and node.parent.type in ("declaration", "init_declarator", "array_declarator")
        ):
            kind = "GlobalConstant"
    if kind == "Function" and re.search(rb"\b(override|final)\b", (declaration.text or b"").split(b"{")[0]):
        return
    yield Name(kind, text, node.start_point[0] + 1, node.start_point[1] + 1)


def is_private(member: Node) -> bool:
    """Returns whether a member of a class is private or protected, by the last access specifier before it."""
    node: Node | None = member
    while node is not None and node.type not in ("class_specifier", "struct_specifier", "union_specifier"):
        before = node.prev_sibling
        while before is not None:
            if before.type == "access_specifier":
                return not (before.text or b"").startswith(b"public")
            before = before.prev_sibling
        node = node.parent
    return node is not None and node.type == "class_specifier"


def wrong(path: Path, name: Name) -> str | None:
    """The form that the name does not have; None where it is as it has to be."""
    options = style(path.parent)
    case = options.get(f"{name.kind}Case")
    if case is None or (name.kind != "MacroDefinition" and USE.fullmatch(name.text)):
        return None
    prefix, suffix = (options.get(f"{name.kind}{end}", "") for end in ("Prefix", "Suffix"))
    pattern = prefix + FORMS[case] + suffix
    if re.fullmatch(pattern, name.text) or re.fullmatch(options.get(f"{name.kind}IgnoredRegexp", "(?!)"), name.text):
        return None
    return f"{prefix}{case}{suffix}"


@cache
def style(folder: Path) -> dict[str, str]:
    """The options of readability-identifier-naming for a folder."""
    inherited = style(folder.parent) if folder != ROOT else {}
    file = folder / ".clang-tidy"
    if not file.exists():
        return inherited
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    check = "readability-identifier-naming."
    own = {key.removeprefix(check): value for key, value in (content.get("CheckOptions") or {}).items()}
    return {**inherited, **own} if content.get("InheritParentConfig") else own


if __name__ == "__main__":
    sys.exit(main())
