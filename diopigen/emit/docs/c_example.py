"""A C program that makes one call through the host's side of the runtime (`diopigen/host.h`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import isinf, isnan, prod

from diopigen.contract.dtypes import real_of
from diopigen.emit.docs.facts import Sample, SampleNumber, SampleTensor, SampleValue
from diopigen.emit.escaping import c_string
from diopigen.header.signature import c_type
from diopigen.ir.load import known_dtypes
from diopigen.ir.model import Function, Interface, Parameter

_COLUMNS = 100
_SEED = 42

_HEAD = """\
#include <diopi/{header}>
#include <diopigen/host.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* Link with -Wl,--no-as-needed -ldiopi_impl -ldiopirt: the functions of the interface are weak, and by
 * themselves they do not keep a library. */

/* diopi_device for a library that registers the memory of an accelerator. */
#define DEVICE diopi_host

static diopiTensorHandle_t make_tensor(diopiContextHandle_t ctx, diopiDtype_t dtype,
                                       const int64_t* sizes, int64_t rank, const void* data,
                                       uint64_t bytes) {{
    const diopiSize_t size = {{sizes, rank}};
    diopiTensorHandle_t made = NULL;
    diopiHostCreateTensor(ctx, &made, &size, NULL, 0, dtype, DEVICE);
    if (data != NULL) diopiHostCopyToStorage(ctx, made, data, bytes);
    return made;
}}

