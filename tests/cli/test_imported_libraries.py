"""Headers of libraries other than DIOPI: what `import-proto` writes loads, and declares the same functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import imported_libraries as headers
import pytest
from test_imported_drafts import run

from diopigen.diagnostics import Sink
from diopigen.header.clang import Language, parse_headers

FILES = {
    "plan-lib.h": headers.PLANS,
    "nn.h": headers.STATUS,
    "nn-types.h": headers.STATUS_TYPES,
    "rt.h": headers.TABLE,
    "box.hpp": headers.REFERENCE,
    "item.h": headers.C_ALONE,
    "functions.h": headers.DIOPI,
}
SETS = {
    "plan-lib.h": ["plan-lib.h", "--prefix", "plan_"],
    "nn.h": ["nn.h"],
    "box.hpp": ["box.hpp"],
    "item.h": ["item.h", "--language", "c"],
    "functions.h": ["functions.h"],
}
"""The arguments that import each library."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def signatures(path: Path, language: Language = "c++") -> dict[str, tuple[str, ...]]:
    """The types of each function that a header declares, the result first, behind all typedefs."""
    sink = Sink()
    found = parse_headers([path], sink=sink, language=language)
    assert found is not None, [one.message for one in sink.sorted()]
    plain = ((one.name, [one.resolved_returns, *(param.resolved for param in one.params)]) for one in found.functions)
    return {name: tuple(text.replace("__restrict", "restrict") for text in types) for name, types in plain}


def generated(folder: Path, name: str) -> Path:
    return folder / "generated/include/diopi" / name


@pytest.mark.parametrize("name", SETS)
def test_the_generated_header_declares_the_same_functions(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, said = run(capsys, "import-proto", *SETS[name])
    assert code == 0, said
    code, said = run(capsys, "check")
    assert code == 0 and "error[" not in said, said
    code, said = run(capsys, "generate")
    assert code == 0, said
    language: Language = "c" if "--language" in SETS[name] else "c++"
    left_out = {"plan_handler", "plan_log", "planner_version", "helper"}
    expected = {one: types for one, types in signatures(folder / name, language).items() if one not in left_out}
    assert len(expected) >= 1
    assert signatures(generated(folder, name)) == expected
    if name != "box.hpp":  # a reference is C++
        assert signatures(generated(folder, name), "c") == expected
    for old in ("specs", "generated/diopi.json", str(generated(folder, name))):
        code, said = run(capsys, "breaking", "--against", old)
        assert code == 0 and said == f"{old}: nothing breaks\n"
    again = "again"
    code, said = run(capsys, "import-proto", str(generated(folder, name)), "--out", again)
    assert code == 0, said
    code, said = run(capsys, "breaking", "--against", "specs", "--new", again)
    assert code == 0 and "error" not in said and "warning" not in said, said


def test_what_is_left_out_has_a_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "import-proto", "plan-lib.h", "--prefix", "plan_")
    lines = [line.partition(": ")[2] for line in said.splitlines() if "[import-unsupported]" in line]
    assert code == 0
    assert lines == [
        "warning[import-unsupported]: 1 enum without a name is left out, the first with the value PLAN_UNNAMED",
        "warning[import-unsupported]: the members of plan_nested are left out: the grammar cannot hold 'range' of type"
        " '(unnamed)'",
        "warning[import-unsupported]: the members of plan_packed are left out: their alignment is not that of their"
        " types",
        "warning[import-unsupported]: plan_handler is left out: no entry can return 'void ( *)(int)'",
        "warning[import-unsupported]: plan_log is left out: it takes a variable number of arguments",
        "warning[import-unsupported]: planner_version is left out: its name does not begin with 'plan_'",
    ]


