"""The source of a fused kernel: elementwise operators, each as the spec's expression, over one loop.

The kernel includes <cmath> and <cstdint> alone. Sizes and strides are numbers of the launch, so that one kernel serves
all sizes of the same layout. Every value is rounded to the dtype of its node, as the operators do one by one.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

PRELUDE = r"""
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

// The C library has these on vectors, within 4 units in the last place.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define ON_VECTORS __attribute__((simd("notinbranch")))
extern "C" {
ON_VECTORS float expf(float) noexcept;
ON_VECTORS float logf(float) noexcept;
ON_VECTORS float sinf(float) noexcept;
ON_VECTORS float cosf(float) noexcept;
ON_VECTORS float powf(float, float) noexcept;
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 35
ON_VECTORS float tanhf(float) noexcept;
ON_VECTORS float erff(float) noexcept;
ON_VECTORS float erfcf(float) noexcept;
ON_VECTORS float expm1f(float) noexcept;
ON_VECTORS float log1pf(float) noexcept;
ON_VECTORS float log2f(float) noexcept;
ON_VECTORS float log10f(float) noexcept;
ON_VECTORS float atanf(float) noexcept;
ON_VECTORS float sinhf(float) noexcept;
ON_VECTORS float coshf(float) noexcept;
#endif
}
#endif

#define INLINE [[gnu::always_inline]] static inline

