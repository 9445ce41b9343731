"""tools/check_names.py: names of another form than `.clang-tidy` says, and what it leaves out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = "runtime/kernels/include"


def findings(folder: Path, **files: str) -> list[str]:
    """Lines that the check writes about files, by folder and name with `__` between, in a repository of their own."""
    for name in ("tools/check_names.py", ".clang-tidy", f"{PUBLIC}/.clang-tidy"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    command = [sys.executable, "tools/check_names.py"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert not done.stderr
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("namespace Core {}", "1:11: Namespace 'Core' is not lower_case"),
        ("struct row_strides {};", "1:8: Class 'row_strides' is not CamelCase"),
        ("enum class Kind { kRead, write };", "1:26: EnumConstant 'write' is not kCamelCase"),
        ("using pointer = void*;", "1:7: TypeAlias 'pointer' is not CamelCase"),
        ("void copyRows();", "1:6: Function 'copyRows' is not lower_case"),
        ("template <typename T>\nDIOPI_DEVICE T sumOf(T a) { return a; }", "2:16: Function 'sumOf' is not lower_case"),
        ("void f(int rowCount);", "1:12: Parameter 'rowCount' is not lower_case"),
        ("void f() { int rowCount = 0; }", "1:16: Variable 'rowCount' is not lower_case"),
        ("struct A { int rowCount; };", "1:16: Member 'rowCount' is not lower_case"),
        ("class A {\n    int rows;\n};", "2:9: PrivateMember 'rows' is not lower_case_"),
        (
            "class A {\n  public:\n#if X\n  private:\n    int n;\n#endif\n};",
            "5:9: PrivateMember 'n' is not lower_case_",
        ),
        ("constexpr int rows = 1;", "1:15: ConstexprVariable 'rows' is not kCamelCase"),
        ("const int rows = 1;", "1:11: GlobalConstant 'rows' is not kCamelCase"),
        ("#define rows 1", "1:9: MacroDefinition 'rows' is not UPPER_CASE"),
    ],
)
def test_a_name_of_another_form_is_found(tmp_path: Path, text: str, finding: str) -> None:
    assert findings(tmp_path, impl__core__case=f"{text}\n") == [f"impl/core/case.h:{finding}"]


def test_names_in_form_and_those_of_others_pass(tmp_path: Path) -> None:
    text = """
namespace diopigen::core {
constexpr int kRows = 1;
const char* first = "copyRows";
enum class Kind { kRead };
template <typename T, int kWidth>
class Rows final : public Base {
  public:
    explicit Rows(int count) : count_(count) {}
    void deviceCount() const override;
    int count() const { return count_; }
    using value_type = T;

  private:
    int count_;
};
diopiError_t diopiAdd(diopiContextHandle_t ctx);
void cudaMalloc(int size);
}
"""
    assert findings(tmp_path, runtime__src__case=text) == []


def test_a_name_of_a_public_header_may_be_used_by_sources(tmp_path: Path) -> None:
    text = "void copyRows();\nvoid copyColumns();\n"
    public = "void copyRows();\n"
    assert findings(tmp_path, runtime__kernels__include__rows=public, runtime__src__case=text) == [
        "runtime/src/case.h:2:6: Function 'copyColumns' is not lower_case"
    ]


def test_public_headers_have_a_form_too(tmp_path: Path) -> None:
    assert findings(tmp_path, runtime__kernels__include__rows="void copy_rows();\nvoid copyRows();\n") == [
        "runtime/kernels/include/rows.h:1:6: Function 'copy_rows' is not camelBack"
    ]
