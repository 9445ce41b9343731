"""The dtypes of the interface for C++: a row of facts for each, and the dtype that holds two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from diopigen.contract.dtypes import LARGEST, LIMIT, promote_types
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.load import known_dtypes
from diopigen.ir.model import Interface

TARGET = "dtypes"
_DLPACK = {"signed": 0, "unsigned": 1, "floating": 2, "complex": 5, "bool": 6}
_BFLOAT = 4
"""Values of DLDataTypeCode."""
_NONE = "diopi_dtype_unsupported"


def emit(interface: Interface, templates: Path) -> Plan:
    """`include/diopigen/dtypes.h`; no file for an interface without dtypes."""
    if not interface.dtypes:
        return Plan()
    template = "c/dtypes.h.j2"
    rows = [_row(info, interface.dtypes) for info in interface.dtypes]
    values = {value.name for enum in interface.enums for value in enum.values}
    unsupported = _NONE if _NONE in values else "static_cast<diopiDtype_t>(255)"
    single = next((info.enum for info in interface.dtypes if info.name == "float32"), "dtype")
    content = render(
        templates,
        template,
        {"rows": rows, "unsupported": unsupported, "single": single, "header": interface.types_header},
    )
    inputs = ("specs/types.yaml", f"templates/{template}")
    return Plan((PlannedFile("include/diopigen/dtypes.h", content, inputs, TARGET),))


def _dlpack(info: DtypeInfo) -> int:
    if not info.aten:
        return -1
    if info.dlpack:
        return info.dlpack
    is_bfloat = info.kind == "floating" and info.bytes == 2 and info.exponent == 8
    return _BFLOAT if is_bfloat else _DLPACK[info.kind]


def _row(info: DtypeInfo, dtypes: Sequence[DtypeInfo]) -> Mapping[str, object]:
    enums = {one.name: one.enum for one in dtypes}
    position = {one.name: index for index, one in enumerate(dtypes)}

    def promoted(other: DtypeInfo) -> int:
        if info.name == other.name:
            return position[info.name]
        if not {info.name, other.name} <= known_dtypes().keys():
            return len(dtypes)
        return position.get(promote_types(info.name, other.name), len(dtypes))

    return {
        "enum": info.enum,
        "name": info.name,
        "kind": f"k{info.kind.capitalize()}",
        "bytes": info.bytes,
        "digits": info.digits,
        "largest": LARGEST.get(info.name, 0.0),
        "limit": LIMIT.get(info.name, 0.0),
        "dlpack": _dlpack(info),
        "compute": enums.get(info.compute, info.enum),
        "real": enums.get(info.real, info.enum),
        "complex": enums.get(info.complex, info.enum),
        "promoted": [promoted(other) for other in dtypes],
    }
