"""Vendors' sources without their SDK."""

from __future__ import annotations

from pathlib import Path

import pytest
from header_helpers import facts_interface, shown, synthesise
from vendor_folder import BODY, PRELUDE, check, scan, write

from diopigen.diagnostics import Sink
from diopigen.header.cdecl import CInterface
from diopigen.header.clang import parse_headers
from diopigen.header.vendor_sources import RULES, VendorSources, check_impl, scan_vendor

pytestmark = pytest.mark.usefixtures("vendor_folder")


def summary(found: VendorSources) -> list[tuple[str, str, bool, bool, str]]:
    return [(f.namespace, f.function.name, f.c_linkage, f.resolved, str(f.function.span)) for f in found.functions]


def test_definitions_of_every_form_are_found_without_the_sdk() -> None:
    write(
        "impl/camb/functions/unary.cpp",
        """\
// 一元运算
#include <diopi/functions.h>
#include <cnnl.h>
#include <vector>
#include "../helper.hpp"
#define UNARY(name, kernel)                                                                         \\
    diopiError_t name(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) { \\
        return call(kernel, ctx, out, input);                                                       \\
    }
#define DECLARE(name) diopiError_t name(diopiContextHandle_t ctx)
#define SIGNATURE(name) DIOPI_API diopiError_t name(diopiContextHandle_t ctx, diopiTensorHandle_t out, int64_t value)
DECLARE(diopiDeclared);
namespace impl {
namespace camb {
static std::vector<int64_t> diopiStatic(const std::string& name) { return cnnl::shape(name); }
namespace { int diopiAnonymous(int a) { return a; } }
/* 量 */ UNARY(diopiSin, cnnlSin_v2);
extern "C" diopiError_t diopiCos(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) try {
    cnnlHandle_t handle = get(ctx);
    if (handle) { undeclared<int>(1, [&](auto x) { return x; }); }
    return diopiSuccess;
} catch (...) { return diopiErrorOccurred; }
class Helper { diopiError_t diopiMethod() { return diopiSuccess; } };
template <typename T> diopiError_t diopiTemplate(T x) { return diopiSuccess; }
diopiError_t diopiOnlyDeclared(diopiContextHandle_t ctx);
}  // namespace camb
}  // namespace impl
SIGNATURE(diopiFill) {
    return diopiSuccess;
}
#if 0
diopiError_t diopiNever() { return diopiSuccess; }
#endif
""",
    )
    write("impl/camb/helper.hpp", "#pragma once\ninline int diopiInHeader() { return 1; }\n")
    write(
        "impl/camb/functions/deep/er/reduce.cu",
        """\
#include <cuda_runtime.h>
namespace impl::camb {
template <int N> __global__ __launch_bounds__(256, 2) void kernel(float* __restrict__ a) { a[threadIdx.x] = N; }
__device__ __forceinline__ float twice(float x) { return 2 * x; }
diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out, struct diopiSize_t_ dim, bool keep) {
    kernel<1><<<1, 256, 0, stream>>>(nullptr);
    return diopiSuccess;
}
}
""",
    )
    sink = Sink()
    found = scan(sink)
    assert shown(sink) == []
    assert summary(found) == [
        ("impl::camb", "diopiSum", False, True, "impl/camb/functions/deep/er/reduce.cu:5:14"),
        ("impl::camb", "diopiSin", False, True, "impl/camb/functions/unary.cpp:17:9"),
        ("impl::camb", "diopiCos", True, True, "impl/camb/functions/unary.cpp:18:25"),
        ("", "diopiFill", True, True, "impl/camb/functions/unary.cpp:28:1"),
    ]
    assert found.files == ("impl/camb/functions/deep/er/reduce.cu", "impl/camb/functions/unary.cpp")
    assert found.incomplete == ()
    expected = parse_headers(PRELUDE, sink=sink)
    assert expected is not None
    assert check_impl(expected, found, sink) == ("diopiSin", "diopiCos", "diopiSum", "diopiFill")
    assert shown(sink) == []


