"""`python -m diopigen.conformance.aten.program.executor INTERFACE [--register MODULE]... [--compile BACKEND]`: calls
overloads of ATen in the place of diopi-executor. INTERFACE is the pickled interface; the library of a request is the
device. It has no expected values."""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from diopigen.conformance.aten.arguments import Reader
from diopigen.conformance.aten.coverage import origin, parts_of
from diopigen.conformance.aten.fork_server import serve_forks
from diopigen.conformance.aten.forms import CPU, META
from diopigen.conformance.aten.pairing import PairingError, paired
from diopigen.conformance.aten.program.call import AtenCall, Invoke, NoSuchCallError, Overload, Statuses, first_line
from diopigen.conformance.aten.program.random_states import RandomStates
from diopigen.conformance.aten.program.tensors import torch_dtypes
from diopigen.conformance.run.frames import FOREIGN, MISSING, OWN, Answer
from diopigen.conformance.run.serving import HostFailure, Opened, OpenRequest, Request, serve
from diopigen.ir.aten import parse_schema
from diopigen.ir.model import Function, Interface

_STATES = {"cpu": FOREIGN, "absent": MISSING, "missing": MISSING}
"""States of overloads by the origin of their kernels; those of others are the device's own."""


class AtenCalls:
    """Overloads of ATen on a device."""

    def __init__(self, interface: Interface, compiler: str = "") -> None:
        self.compiler = compiler
        self.reader = Reader(interface)
        self.dtypes = torch_dtypes(self.reader.dtypes)
        self.functions = {function.name: function for function in interface.functions}
        status = self.reader.enums["diopiError_t"]
        codes = {name: code for code, name in status.items()}
        self.statuses = Statuses(codes["diopiSuccess"], codes["diopiErrorOccurred"], codes["diopiNoImplement"])
        self._overloads: dict[tuple[str, str], Overload | str] = {}

    def open(self, request: OpenRequest) -> Opened:
        """Opens the device."""
        try:
            self.device = torch.device(request.library)
            torch.empty(1, device=self.device)
            self._synchronize = _synchronizer(self.device)
        except Exception as error:
            raise HostFailure("device", f"torch has no device '{request.library}': {first_line(error)}") from None
        self.names = list(request.functions)
        self.elsewhere = {kind: (torch.device(kind), RandomStates(torch.device(kind))) for kind in (META, CPU)}
        self.states = RandomStates(self.device)
        found = [self._state(*name.split(" ")) for name in self.names]
        return Opened("PyTorch", f"{torch.__version__}, {self.device}", False, found)

    def call(self, request: Request) -> Answer:
        """Makes a call."""
        name, overload, *other = self.names[request.function].split(" ")
        known = self._known(self.functions[name], overload)
        if isinstance(known, str):
            raise NoSuchCallError(known)
        if other:
            call = AtenCall(known, request, self.reader, self.dtypes, *self.elsewhere[other[0]])
            return call.answer(_plainly, _nothing, self.statuses)
        call = AtenCall(known, request, self.reader, self.dtypes, self.device, self.states)
        return call.answer(self._invoke, self._synchronize, self.statuses)

    def close(self) -> str:
        """Leaves the device."""
        return ""

    def _state(self, _function: str, overload: str, *other: str) -> int:
        if self._op(overload) is None:
            return MISSING
        return OWN if other else _STATES.get(origin(overload, self.device.type), OWN)

    def _op(self, overload: str) -> Any:
        space, base, name = parts_of(overload)
        packet = getattr(getattr(torch.ops, space), base, None)
        return getattr(packet, name or "default", None)

    def _known(self, function: Function, overload: str) -> Overload | str:
        """The overload, or why it cannot be called from the function's arguments."""
        key = function.name, overload
        if key not in self._overloads:
            self._overloads[key] = self._prepared(function, overload)
        return self._overloads[key]

    def _prepared(self, function: Function, overload: str) -> Overload | str:
        op = self._op(overload)
        defaults = {one.name: one.default_value for one in op._schema.arguments if one.has_default_value()}
        try:
            schema = parse_schema(str(op._schema).partition("::")[2])
            pairing = paired(function, overload, schema, schema.defaults | frozenset(defaults))
        except (PairingError, ValueError) as error:
            return str(error)
        return Overload(function, op, pairing, defaults)

    @property
    def _invoke(self) -> Invoke:
        return self._through_compiler if self.compiler else _plainly

    def _through_compiler(self, op: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        # After some calls of one function it would be called as it is, and not be compiled again.
        torch._dynamo.reset()

        def called(*positional: Any, **named: Any) -> Any:
            return op(*positional, **named)

        compiled = torch.compile(called, backend=self.compiler, dynamic=False, fullgraph=True)
        try:
            return compiled(*arguments, **keywords)
        except torch._dynamo.exc.Unsupported as error:
            # Run without a graph it would pass as compiled: the suite counts it as unimplemented, with this reason.
            raise NotImplementedError(f"torch.compile has no graph for it: {first_line(error)}") from None


def _plainly(op: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    return op(*arguments, **keywords)


def _nothing() -> None:
    pass


def _synchronizer(device: Any) -> Callable[[], None]:
    if device.type == "cpu":
        return _nothing
    found: Callable[[], None] = getattr(torch.get_device_module(device), "synchronize", _nothing)
    return found


def main() -> int:
    """Entry of the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("interface")
    parser.add_argument("--register", action="append", default=[])
    parser.add_argument("--compile", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fork", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for module in options.register:
        importlib.import_module(module)
    interface = pickle.loads(Path(options.interface).read_bytes())

    def run() -> int:
        torch.set_num_threads(options.threads)
        return serve(AtenCalls(interface, options.compile))

    if not options.fork:
        return run()
    torch.empty(1, device="meta").add(1)  # reads what meta functions need
    serve_forks(options.fork, run)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