def test_types_are_written_as_c_has_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "import-proto", "plan-lib.h", "--prefix", "plan_")
    types = (folder / "specs/types.yaml").read_text()
    assert "header: plan-lib.h\nprefix: plan_\nstatus: void\n" in types
    for line in (
        "      - {name: PLAN_FORWARD, value: -1, doc: To be described.}\n",
        "      - {name: PLAN_BACKWARD, value: 1, doc: To be described.}\n",
        "      - {name: PLAN_INVERSE, value: 1, alias: true, doc: To be described.}\n",
        "      - {name: sizes, c_type: 'float[2][3]', offset: 20, doc: To be described.}\n",
        "      - {name: opaque, c_type: 'uint32_t[3]', offset: 0, doc: To be described.}\n",
        "      - {name: opaque, c_type: 'uint8_t[5]', offset: 0, doc: To be described.}\n",
        "      - {name: inner, c_type: plan_nested, offset: 4, doc: To be described.}\n",
        "  - {name: plan_complex, c_type: 'double[2]', doc: To be described.}\n",
        "  - {name: plan_t, c_type: 'struct plan_s *', doc: To be described.}\n",
        "  - {name: plan_s, c_type: struct plan_s, doc: To be described.}\n",
        "  - {name: plan_cache, c_type: struct plan_cache, doc: To be described.}\n",
    ):
        assert line in types, line
    operators = (folder / "specs/ops/plan-lib.yaml").read_text()
    assert operators.startswith("family: plan_lib\nheader: plan-lib.h\n")
    assert (
        "  - name: cost\n    doc: To be described.\n    context: false\n    returns: double\n    linkage: strong\n"
        "    params:\n      - {name: p, type: opaque, c_type: 'const plan_s *', doc: To be described.}\n"
        "      - {name: unnamed1, type: plan_state, unnamed: true, doc: To be described.}\n"
    ) in operators
    # A comment that names a function of DIOPI that there is not leaves the entry a draft, and the spec loads.
    code, said = run(capsys, "check")
    assert code == 0
    assert said.count("warning[doc-reference]: the documentation of plan_visit names diopiVisitAll") == 1
    assert "warning[doc-reference]: the documentation of plan_execute names diopiNowhere" in said
    assert "draft-done" not in said
    open_positions = {line.rpartition("]: ")[2] for line in said.splitlines() if "missing-direction" in line}
    assert open_positions == {
        "plan_create: 'in' has no direction",
        "plan_create: 'out' has no direction",
        "plan_flops: 'add' has no direction",
        "plan_best: 'outer' has no direction",
        "plan_best: 'cache' has no direction",
        "plan_visit: 'first' has no direction",
        "plan_visit: 'filter' has no direction",
        "plan_visit: 'data' has no direction",
        "plan_print: 'file' has no direction",
    }


def test_prefix_and_status_are_found_and_types_of_included_headers_come_along(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(capsys, "import-proto", "nn.h")
    assert code == 0 and said == "specs: 4 files written; next: diopigen check --spec specs\n"
    types = (folder / "specs/types.yaml").read_text()
    assert "header: nn.h\nprefix: nn\nstatus: nnStatus_t\n" in types
    assert "nnUnused_t" not in types and "nnStream_t, c_type: 'struct CUstream_st *'" in types
    operators = (folder / "specs/ops/nn.yaml").read_text()
    names = [line.removeprefix("  - name: ") for line in operators.splitlines() if line.startswith("  - name: ")]
    assert names == ["Create", "Destroy", "Scale", "GetErrorString", "GetVersion"]
    assert (
        "  - name: Create\n    doc: Makes a handle.\n    context: false\n    linkage: strong\n    params:\n"
        "      - {name: handle, type: opaque, c_type: 'nnHandle_t *', direction: out, doc: What is made.}\n"
    ) in operators
    assert "    returns: string\n" in operators and "    returns: size_t\n" in operators


def test_prefix_and_status_can_be_provided(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "import-proto", "nn.h", "--prefix", "", "--status", "size_t")
    assert code == 0, said
    assert "prefix: ''\nstatus: size_t\n" in (folder / "specs/types.yaml").read_text()
    operators = (folder / "specs/ops/nn.yaml").read_text()
    assert "  - name: nnCreate\n" in operators and operators.count("    returns: nnStatus_t\n") == 3
    assert run(capsys, "check")[0] == 0
    code, said = run(capsys, "import-proto", "nn.h", "--status", "nnStatus")
    assert code == 1 and "error[import-unsupported]: no header declares the status 'nnStatus'" in said
    types = folder / "specs/types.yaml"
    types.write_text(types.read_text().replace("status: size_t\n", "status: sizes\n"))
    operators_file = folder / "specs/ops/nn.yaml"
    operators_file.write_text(operators.replace("    returns: nnStatus_t\n", ""))
    code, said = run(capsys, "check")
    assert (
        code == 1 and said.count("error[unknown-type]: nnCreate: it returns the type 'sizes', but 'sizes' is not") == 1
    )
    code, said = run(capsys, "import-proto", "nn.h", "--prefix", "1st")
    assert code == 2 and "--prefix: '1st' is not the beginning of a name, or nothing" in said
    code, said = run(capsys, "import-proto", "nn.h", "--status", "int;")
    assert code == 2 and "--status: 'int;' is not a C type that a function can return" in said


def test_a_table_of_functions_is_imported_as_functions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "import-proto", "rt.h", "--status", "RT_Error *")
    assert code == 0
    assert "warning[import-unsupported]: RT_Api is left out: 3 of its 5 members are imported as functions" in said
    assert run(capsys, "check")[0] == 0 and run(capsys, "generate")[0] == 0
    assert signatures(generated(folder, "rt.h")) == {
        "RT_Client_Create": ("RT_Error *", "RT_Args *"),
        "RT_Error_Destroy": ("void", "RT_Error *"),
        "RT_Register": ("int", "const char *", "void ( *)(void *, int)"),
    }


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ("typedef int one;\n", [], "lib.h: error[import-nothing]: declares no function\n"),
        (
            '#include "nn.h"\n',
            [],
            "lib.h: error[import-nothing]: declares no function\n  fix: import what it includes: ",
        ),
        (
            "int one(void);\n",
            ["--prefix", "two"],
            "lib.h: error[import-nothing]: imports none of 1 functions: one is left out:"
            " its name does not begin with 'two'\n  fix: name another --prefix; --prefix '' takes all\n",
        ),
        (
            "int log_all(char *format, ...);\n",
            [],
            "lib.h: error[import-nothing]: imports none of 1 functions: log_all is left out:"
            " it takes a variable number of arguments\n",
        ),
    ],
    ids=["types alone", "a header that includes", "another prefix", "left out"],
)
def test_a_run_that_imports_nothing_fails_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], line: str
) -> None:
    (folder / "lib.h").write_text(text)
    code, said = run(capsys, "import-proto", "lib.h", *options)
    assert code == 1 and line in said and said.count("error[") == 1 and "warning[" not in said
    assert not (folder / "specs").exists()


