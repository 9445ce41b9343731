"""The shims of a vendor: public functions that convert what its kernels cannot take.

Not a target of `generate`: the input is a vendor's tree, and the output belongs there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from diopigen.config.grammar import is_configurable
from diopigen.config.model import FunctionRule, ResolvedConfig
from diopigen.config.subject import ABOUT_FORMATS, HELPERS
from diopigen.emit.adaptor.rules import IMAGE_RANKS, LAYOUTS, RuleTable
from diopigen.emit.adaptor.shim import declaration, shim
from diopigen.emit.c_text import COLUMNS
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.ir.model import Function, Interface

SHIMS = "adaptor.cpp"
DECLARATIONS = "functions.h"

_LAST_ERROR = "diopiGetLastErrorString"
# In the order of the struct Helpers of the adaptor core.
_HELPERS = {
    "cast_dtype": "diopiCastDtype",
    "copy_inp": "diopiCopyInp",
    "contiguous": "diopiContiguous",
    "equal": "diopiEqual",
    "setLastError": "setLastError",
    "lastError": "lastError",
}
# Helpers work on what conversions are about, and a native format means nothing to anybody else.
_NEVER_CONVERTED = frozenset({*HELPERS, *ABOUT_FORMATS})
_NAMES = (
    *("all_fit", "Call", "caught", "dtype_of", "fits", "Helpers", "kChannelsLast", "kRatherChannelsLast", "kRowMajor"),
    *("last_error_text", "missing", "pass", "Rule"),
)


def emit_adaptors(interface: Interface, resolved: ResolvedConfig, templates: Path) -> Plan:
    """`adaptor.cpp` and `functions.h` for one vendor: a shim for each function that it implements."""
    rules = {rule.function: rule for rule in resolved.functions}
    operators = [function for function in interface.functions if is_configurable(function)]
    shimmed = [f for f in operators if f.name in resolved.implemented and f.returns == "status"]
    table = RuleTable(interface)
    enums = {info.name: info.enum for info in interface.dtypes}
    shims = [
        shim(f, resolved.vendor, None if f.name in _NEVER_CONVERTED else rules.get(f.name), table, enums)
        for f in shimmed
    ]
    config = resolved.file
    sources = _sources(interface, shimmed, config)
    common = {
        "vendor": resolved.vendor,
        "config": config,
        "command": "diopigen adaptors",
        "sources": sources,
        "headers": _headers(interface, {f.name for f in shimmed} | set(_HELPERS.values())),
    }
    shim_values = {
        **common,
        "names": sorted(_NAMES, key=str.lower),
        "helpers": _helpers(resolved.vendor),
        "last_error": _last_error(resolved.vendor),
        "rules": table.definitions(),
        "shims": shims,
        "layouts": layout_lines(shimmed, rules, table),
    }
    declared = {*(function.name for function in shimmed), *_HELPERS.values(), _LAST_ERROR}
    declaration_values = {
        **common,
        "guard": f"DIOPIGEN_ADAPTORS_{resolved.vendor.upper()}_FUNCTIONS_H_",
        "functions": [declaration(function) for function in interface.functions if function.name in declared],
    }
    return Plan(
        (
            _file(SHIMS, "adaptor/adaptor.cpp.j2", shim_values, sources, templates),
            _file(DECLARATIONS, "adaptor/functions.h.j2", declaration_values, sources, templates),
        )
    )


def _headers(interface: Interface, functions: Set[str]) -> list[str]:
    """The headers that declare these functions; a vendor's tree may lack others."""
    found = {header.file for header in interface.headers if any(each.name in functions for each in header.functions)}
    return sorted(found) or [interface.types_header]


def layout_lines(shimmed: Sequence[Function], rules: Mapping[str, FunctionRule], table: RuleTable) -> list[str]:
    """Layouts of images that shims convert to: lines with a function, a layout, the numbers of dimensions, and the
    tensors by position and name, such as `diopiConvolution2d channels_last 4 0:out 1:input`."""
    lines = []
    for function in shimmed:
        rule = rules.get(function.name)
        if rule is None or function.name in _NEVER_CONVERTED:
            continue
        tensors = {tensor.param: tensor for tensor in rule.tensors}
        demands: dict[str, list[str]] = {}
        for position, param in enumerate(function.params):
            demand = table.demand(tensors.get(param.name))
            for layout in LAYOUTS if param.type == "tensor" else ():
                ranks = ",".join(str(rank) for rank in IMAGE_RANKS if demand.layout(rank) == layout)
                if ranks:
                    demands.setdefault(f"{layout} {ranks}", []).append(f"{position}:{param.name}")
        lines += [f"{function.name} {demand} {' '.join(own)}" for demand, own in demands.items()]
    return lines


def _helpers(vendor: str) -> list[str]:
    """The members of the constant `helpers`, with their names behind them."""
    values = [f"impl::{vendor}::{name}," for name in _HELPERS.values()]
    width = max(map(len, values))
    return [f"{value:<{width}}  // {member}" for value, member in zip(values, _HELPERS, strict=True)]


def _last_error(vendor: str) -> str:
    head = f"const char* {_LAST_ERROR}() {{"
    body = f"return last_error_text(helpers, impl::{vendor}::{_LAST_ERROR});"
    line = f"{head} {body} }}"
    return line if len(line) <= COLUMNS else f"{head}\n    {body}\n}}"


def _file(path: str, template: str, values: Mapping[str, Any], sources: Sequence[str], templates: Path) -> PlannedFile:
    content = render(templates, template, values)
    return PlannedFile(path, content, (*sources, "specs/types.yaml", f"templates/{template}"), "adaptors")


def _sources(interface: Interface, functions: Sequence[Function], config: str) -> tuple[str, ...]:
    """The configuration, then the spec files of the functions."""
    return (config, *spec_files(interface, functions))