def test_wrong_signatures() -> None:
    write(
        "impl/camb/functions/a.cpp",
        """\
namespace impl::camb {
diopiError_t diopiSin(diopiContextHandle_t ctx, diopiConstTensorHandle_t input) { return diopiSuccess; }
void diopiSum(diopiContextHandle_t ctx, diopiConstTensorHandle_t out, diopiSize_t dims, int keep) {}
diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, long v) { return diopiSuccess; }
}
extern "C" int diopiCos(diopiContextHandle_t ctx, diopiTensorHandle_t out, float input) { return 0; }
""",
    )
    implemented, findings = check()
    assert implemented == ("diopiSin", "diopiCos", "diopiSum", "diopiFill")
    where = "include/diopi/functions.h"
    assert findings == [
        "impl/camb/functions/a.cpp:2:14: error impl-signature: 'diopiSin' takes 2 parameters in place of 3"
        " | write 'diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out,"
        f" diopiConstTensorHandle_t input)' | {where}:7:24: declared here",
        "impl/camb/functions/a.cpp:3:6: error impl-signature: 'diopiSum' returns 'void' in place of 'diopiError_t',"
        " takes 'diopiConstTensorHandle_t' as parameter 'out' in place of 'diopiTensorHandle_t',"
        " takes 'int' as parameter 'keep' in place of 'const bool'"
        " | write 'diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiSize_t dim,"
        f" const bool keep)' | {where}:9:24: declared here",
        "impl/camb/functions/a.cpp:6:16: error impl-signature: 'diopiCos' returns 'int' in place of 'diopiError_t',"
        " takes 'float' as parameter 'input' in place of 'diopiConstTensorHandle_t'"
        " | write 'diopiError_t diopiCos(diopiContextHandle_t ctx, diopiTensorHandle_t out,"
        f" diopiConstTensorHandle_t input)' | {where}:8:24: declared here",
    ]


def test_unknown_types_give_no_wrong_finding() -> None:
    write(
        "impl/camb/functions/a.cpp",
        """\
#include <sdk.h>
namespace impl::camb {
diopiError_t diopiSin(diopiContextHandle_t ctx, SdkTensor out, diopiConstTensorHandle_t input) { return 0; }
SdkStatus diopiCos(diopiContextHandle_t ctx) { return 0; }
}
SDK_EXPORT(diopiSum)
diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, int64_t value) {
    return diopiSuccess;
}
""",
    )
    sink = Sink()
    found = scan(sink)
    assert [(f.function.name, f.resolved) for f in found.functions] == [
        ("diopiSin", False),
        ("diopiCos", False),
        ("diopiFill", True),
    ]
    assert found.incomplete == ("impl/camb/functions/a.cpp",)
    implemented, findings = check()
    assert implemented == ("diopiSin", "diopiCos", "diopiFill")
    assert findings == [
        "impl/camb/functions/a.cpp:1:1: note vendor-parse-incomplete:"
        " 1 file with errors, for want of the SDK; no function in the text was missed"
        " | nothing; compare the count of functions with your own"
        " | impl/camb/functions/a.cpp:3:49: unknown type name 'SdkTensor'",
        "impl/camb/functions/a.cpp:3:14: note impl-unchecked: the signature of 'diopiSin' uses types"
        " that are unknown here | compile the file with the vendor's SDK to check it",
        "impl/camb/functions/a.cpp:4:11: note impl-unchecked: the signature of 'diopiCos' uses types"
        " that are unknown here | compile the file with the vendor's SDK to check it",
    ]


def test_many_files_without_the_sdk_are_one_note() -> None:
    for index in range(40):
        write(f"impl/camb/functions/f{index:02}.cpp", "#include <sdk.h>\nSdkStatus helper(SdkTensor tensor);\n")
    _, findings = check()
    assert findings == [
        "impl/camb/functions/f00.cpp:1:1: note vendor-parse-incomplete:"
        " 40 files with errors, for want of the SDK; no function in the text was missed"
        " | nothing; compare the count of functions with your own"
        " | impl/camb/functions/f00.cpp:2:1: unknown type name 'SdkStatus'"
    ]


