"""Plain scalars of YAML: their values under the YAML 1.2 core schema, and those that YAML 1.1 reads otherwise."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Union

Scalar = Union[str, int, float, bool, None]

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
# What a plain scalar that is no text can begin with: digits, signs, and first letters of words for truth and null.
SUSPECT = frozenset("0123456789+-.~=tTfFnNyYoO") | {""}
_CONSTANTS: dict[str, Scalar] = {"true": True, "false": False, "null": None, "~": None, "": None}
# Plain scalars that a YAML 1.1 reader turns into a boolean, a number or a date.
YAML_1_1 = re.compile(
    r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|True|TRUE|False|FALSE|Null|NULL"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?0[0-9_]+|0o[0-7]+|[-+]?0b[01_]+|[-+]0x[0-9a-fA-F_]+|0x_[0-9a-fA-F_]*|0x[0-9a-fA-F]+_[0-9a-fA-F_]*"
    r"|[-+]?[0-9.][0-9.]*_[0-9_.]*(?:[eE][-+][0-9]+)?"
    r"|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt \t].*)?|=)\Z"
)


@lru_cache(maxsize=1 << 14)
def is_ambiguous(text: str) -> bool:
    """Returns whether a YAML 1.1 reader turns a plain scalar into something else."""
    return YAML_1_1.match(text) is not None


@lru_cache(maxsize=1 << 14)
def resolve(text: str) -> Scalar:
    """The value of a plain scalar under the YAML 1.2 core schema. Raises `OverflowError` beyond double precision."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    first = text[0]
    if first.isdigit() or first in "+-.":
        if _FLOAT.match(text):
            number = float(text)
            if math.isinf(number):
                raise OverflowError
            return int(text) if _INTEGER.match(text) else number
        if _HEX.match(text):
            whole = int(text, 16)
            float(whole)
            return whole
        if text.lower() in _SPECIAL:
            return _SPECIAL[text.lower()]
    return text