namespace {

enum RoundMode { RoundModeNone, RoundModeTrunc, RoundModeFloor };

struct Number {
    double number = 0;
    constexpr double value() const { return number; }
    template <typename T>
    INLINE_MEMBER T as() const { return static_cast<T>(number); }
};
constexpr Number operator+(Number a, Number b) { return {a.number + b.number}; }
constexpr Number operator-(Number a, Number b) { return {a.number - b.number}; }
constexpr Number operator*(Number a, Number b) { return {a.number * b.number}; }

// NaN goes through all functions but sign().
template <typename T> INLINE T where(bool condition, T yes, T no) { return condition ? yes : no; }
template <typename T> INLINE bool isTrue(T x) { return x != T(0); }
template <typename T> INLINE T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <typename T> INLINE T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> INLINE T sign(T x) { return T((x > T(0)) - (x < T(0))); }
template <typename T> INLINE T absolute(T x) { return std::abs(x); }
template <typename T> INLINE T conjugate(T x) { return x; }
template <typename T> INLINE T reciprocal(T x) { return T(1) / x; }
template <typename T> INLINE T rsqrt(T x) { return T(1) / std::sqrt(x); }
template <typename T> INLINE T sigmoid(T x) { return T(1) / (T(1) + std::exp(-x)); }
template <typename T> INLINE T truncDivide(T a, T b) { return std::trunc(a / b); }
template <typename T> INLINE T floorRemainder(T a, T b) {
    const T rest = std::fmod(a, b);
    return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}
template <typename T> INLINE T floorDivide(T a, T b) {
    if (b == T(0)) {
        return a / b;
    }
    const T rest = std::fmod(a, b);
    const T quotient = (a - rest) / b - (rest != T(0) && (b < T(0)) != (rest < T(0)) ? T(1) : T(0));
    const T floored = std::floor(quotient);
    return quotient == T(0) ? std::copysign(T(0), a / b) : floored + (quotient - floored > T(0.5) ? T(1) : T(0));
}

INLINE float bits(uint32_t value) {
    float made;
    __builtin_memcpy(&made, &value, sizeof(made));
    return made;
}
INLINE uint32_t bitsOf(float value) {
    uint32_t made;
    __builtin_memcpy(&made, &value, sizeof(made));
    return made;
}

// Storage: what is in memory, as the float that it stands for and back, rounded to nearest, ties to even.
struct Float32 {
    using Element = float;
    INLINE float load(float x) { return x; }
    INLINE float store(float x) { return x; }
};
struct Float16 {
    using Element = _Float16;
    INLINE float load(_Float16 x) { return static_cast<float>(x); }
    INLINE _Float16 store(float x) { return static_cast<_Float16>(x); }
};
struct Bfloat16 {
    using Element = uint16_t;
    INLINE float load(uint16_t x) { return bits(static_cast<uint32_t>(x) << 16); }
    INLINE uint16_t store(float x) {
        const uint32_t raw = bitsOf(x);
        const uint32_t rounded = raw + 0x7FFF + (raw >> 16 & 1);
        return x != x ? static_cast<uint16_t>(raw >> 16 | 0x40) : static_cast<uint16_t>(rounded >> 16);
    }
};
struct Bool {
    using Element = uint8_t;
    INLINE float load(uint8_t x) { return x != 0 ? 1.0F : 0.0F; }
    INLINE uint8_t store(float x) { return x != 0 ? 1 : 0; }
};
template <typename Storage> INLINE float rounded(float x) { return Storage::load(Storage::store(x)); }
""".replace("INLINE_MEMBER", "[[gnu::always_inline]] inline constexpr")

STORAGES = {torch.float32: "Float32", torch.float16: "Float16", torch.bfloat16: "Bfloat16", torch.bool: "Bool"}
"""What fused kernels compute with: floats of 32 bits and less, and masks."""

GRAIN = 16384
"""Elements that are worth a thread."""


@dataclass(frozen=True)
class Body:
    """The kernel of a function: its parameters, its operands and whether they are masks, its constants as C++ over the
    parameters, and the lines that compute `results[0]` from `operands`."""

    parameters: tuple[str, ...]
    operands: tuple[str, ...]
    constants: tuple[tuple[str, str, str], ...]
    lines: tuple[str, ...]


@functools.cache
def bodies() -> dict[str, Body]:
    """The kernels by function."""
    found = {}
    for line in torch.ops.diopi.compiled_kernels().split("\n"):
        if line:
            name, parameters, operands, constants, lines = json.loads(line)
            found[name] = Body(
                tuple(parameters), tuple(one for one, _ in operands), tuple(map(tuple, constants)), tuple(lines)
            )
    return found


@dataclass(frozen=True)
class Operation:
    """A node of the chain: the function with its plain arguments, or a conversion where there is none. `operands` are
    earlier values: `("input", k)` or `("value", k)`; or `("number", x)`."""

    function: str | None
    plain: tuple[tuple[str, Any], ...]
    operands: tuple[tuple[str, Any], ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class Chain:
    """What one kernel computes: operations in order, the dtypes of its inputs, and which values it stores. `inner`
    says for each buffer, inputs first, whether its elements are adjacent (1), all the same (0), or neither (2)
    along the last dimension of `rank`."""

    operations: tuple[Operation, ...]
    inputs: tuple[torch.dtype, ...]
    outputs: tuple[int, ...]
    inner: tuple[int, ...]
    rank: int


def declaration(name: str, value: Any) -> list[str]:
    """A parameter as constants of C++: a number is a pointer, as in the interface, and a Number."""
    if value is None:
        return [f"constexpr const Number* {name} = nullptr;", f"constexpr Number {name}_number{{}};"]
    if isinstance(value, str):
        return [f"constexpr std::string_view {name} = {json.dumps(value)};"]
    text = _number(value)
    return [f"constexpr Number {name}_number{{{text}}};", f"static constexpr const Number* {name} = &known;"]


def _number(value: float) -> str:
    number = float(value)
    if number != number:
        return "std::numeric_limits<double>::quiet_NaN()"
    if number in (float("inf"), float("-inf")):
        return f"{'-' if number < 0 else ''}std::numeric_limits<double>::infinity()"
    return repr(number)


def _constant(name: str, kind: str, host: str, plain: Sequence[tuple[str, Any]]) -> list[str]:
    """A constant of the body, computed from the plain arguments when the kernel is compiled."""
    lines = [f"    const {kind} {name}_ = [] {{", "        static constexpr Number known{};", "        (void)known;"]
    for parameter, value in plain:
        if parameter == "rounding_mode":
            mode = {None: "RoundModeNone", "trunc": "RoundModeTrunc", "floor": "RoundModeFloor"}[value]
            lines.append(f"        constexpr RoundMode rounding_mode = {mode};")
        else:
            lines += [f"        {line}" for line in declaration(parameter, value)]
    return [*lines, f"        return {host};", "    }();"]


def _function(number: int, operation: Operation) -> list[str]:
    if operation.function is None:
        return []
    body = bodies()[operation.function]
    lines = [f"// {operation.function}", f"template <typename T> INLINE T operation{number}(const T* operands) {{"]
    for name, kind, host in body.constants:
        lines += _constant(name, kind, host, operation.plain)
    return [*lines, "    T results[1];", *(f"    {line}" for line in body.lines), "    return results[0];", "}"]


def source_of(chain: Chain) -> tuple[str, str]:
    """The source of a kernel and its name, which follows from the source."""
    text = "\n".join([PRELUDE, *_text(chain)])
    name = "fused_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return text.replace("KERNEL_NAME", name), name


def _operand(kind: str, value: Any) -> str:
    if kind == "number":
        return f"static_cast<float>({_number(value)})"
    return f"{'x' if kind == 'input' else 'v'}{value}"


def _text(chain: Chain) -> list[str]:
    lines = [line for k, operation in enumerate(chain.operations) for line in _function(k, operation)]
    count = len(chain.inputs) + len(chain.outputs)
    storages = [STORAGES[dtype] for dtype in chain.inputs]
    storages += [STORAGES[chain.operations[k].dtype] for k in chain.outputs]
    lines += ["", "}  // namespace", ""]
    lines.append('extern "C" __attribute__((visibility("default"))) void KERNEL_NAME(')
    lines.append("    void* const* buffers, const int64_t* numbers, int64_t first, int64_t last) {")
    lines.append("    // numbers: the sizes, then the strides of each buffer.")
    rank = chain.rank
    lines.append(f"    const int64_t inner = numbers[{rank - 1}];")
    row, begin, end = ("0", "first", "last") if rank == 1 else ("row", "0", "inner")
    if rank == 1:
        lines.append("    (void)inner;")
    else:
        lines.append("    for (int64_t row = first; row < last; ++row) {")
        lines += ["    int64_t rest = row;", *(f"    int64_t offset{k} = 0;" for k in range(count))]
        for dimension in reversed(range(rank - 1)):
            lines += ["    {", f"        const int64_t at = rest % numbers[{dimension}];"]
            lines.append(f"        rest /= numbers[{dimension}];")
            lines += [f"        offset{k} += at * numbers[{rank + k * rank + dimension}];" for k in range(count)]
            lines.append("    }")
    for k in range(count):
        const = "const " if k < len(chain.inputs) else ""
        offset = f" + offset{k}" if rank > 1 else ""
        element = f"{storages[k]}::Element"
        lines.append(f"    {const}{element}* __restrict p{k} = static_cast<{element}*>(buffers[{k}]){offset};")
        if chain.inner[k] == 2:
            lines.append(f"    const int64_t stride{k} = numbers[{rank + k * rank + rank - 1}];")
        elif chain.inner[k] == 0 and k < len(chain.inputs):
            lines.append(f"    const float same{k} = {storages[k]}::load(*p{k});")
    lines.append("#pragma GCC ivdep")
    lines.append(f"    for (int64_t i = {begin}; i < {end}; ++i) {{")
    del row
    for k in range(len(chain.inputs)):
        index = f"i * stride{k}" if chain.inner[k] == 2 else "i"
        value = f"same{k}" if chain.inner[k] == 0 else f"{storages[k]}::load(p{k}[{index}])"
        lines.append(f"        const float x{k} = {value};")
    for number, operation in enumerate(chain.operations):
        names = [_operand(kind, k) for kind, k in operation.operands]
        if operation.function is None:
            value = names[0]
        else:
            lines.append(f"        const float operands{number}[] = {{{', '.join(names) or '0'}}};")
            value = f"operation{number}<float>(operands{number})"
        storage = STORAGES[operation.dtype]
        value = value if storage == "Float32" else f"rounded<{storage}>({value})"
        lines.append(f"        const float v{number} = {value};")
    for position, number in enumerate(chain.outputs):
        k = len(chain.inputs) + position
        index = f"i * stride{k}" if chain.inner[k] == 2 else "i"
        lines.append(f"        p{k}[{index}] = {storages[k]}::store(v{number});")
    lines.append("    }")
    if rank > 1:
        lines.append("    }")
    return [*lines, "}", ""]