def test_functions_that_errors_hide_are_named() -> None:
    write(
        "impl/camb/functions/a.cpp",
        """\
// diopiError_t diopiComment() {}
SDK_BEGIN {
diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return diopiSuccess;
}
}
const char* text = "diopiError_t diopiString() {";
""",
    )
    implemented, findings = check()
    assert implemented == ()
    assert findings == [
        "impl/camb/functions/a.cpp:1:1: warning vendor-hidden:"
        " errors in 'impl/camb/functions/a.cpp' hide functions that are in its text: diopiSin"
        " | compile the file with the vendor's SDK; if these are macros or declarations, nothing"
        " | impl/camb/functions/a.cpp:2:1: a type specifier is required for all declarations"
    ]


BRANCHES = """\
#if SDK_VERSION >= 3 || \\
    defined(NEXT)
diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out, int64_t input) { return diopiSuccess; }
#elif defined(SDK_OLD) // { "
diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return diopiSuccess;
}
diopiError_t diopiCos(diopiContextHandle_t ctx, diopiTensorHandle_t out) { return diopiSuccess; }
#else
diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, int64_t value) { return diopiSuccess; }
#endif
#if 0
diopiError_t diopiSum(diopiContextHandle_t ctx) { return diopiSuccess; }
#endif
const char* text = R"(
#if SDK_VERSION
)";
"""


