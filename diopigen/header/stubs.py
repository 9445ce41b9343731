"""Small stand-ins for the C and C++ standard headers.

The libclang wheel brings no headers, and the system's would make results depend on the machine and parsing ten
times slower. A parse sees these texts in memory instead; they hold names and types, never behaviour.
The sizes are those of 64-bit Linux, which is also the target that every parse names.
"""

from __future__ import annotations

import functools
import re

FOLDER = "/diopigen-stubs"
TARGET = "x86_64-unknown-linux-gnu"
TYPES = "diopigen_types.h"
_STD = "diopigen_std.h"


def _words(text: str) -> list[str]:
    """A list of words out of one text: a long table in few lines."""
    return text.split()


_TYPES_TEXT = """#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long intmax_t;
typedef unsigned long uintmax_t;
typedef unsigned long size_t;
typedef long ssize_t;
typedef long ptrdiff_t;
typedef long time_t;
typedef struct _IO_FILE FILE;
typedef __builtin_va_list va_list;
#ifndef __cplusplus
typedef int wchar_t;
#define bool _Bool
#define true 1
#define false 0
#define NULL ((void*)0)
#define static_assert _Static_assert
#define alignas _Alignas
#define alignof _Alignof
#else
#define NULL 0
#endif
#define __bool_true_false_are_defined 1
#define INT8_MIN (-128)
#define INT16_MIN (-32768)
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807L - 1)
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807L
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615UL
#define SIZE_MAX UINT64_MAX
#define INT_MIN INT32_MIN
#define INT_MAX INT32_MAX
#define UINT_MAX UINT32_MAX
#define LONG_MIN INT64_MIN
#define LONG_MAX INT64_MAX
#define LLONG_MAX 9223372036854775807LL
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define offsetof(type, member) __builtin_offsetof(type, member)
#define assert(condition) ((void)0)
"""

_KEYWORDS = frozenset(
    _words(
        "bool char const double enum float int long restrict short signed struct union unsigned void volatile "
        "_Bool _Complex __restrict wchar_t __int128 _Float16 __bf16"
    )
)
_OWN_TEXTS = {
    "sched": "typedef struct { unsigned long bits[16]; } cpu_set_t;\n",
    "uchar": "#ifndef __cplusplus\ntypedef uint16_t char16_t;\ntypedef uint32_t char32_t;\n#endif\n",
}
"""Types that a header of the standard or of POSIX adds to the basic types."""
STANDARD_TYPES = frozenset(
    re.findall(r"^typedef .*?(\w+);", "".join((_TYPES_TEXT, *_OWN_TEXTS.values())), re.MULTILINE)
)
STANDARD_HEADERS = {
    "FILE": "stdio.h",
    "va_list": "stdarg.h",
    "time_t": "time.h",
    "ssize_t": "sys/types.h",
    "cpu_set_t": "sched.h",
    "char16_t": "uchar.h",
    "char32_t": "uchar.h",
}
"""The headers of types that <stddef.h>, <stdint.h> and <stdbool.h> do not declare."""


def is_c_word(word: str) -> bool:
    """Returns whether a word of a type is one of C or of its standard headers."""
    return word in _KEYWORDS or word in STANDARD_TYPES


# Complete, empty class templates: enough for a signature, which is all that is read here.
_CLASS_TEMPLATES = _words(
    "allocator array atomic basic_string basic_string_view complex deque forward_list function future hash "
    "initializer_list less list lock_guard map multimap multiset numeric_limits optional pair priority_queue "
    "promise queue reference_wrapper set shared_ptr stack tuple unique_lock unique_ptr unordered_map "
    "unordered_multimap unordered_set variant vector weak_ptr"
)

# Templates whose first parameters are values.
_VALUE_TEMPLATES = {"array": "class T, size_t N", "bitset": "size_t N"}
_CLASSES = _words(
    "condition_variable exception invalid_argument istream logic_error mutex once_flag ostream ostringstream "
    "out_of_range random_device recursive_mutex runtime_error stringstream thread type_info"
)


def _std_text() -> str:
    lines = ["#pragma once", f"#include <{TYPES}>", "namespace std {"]
    lines += [
        f"using ::{name};"
        for name in _words(
            "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t size_t ptrdiff_t"
        )
    ]
    lines.append("using nullptr_t = decltype(nullptr);")
    for name in sorted({*_CLASS_TEMPLATES, *_VALUE_TEMPLATES}):
        parameters = _VALUE_TEMPLATES.get(name, "class... T")
        lines.append(f"template <{parameters}> class {name} {{}};")
    lines += [f"class {name} {{}};" for name in _CLASSES]
    lines += [
        "using string = basic_string<char>;",
        "using string_view = basic_string_view<char>;",
        "extern ostream cout, cerr;",
        "}",
    ]
    return "\n".join(lines) + "\n"


_C_HEADERS = _words(
    "assert complex ctype errno fenv float inttypes limits locale math setjmp signal stdalign stdarg stdatomic "
    "sched stdbool stddef stdint stdio stdlib stdnoreturn string sys/types threads time uchar wchar wctype"
)
_CXX_HEADERS = _words(
    "algorithm any array atomic bitset cassert cctype cerrno cfenv cfloat chrono cinttypes climits clocale cmath "
    "complex condition_variable csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque "
    "exception forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream "
    "iterator limits list locale map memory mutex new numeric optional ostream queue random ratio regex set "
    "sstream stack stdexcept streambuf string string_view system_error thread tuple type_traits typeindex "
    "typeinfo unordered_map unordered_set utility valarray variant vector"
)


@functools.lru_cache(maxsize=2)
def stub_files(language: str) -> tuple[tuple[str, str], ...]:
    """(path, text) of every stub for "c" or "c++".

    In C the C++ names (`<cstdint>`, `<iostream>`) exist too and give the C types: headers in the wild include
    them without asking for the language.
    """
    files = {TYPES: _TYPES_TEXT}
    only_types = f"#pragma once\n#include <{TYPES}>\n"
    for name in _C_HEADERS:
        files[f"{name}.h"] = only_types + _OWN_TEXTS.get(name, "")
    if language == "c++":
        files[_STD] = _std_text()
    for name in _CXX_HEADERS:
        files[name] = f"#pragma once\n#include <{_STD}>\n" if language == "c++" else only_types
    return tuple((f"{FOLDER}/{name}", text) for name, text in sorted(files.items()))


def standard_arguments(language: str) -> list[str]:
    """The command line of every parse: language, target, no system headers, the stubs and the basic types."""
    arguments = ["-x", language, f"--target={TARGET}", "-nostdinc", "-w", "-ferror-limit=0"]
    arguments += ["-std=c++17", "-nostdinc++"] if language == "c++" else ["-std=c11"]
    return [*arguments, "-isystem", FOLDER, "-include", f"{FOLDER}/{TYPES}"]