int main(void) {{
    diopiContextHandle_t ctx = NULL;
    if (diopiHostCreateContext(&ctx) != diopiSuccess) return 1;
"""


def c_example(interface: Interface, function: Function, sample: Sample) -> str | None:
    """The program, or None for calls that it cannot make: those of sparse tensors and of the host itself."""
    if any(param.sparse or param.type in ("stream", "opaque", "borrowed_tensor") for param in function.params):
        return None
    writer = _Writer(interface, function)
    for param in function.params:
        writer.argument(param, sample.get(param.name))
    return writer.text()


class _Writer:
    def __init__(self, interface: Interface, function: Function) -> None:
        self.function = function
        self.enums = {info.name: info.enum for info in interface.dtypes}
        self.lines: list[str] = []
        self.created: list[str] = []
        self.generators: list[str] = []
        self.passed: list[str] = ["ctx"] if function.context else []
        self.shown: list[tuple[str, SampleTensor]] = []
        self.rooms: list[str] = []

    def text(self) -> str:
        lines = list(self.lines)
        lines += _wrapped(f"diopiError_t returned = {self.function.name}(", self.passed, ");")
        lines.append('printf("status %d\\n", (int)returned);')
        for name, tensor in self.shown:
            lines += _printed(name, tensor)
        lines += [f'printf("{name} %g\\n", (double){name});' for name in self.rooms]
        lines += [f"diopiHostDestroyTensor({name});" for name in self.created]
        lines += [f"diopiHostDestroyGenerator({name});" for name in self.generators]
        lines += ["diopiHostDestroyContext(ctx);", "return returned == diopiSuccess ? 0 : 1;"]
        body = "".join(f"    {line}\n" if line else "\n" for line in lines)
        return _HEAD.format(header=self.function.header) + body + "}\n"

    def argument(self, param: Parameter, value: SampleValue) -> None:
        name = param.name
        if param.type == "context":
            self.passed.append("ctx")
        elif value is None:
            self.passed.append("NULL")
        elif param.type in ("generator", "generators"):
            self._generator(param)
        elif isinstance(value, SampleTensor):
            self._tensor(name, value)
            self.passed.append(name)
            if param.is_written:
                self.shown.append((name, value))
        elif param.type == "tensors" and isinstance(value, tuple):
            self._tensors(param, value)
        elif param.type in ("new_tensor", "new_tensors"):
            self._allocated(param)
        elif param.direction == "out":
            self._room(param)
        elif isinstance(value, SampleNumber):
            member = "fval" if value.dtype.startswith("float") else "ival"
            stated = f".stype = {self.enums[value.dtype]}, .{member} = {_number(value.value)}"
            self.lines.append(f"{_const(param)}diopiScalar_t {name} = {{{stated}}};")
            self.passed.append(f"&{name}")
        elif isinstance(value, tuple):
            self._sizes(param, value)
        elif "*" in c_type(param) and param.type != "string":
            base = c_type(param).replace("const ", "").replace("*", "").strip()
            self.lines.append(f"{_const(param)}{base} {name} = {_literal(param, value)};")
            self.passed.append(f"&{name}")
        else:
            self.passed.append(_literal(param, value))

    def _tensor(self, name: str, tensor: SampleTensor) -> None:
        sizes = f"{name}_sizes" if tensor.shape else "NULL"
        if tensor.shape:
            self.lines.append(f"const int64_t {name}_sizes[] = {{{', '.join(map(str, tensor.shape))}}};")
        data, size = "NULL", "0"
        if tensor.pattern is not None:
            self.lines += _pattern(name, tensor)
            data, size = f"{name}_data", f"sizeof {name}_data"
        elif tensor.values:
            self.lines += _wrapped(f"const {_element(tensor.dtype)} {name}_data[] = {{", _elements(tensor), "};")
            data, size = f"{name}_data", f"sizeof {name}_data"
        inputs = ["ctx", self.enums[tensor.dtype], sizes, str(len(tensor.shape)), data, size]
        self.lines += _wrapped(f"diopiTensorHandle_t {name} = make_tensor(", inputs, ");")
        self.created.append(name)

    def _tensors(self, param: Parameter, values: Sequence[SampleValue]) -> None:
        members = []
        for number, value in enumerate(values):
            member = f"{param.name}_{number}"
            if isinstance(value, SampleTensor):
                self._tensor(member, value)
                if param.is_written:
                    self.shown.append((member, value))
            members.append(member if isinstance(value, SampleTensor) else "NULL")
        if not members:
            self.passed.append("NULL")
            return
        handle = c_type(param).replace("*", "").strip()
        self.lines += _wrapped(f"{handle} {param.name}[] = {{", members, "};")
        self.passed.append(param.name)

    def _generator(self, param: Parameter) -> None:
        name = param.name
        self.lines.append(f"diopiGeneratorHandle_t {name} = NULL;")
        self.lines.append(f"diopiHostCreateGenerator(&{name}, {_SEED}, 0);")
        self.generators.append(name)
        self.passed.append(name if param.type == "generator" else f"&{name}")

    def _allocated(self, param: Parameter) -> None:
        """Handles that the operator sets; what they point to belongs to the context."""
        is_array = param.type == "new_tensors" and isinstance(param.count, int)
        if is_array:
            self.lines.append(f"diopiTensorHandle_t {param.name}[{param.count}] = {{NULL}};")
        else:
            self.lines.append(f"diopiTensorHandle_t {param.name} = NULL;")
        self.passed.append(param.name if is_array else f"&{param.name}")

    def _room(self, param: Parameter) -> None:
        base = c_type(param).rstrip().removesuffix("*").strip()
        is_list = base == "diopiSize_t"
        self.lines.append(f"{base} {param.name} = {'{NULL, 0}' if is_list else '0'};")
        if not is_list:
            self.rooms.append(param.name)
        self.passed.append(f"&{param.name}")

    def _sizes(self, param: Parameter, value: Sequence[SampleValue]) -> None:
        name, data = param.name, "NULL"
        if value:
            self.lines.append(f"const int64_t {name}_list[] = {{{', '.join(map(str, value))}}};")
            data = f"{name}_list"
        self.lines.append(f"{_const(param)}diopiSize_t {name} = {{{data}, {len(value)}}};")
        self.passed.append(f"&{name}" if "*" in c_type(param) else name)


def _const(param: Parameter) -> str:
    """Start of the type of a variable that is passed by address: const if the function allows it."""
    is_mutable = "*" in c_type(param) and not c_type(param).startswith("const")
    return "" if is_mutable else "const "


def _element(dtype: str) -> str:
    """The C type of an element; a complex element is two of them."""
    stored = known_dtypes()[real_of(dtype)].c
    return "uint8_t" if stored == "bool" else stored


def _elements(tensor: SampleTensor) -> list[str]:
    """The elements in memory form, as C literals."""
    found = []
    for value in tensor.values:
        if isinstance(value, complex):
            found += [_number(value.real), _number(value.imag)]
        elif tensor.dtype == "float16":
            found.append(f"0x{struct.unpack('<H', struct.pack('<e', value))[0]:04x}")
        elif tensor.dtype == "bfloat16":
            found.append(f"0x{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04x}")
        else:
            text = _number(value)
            single = tensor.dtype in ("float32", "tfloat32") and text[-1].isdigit() and isinstance(value, float)
            found.append(f"{text}f" if single else text)
    return found


def _number(value: int | float) -> str:
    if isinstance(value, float):
        if isnan(value):
            return "NAN"
        if isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        return repr(value)
    if isinstance(value, bool):
        return str(int(value))
    return "INT64_MIN" if value == -(2**63) else f"{value}u" if value >= 2**63 else str(value)


def _literal(param: Parameter, value: SampleValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # the name of an enumerator, or a text
        return c_string(value) if param.type == "string" else value
    assert isinstance(value, (int, float))
    return _number(value)


def _pattern(name: str, tensor: SampleTensor) -> Iterator[str]:
    """Numbers spread over the interval in an order that repeats only after 101 elements."""
    assert tensor.pattern is not None
    low, high = tensor.pattern
    element = _element(tensor.dtype)
    yield f"static {element} {name}_data[{prod(tensor.shape)}];"
    yield f"for (int i = 0; i < {prod(tensor.shape)}; ++i) {{"
    yield f"    {name}_data[i] = ({element})({low!r} + (i * 37 % 101) / 101.0 * {high - low!r});"
    yield "}"


def _printed(name: str, tensor: SampleTensor) -> Iterator[str]:
    """Copies the elements of a result back, and prints the first of them."""
    if tensor.dtype in ("float16", "bfloat16"):
        form, cast = "0x%04x", "(unsigned)"
    elif tensor.dtype.startswith(("float", "tfloat", "complex")):
        form, cast = "%g", "(double)"
    else:
        form, cast = "%lld", "(long long)"
    count = prod(tensor.shape) * (2 if tensor.dtype.startswith("complex") else 1)
    if not count:
        return
    yield f"static {_element(tensor.dtype)} {name}_now[{count}];"
    yield f"diopiHostCopyFromStorage(ctx, {name}, {name}_now, sizeof {name}_now);"
    yield f'printf("{name}");'
    yield f'for (int i = 0; i < {min(count, 16)}; ++i) printf(" {form}", {cast}{name}_now[i]);'
    yield f'printf("{" ..." if count > 16 else ""}\\n");'


def _wrapped(head: str, items: Sequence[str], tail: str) -> Iterator[str]:
    """The items behind a head, on several lines where one is too short."""
    line = head
    for number, item in enumerate(items):
        piece = f"{item}{', ' if number + 1 < len(items) else tail}"
        if len(line) + len(piece) > _COLUMNS and line.strip():
            yield line.rstrip()
            line = "    "
        line += piece
    yield line if items else f"{head}{tail}"
