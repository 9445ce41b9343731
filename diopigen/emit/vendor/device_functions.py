"""A vendor's device functions over plain host memory, as text: where a vendor starts before its driver is called.

Signatures, names and documentation come from `device_functions` of the spec. One definition of each function serves
both established forms: a host that takes registrations gets the function in `initLibrary`, a host of the newer form
finds it by its name at link time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diopigen.emit.c_text import call_lines, declarator, wrapped
from diopigen.ir.c_types import DeviceFunction

_COPY = ("return copyOnHost(dst, src, bytes);",)

_BODIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "malloc": (
        "the allocator of your driver. What it gives is aligned for every dtype.",
        (
            "const uint64_t rounded = bytes > 0 ? (bytes + kAlignment - 1) / kAlignment * kAlignment : kAlignment;",
            "void* address = rounded >= bytes ? std::aligned_alloc(kAlignment, rounded) : nullptr;",
            "if (address == nullptr) {",
            '    setLastError("out of device memory: %llu bytes asked for", static_cast<unsigned long long>(bytes));',
            "}",
            "return address;",
        ),
    ),
    "free": ("what gives memory back. Work that uses it is done: the host has waited.", ("std::free(ptr);",)),
    "create_stream": (
        "a new queue of your driver. Plain host memory has none, and a null handle is a valid stream.",
        ("*stream = nullptr;", "return 0;"),
    ),
    "destroy_stream": ("what ends a queue on which no work is pending.", ("(void)stream;", "return 0;")),
    "sync_stream": (
        "wait for the queue, and give the status of the work that was on it.",
        ("(void)stream;", "return 0;"),
    ),
    "memcpy_h2d_async": ("queue a copy to the device on the stream.", ("(void)stream;", *_COPY)),
    "memcpy_d2h_async": ("queue a copy to the host on the stream.", ("(void)stream;", *_COPY)),
    "memcpy_d2d_async": ("queue a copy within the device on the stream.", ("(void)stream;", *_COPY)),
    "get_last_error_string": (
        "the text that your driver gives for its last error on this thread.",
        ("return diopiGetLastErrorString();",),
    ),
}


def device_function(function: DeviceFunction) -> dict[str, Any]:
    """Data of the template of device.cpp for a function: `doc`, `head`, `body`, `register` and `name`."""
    params = [declarator(param.c_type, param.name) for param in function.params]
    where, lines = _BODIES.get(function.name, ("this function; nothing is known of it here.", _unknown(function)))
    comment = wrapped(f"VENDOR: {where}", "    // ", "    // ")
    return {
        "name": function.linked_name,
        "register": function.register,
        "doc": "\n".join(wrapped(function.doc.strip(), "// ", "// ")),
        "head": call_lines(declarator(function.returns, function.linked_name), params, " {"),
        "body": "\n".join([*comment, *(f"    {line}" for line in lines)]),
    }


def _unknown(function: DeviceFunction) -> tuple[str, ...]:
    unused = tuple(f"(void){param.name};" for param in function.params)
    said = f'setLastError("{function.linked_name} is not implemented");'
    if function.returns == "void":
        return (*unused, said)
    return (*unused, said, "return nullptr;" if function.returns.endswith("*") else "return 1;")
