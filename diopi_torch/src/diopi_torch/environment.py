"""The switches of the environment: their table, and what is checked before the libraries read them."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Iterable

_FLAG = ("0", "1")
SWITCHES: dict[str, tuple[str, ...]] = {
    # This package.
    "DIOPI_AS_CUDA": _FLAG,
    "DIOPI_AUTOCOMPARE": (),
    "DIOPI_AUTOCOMPARE_FOLDER": (),
    "DIOPI_COLLECTIVES_DUMP": (),
    "DIOPI_COMPILE_CACHE": _FLAG,
    "DIOPI_COMPILE_FUSION": _FLAG,
    "DIOPI_COMPILE_GRAPH": _FLAG,
    "DIOPI_COMPILE_LAYOUTS": _FLAG,
    "DIOPI_COMPILE_LOG": ("fusion", "layout", "pattern", "plan", "source"),
    "DIOPI_COMPILE_PATTERNS": (),
    "DIOPI_COMPILE_REPORT": (),
    "DIOPI_DUMP_OP_ARGS": (),
    "DIOPI_FALLBACK_REPORT": (),
    "DIOPI_FORCE_FALLBACK_OPS": (),
    # The dispatch library and shims.
    "DIOPI_CHECK_OVERFLOW": _FLAG,
    "DIOPI_COMPARE": (),
    "DIOPI_DUMP": (),
    "DIOPI_DUMP_FOLDER": (),
    "DIOPI_FALLBACK": (),
    "DIOPI_LOG": (),
    "DIOPI_REFERENCE_LIBRARY": (),
    "DIOPI_TIMING": (),
    "DIOPI_VALIDATE": (),
    "DIOPI_VALIDATE_VALUES": (),
    "DIOPI_VENDOR_LIBRARY": (),
    # The simulated device.
    "DIOPI_KERNEL_CACHE": (),
    "DIOPI_KERNEL_CXX": (),
    "DIOPI_SIM_DEBUG": (),
    "DIOPI_SIM_DELAY": (),
    "DIOPI_SIM_DEVICES": (),
    "DIOPI_SIM_FABRIC_CHECK": (),
    "DIOPI_SIM_FABRIC_FAULT": (),
    "DIOPI_SIM_FABRIC_TIMEOUT": (),
    "DIOPI_SIM_MEMORY": (),
    "DIOPI_SIM_MEMORY_CHECK": (),
    "DIOPI_SIM_ORDER_CHECK": (),
    "DIOPI_SIM_TRACE": (),
    # The reference libraries.
    "DIOPI_CPU_CAPABILITY": (),
    "DIOPI_CUDA_ATTENTION_BYTES": (),
    "DIOPI_CUDA_CHECKS": (),
    "DIOPI_CUDA_EMULATION_BLAS": (),
    "DIOPI_CUDA_EMULATION_BLAS_LOG": (),
    "DIOPI_CUDA_EMULATION_DEVICES": (),
    "DIOPI_CUDA_EMULATION_DNN": (),
    "DIOPI_CUDA_EMULATION_MEMORY": (),
    "DIOPI_CUDA_EMULATION_NOTES": (),
    "DIOPI_CUDA_EMULATION_ORDER": (),
    "DIOPI_CUDA_EMULATION_STREAMS": (),
    "DIOPI_MUTANT": (),
    "DIOPI_MUTANT_ACTS": (),
    "DIOPI_MUTANT_TARGET": (),
    "DIOPI_NUM_THREADS": (),
    "DIOPI_SOURCE_FAULTS": (),
}
"""Every variable that this package, or a library that it may load, reads, with its legal values. Without any, the code
that reads it accepts any text, or raises for a wrong one itself."""
_LISTS = ("DIOPI_COMPILE_LOG",)
"""Switches with several values, separated by commas."""


def _same(value: str) -> str:
    return value


def _level(value: str) -> str:
    """As C reads a number there: text is 0, and all above 3 shows everything."""
    try:
        return str(min(max(int(value), 0), 3))
    except ValueError:
        return "0"


def _flag(value: str) -> str:
    return "0" if value.lower() == "false" else "1"


ALIASES: dict[str, tuple[str, Callable[[str], str]]] = {
    "DIPU_AUTOCOMPARE_OPS_LIST": ("DIOPI_AUTOCOMPARE", _same),
    "DIPU_DUMP_OP_ARGS": ("DIOPI_DUMP_OP_ARGS", _level),
    "DIPU_FORCE_FALLBACK_OPS_LIST": ("DIOPI_FORCE_FALLBACK_OPS", _same),
    "DIPU_MOCK_CUDA": ("DIOPI_AS_CUDA", _flag),
}
"""Switches of torch_dipu: ours of the same meaning, which counts where both are set, and its value for theirs."""
_LEAKS = "torch.<device>.memory_allocated() counts what is in use; on a simulated device "
_LEAKS += "DIOPI_SIM_MEMORY_CHECK=1 lists at exit what is not freed, with the calls that allocated it"
ELSEWHERE = {"DIPU_MEM_CHECK": _LEAKS, "DIPU_MEM_CHECK_ENABLE_BACKTRACE": _LEAKS}
"""Switches of torch_dipu without one of the same meaning here: what serves in their stead."""


def nearest(name: str, names: Iterable[str]) -> str:
    """The name that was probably meant, as the end of a message; empty where none is near."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def prepare() -> None:
    """Sets the switches that aliases name, before a library reads them. Raises `ValueError` for a switch with a value
    that it does not have, and warns of names with our prefix that no switch has: they may be another program's."""
    for name, (own, value) in ALIASES.items():
        if (text := os.environ.get(name)) is not None:
            os.environ.setdefault(own, value(text))
    for name, text in sorted(os.environ.items()):
        legal = SWITCHES.get(name, ())
        values = text.split(",") if name in _LISTS else [text]
        if text and legal and not set(values) <= set(legal):
            raise ValueError(f"{name} is '{text}': {', '.join(legal[:-1])} or {legal[-1]} is possible")
        if name in ELSEWHERE:
            warnings.warn(f"{name} does nothing here: {ELSEWHERE[name]}", stacklevel=2)
        if name.startswith("DIOPI_") and name not in SWITCHES:
            warnings.warn(f"{name} is no switch of {__package__}{nearest(name, SWITCHES)}", stacklevel=2)
