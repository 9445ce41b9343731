"""A family has one name: in the spec, in generated/, in the folders of impl/ and on the pages of the reference site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from diopigen.emit.entry.functions import kernel_name
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
FAMILY = re.compile(r"^family: (\w+)$", re.MULTILINE)
BY_FAMILY = ("cpu", "cuda", "dispatch", "entry", "tvm_ffi")
"""Folders of generated/ with files of each family."""
COMMON = {"entries.cpp", "packed_functions.cpp", "packed_functions.h", "operators.pyi"}
"""Files in them about all families."""
DEFINITION = re.compile(r"^void (?:\w+::)*entry::(\w+)\(", re.MULTILINE)


def family_of(path: Path) -> str:
    found = FAMILY.search(path.read_text(encoding="utf-8"))
    assert found, path
    return found[1]


def names() -> set[str]:
    return {family_of(path) for path in (ROOT / "specs/ops").glob("*.yaml")}


def test_a_spec_file_is_named_by_its_family() -> None:
    for path in (ROOT / "specs/ops").glob("*.yaml"):
        family = family_of(path)
        assert path.stem == family or path.stem.startswith(f"{family}_"), path.name
        longer = {name for name in names() - {family} if path.stem == name or path.stem.startswith(f"{name}_")}
        assert all(family.startswith(f"{name}_") for name in longer), (path.name, longer)


@pytest.mark.parametrize("folder", BY_FAMILY)
def test_generated_files_are_named_by_their_family(folder: str) -> None:
    files = {path for path in (ROOT / "generated" / folder).iterdir() if path.name not in COMMON}
    assert files
    assert {path.stem for path in files} <= names()


@pytest.mark.parametrize("library", ["core", "cpu", "cuda"])
def test_folders_of_kernels_are_named_by_their_family(library: str) -> None:
    folders = {path.parent.name for path in (ROOT / "impl" / library / "functions").glob("*/*")}
    assert len(folders) > 10
    assert folders <= names()


def test_a_kernel_is_in_the_folder_of_its_family(interface: Interface) -> None:
    families = {kernel_name(function): function.family for function in interface.functions}
    found = 0
    for path in (ROOT / "impl").glob("*/functions/*/*.c*"):
        for name in DEFINITION.findall(path.read_text(encoding="utf-8")):
            found += 1
            assert families[name] == path.parent.name, f"{path.relative_to(ROOT)}: {name}"
    assert found > 200