def test_a_file_that_cannot_be_a_header_is_rejected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two words.h").write_text("int one(void);\n")
    code, said = run(capsys, "import-proto", "two words.h")
    assert code == 1 and "'two words.h' cannot be the name of a header" in said


def test_a_scaffolded_tree_compiles_and_keeps_what_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "import-proto", "plan-lib.h", "--prefix", "plan_")
    code, said = run(capsys, "scaffold", "--vendor", "acme", "--out", "tree")
    assert code == 0 and "3 written" in said and "10 started" in said, said
    skeletons = sorted((folder / "tree/impl/acme/functions/plan_lib").glob("*.cpp"))
    assert [path.stem for path in skeletons] == [
        "best", "cost", "create", "execute", "flops", "name", "print", "visit",
    ]  # fmt: skip
    whole = "".join(f'#include "{path}"\n' for path in skeletons)
    (folder / "whole.cpp").write_text(whole)
    command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Itree/include", "-Itree/impl"]
    done = subprocess.run([*command, "whole.cpp"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # A function that the vendor wrote elsewhere gets no skeleton a second time.
    skeletons[0].rename(folder / "tree/impl/acme/kernels.cpp")
    code, said = run(capsys, "scaffold", "--vendor", "acme", "--out", "tree")
    assert code == 0 and "0 started" in said and not skeletons[0].exists()
    code, said = run(capsys, "scaffold", "--vendor", "acme", "--out", "tree", "--with-tvm")
    assert code == 2 and "need an interface of DIOPI" in said


def test_functions_of_diopi_keep_c_types_without_a_word(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "import-proto", "functions.h")
    assert code == 0 and "helper is left out: its name does not begin with diopi and a capital" in said
    assert "prefix" not in (folder / "specs/types.yaml").read_text()
    operators = (folder / "specs/ops/functions.yaml").read_text()
    assert "      - {name: mask, type: opaque, c_type: 'const uint16_t *', doc: To be described.}\n" in operators
    assert (
        "  - name: Count\n    doc: To be described.\n    context: false\n    returns: int\n    linkage: strong\n"
        "    params:\n      - {name: number, type: int64, nullable: true, doc: To be described.}\n"
    ) in operators
    assert "      - {name: input, type: tensor, direction: in, doc: To be described.}\n" in operators


def test_the_other_targets_leave_foreign_functions_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "import-proto", "nn.h")
    assert run(capsys, "generate")[0] == 0
    mentions = [
        path.relative_to(folder / "generated").as_posix()
        for path in (folder / "generated").rglob("*")
        if path.is_file() and "nnScale" in path.read_text()
    ]
    assert sorted(mentions) == ["diopi.json", "include/diopi/nn.h"]