def branches(macros: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The implemented functions, and the findings by rule and position, of a file with branches."""
    write("impl/camb/functions/a.cpp", BRANCHES)
    sink = Sink()
    expected = parse_headers(PRELUDE, sink=sink)
    assert expected is not None
    implemented = check_impl(expected, scan_vendor(Path("impl/camb"), PRELUDE, sink, macros=macros), sink)
    return implemented, [f"{one.code} {one.span.line}:{one.span.column}" for one in sink.sorted() if one.span]


def test_every_branch_of_a_version_is_read() -> None:
    assert branches([]) == (("diopiSin", "diopiCos", "diopiFill"), ["impl-signature 3:14", "impl-signature 8:14"])


@pytest.mark.parametrize(
    ("macros", "implemented", "findings"),
    [
        (["SDK_VERSION=3"], ("diopiSin",), ["impl-signature 3:14"]),
        (["SDK_VERSION=2", "SDK_OLD"], ("diopiSin", "diopiCos"), ["impl-signature 8:14"]),
        (["SDK_VERSION=2"], ("diopiFill",), []),
        (["OTHER=1"], ("diopiSin", "diopiCos", "diopiFill"), ["impl-signature 3:14", "impl-signature 8:14"]),
    ],
)
def test_a_macro_chooses_a_branch(macros: list[str], implemented: tuple[str, ...], findings: list[str]) -> None:
    assert branches(macros) == (implemented, findings)


def test_definitions_in_branches_that_exclude_each_other_are_no_duplicates() -> None:
    text = f"#ifdef A\ndiopiError_t diopiSin{BODY}#else\ndiopiError_t diopiSin{BODY}#endif\n"
    write("impl/camb/functions/a.cpp", text)
    assert check() == (("diopiSin",), [])
    write("impl/camb/functions/a.cpp", text + f"#ifdef A\ndiopiError_t diopiSin{BODY}#endif\n")
    assert [finding.partition(" | ")[0] for finding in check()[1]] == [
        "impl/camb/functions/a.cpp:7:14: error impl-duplicate: 'diopiSin' is implemented twice"
    ]


def test_a_branch_with_errors_hides_its_functions_alone() -> None:
    text = f"#ifdef A\nSDK_BEGIN {{\ndiopiError_t diopiSin{BODY}}}\n#endif\ndiopiError_t diopiCos{BODY}"
    write("impl/camb/functions/a.cpp", text)
    implemented, findings = check()
    assert implemented == ("diopiCos",) and len(findings) == 1
    assert "warning vendor-hidden" in findings[0] and "in its text: diopiSin |" in findings[0]


def test_orphans_and_duplicates() -> None:
    write("impl/camb/functions/a.cpp", f"namespace impl::camb {{\ndiopiError_t diopiSin{BODY}}}\n")
    write(
        "impl/camb/functions/b.cpp",
        f"""\
namespace impl::camb {{
diopiError_t diopiSin{BODY}
diopiError_t diopiCoss{BODY}
diopiError_t diopiZebra{BODY}
diopiError_t diopiCos{BODY}
diopiError_t diopiCos(diopiContextHandle_t ctx, int overload) {{ return diopiSuccess; }}
}}
diopiError_t diopiCos{BODY}
""",
    )
    implemented, findings = check()
    assert implemented == ("diopiSin", "diopiCos")
    assert findings == [
        "impl/camb/functions/b.cpp:2:14: error impl-duplicate: 'diopiSin' is implemented twice"
        " | remove one of the two | impl/camb/functions/a.cpp:2:14: first here",
        "impl/camb/functions/b.cpp:4:14: warning impl-orphan: no header declares 'diopiCoss'"
        " | did you mean 'diopiCos'?",
        "impl/camb/functions/b.cpp:6:14: warning impl-orphan: no header declares 'diopiZebra'"
        " | declare it in the spec, or make it static",
    ]


def test_two_definitions_in_one_file_are_a_duplicate() -> None:
    write("impl/camb/functions/a.cpp", f"diopiError_t diopiSin{BODY}diopiError_t diopiSin{BODY}")
    implemented, findings = check()
    assert implemented == ("diopiSin",)
    assert findings == [
        "impl/camb/functions/a.cpp:2:14: error impl-duplicate: 'diopiSin' is implemented twice"
        " | remove one of the two | impl/camb/functions/a.cpp:1:14: first here"
    ]


def test_only_the_provided_namespaces_count() -> None:
    write(
        "impl/camb/functions/a.cpp",
        f"namespace impl::camb {{\ndiopiError_t diopiSin{BODY}"
        f"namespace detail {{\ndiopiError_t diopiCos{BODY}}}\n}}\n"
        "diopiError_t diopiFill(diopiContextHandle_t c, diopiTensorHandle_t o, int64_t v) { return diopiSuccess; }\n",
    )
    assert check(["impl::camb"]) == (("diopiSin", "diopiFill"), [])
    assert check(["impl::cuda"]) == (("diopiFill",), [])
    assert check() == (("diopiSin", "diopiCos", "diopiFill"), [])


def test_every_rule_has_a_case() -> None:
    """The rules that tests of vendors' sources show in full."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_vendor_*.py"))
    assert [rule for rule in RULES if f" {rule}:" not in text] == []


def test_a_whole_implementation_of_the_interface(tmp_path: Path) -> None:
    """Every function of the interface implemented once from its facts: all found, nothing to report."""
    headers = synthesise(tmp_path / "whole" / "include" / "diopi")
    lines = ["#include <vendor_sdk.h>", "namespace impl { namespace whole {"]
    for function in facts_interface().functions:
        params = ", ".join(f"{p.type} {p.name}" for p in function.params)
        body = "sdkCall(ctx, out); return diopiSuccess;" if function.returns == "diopiError_t" else 'return "";'
        lines.append(f"{function.returns} {function.name}({params}) {{ {body} }}")
    write("impl/whole/functions/all.cpp", "\n".join([*lines, "}}"]))
    sink = Sink()
    found = scan_vendor(Path("impl/whole"), headers, sink, namespaces=["impl::whole"])
    expected: CInterface = facts_interface()
    assert check_impl(expected, found, sink) == tuple(f.name for f in expected.functions)
    assert shown(sink) == []
    assert all(f.resolved for f in found.functions)
