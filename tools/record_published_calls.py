"""Records the calls of the published conformance suite as tests/data/published_calls, from a checkout.

The suite runs with a stub of its binding to a kernel library: each call is recorded, with shapes, strides and dtypes of
its tensors, with numbers, and with the rule that an operand was drawn by, and nothing is computed. Cases that differ in
dtypes alone are one line. tests/published_calls reads the lines and makes the calls.
"""

from __future__ import annotations

import argparse
import ctypes
import enum
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface, Parameter

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "tests/data/published_calls"
_WITHOUT = ("context",)
_MANY = 20_000
"""Elements from which on no operand decides about the shapes of later calls: they are not drawn."""
_POINTERS = ("int64", "double", "bool")
_RULES = {
    "randn": "normal", "randn_int": "normal", "rand": "unit", "uniform": "uniform", "randint": "integers",
    "ones": "ones", "zeros": "zeros", "empty": "zeros", "mask": "bits", "positive": "positive", "sym_mat": "symmetric",
    "randn_complx": "complex", "log_softmax": "logarithms",
}  # fmt: skip
"""The suite's generators by the names of the rules in tests/published_calls."""


def _enumeration(name: str, values: Mapping[str, int]) -> Any:
    return enum.IntEnum(name, dict(values))


class Tensor:
    """A tensor of the stub: `rule` says how an operand was drawn, `first` where a call named it first."""

    def __init__(self, size: Any = None, stride: Any = None, dtype: Any = None, *rest: Any, **named: Any) -> None:
        self.sizes = list(size.data) if size is not None else [0]
        self.strides = list(stride.data) if stride is not None and stride.len == len(self.sizes) else _dense(self.sizes)
        self.dtype_of = dtype if dtype is not None else DTYPES.float32
        self.requires_grad = bool(named.get("requires_grad", False))
        self.array: Any = None
        self.rule = ""
        self.first: tuple[int, str] | None = None
        self.like: Tensor | None = None
        self.is_new = size is None

    def shape(self) -> Any:
        return SIZE(self.sizes, len(self.sizes))

    def get_stride(self) -> Any:
        return SIZE(self.strides, len(self.strides))

    def get_dtype(self) -> Any:
        return self.dtype_of

    def get_device(self) -> Any:
        return DEVICES.AIChip

    def numel(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64))

    def itemsize(self) -> int:
        return int(np.dtype(self.dtype_of.name).itemsize)

    def context(self) -> Any:
        return CONTEXT

    def reset_shape(self, size: Any) -> None:
        self.sizes = list(size.data)
        self.strides = _dense(self.sizes)


class Drawn(np.ndarray[Any, Any]):
    """An operand as the suite reads it back: cast to another dtype, it is still known how it was drawn."""

    rule = ""

    def astype(self, dtype: Any, *rest: Any, **named: Any) -> Any:
        """The elements in another dtype."""
        result = np.asarray(super().astype(dtype, *rest, **named)).view(Drawn)
        result.rule = f"{self.rule} from {self.dtype.name}" if self.rule and result.dtype != self.dtype else self.rule
        return result


class Sparse(Tensor):
    """A matrix in compressed sparse rows, which its dense form stands for."""


class Size:
    """A list of integers that may be null with a length."""

    def __init__(self, data: Sequence[int] | None = None, length: int = 0) -> None:
        self.data = [int(item) for item in data or ()]
        self.len = length

    def __len__(self) -> int:
        return self.len

    def __getitem__(self, at: int) -> int:
        return self.data[at]


class Scalar:
    """A number with the dtype that it is passed in."""

    def __init__(self, dtype: Any = None, value: Any = 0) -> None:
        self.stype, self.value = dtype, value


class Handle:
    """A handle to a tensor, or the room for one that the function allocates."""

    def __init__(self, tensor: Tensor | None = None) -> None:
        self.tensor = tensor

    def data(self) -> Tensor | None:
        return self.tensor


class Context:
    """Device of tensors of the suite."""

    def clear_tensors(self) -> None:
        """Nothing is allocated."""


class Generator:
    """A random generator."""

    def __init__(self, state: Any = None) -> None:
        self.retained = state

    def state(self) -> Any:
        return self.retained

    def set_state(self, state: Any) -> None:
        self.retained = state


SIZE = Size
CONTEXT = Context()
DTYPES: Any = None
DEVICES: Any = None


def _dense(sizes: Sequence[int]) -> list[int]:
    strides = [1] * len(sizes)
    for at in range(len(sizes) - 2, -1, -1):
        strides[at] = strides[at + 1] * max(sizes[at + 1], 1)
    return strides


# ---- one case -------------------------------------------------------------------------------------------------------


class Recorder:
    """The calls of one case."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.unknown: set[str] = set()

    def called(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Takes a call down, and gives new tensors a shape."""
        function = self.interface.function(name)
        if function is None:
            self.unknown.add(name)
            return ERRORS.diopi_success
        bound = dict(self._bound(function, arguments))
        if name == "diopiFill" and self._is_ones(bound):
            return ERRORS.diopi_success
        number = len(self.calls)
        named: dict[str, Any] = {}
        for param in function.params:
            if param.name in bound:
                named[param.name] = self._argument(param, bound[param.name], number)
        for param in function.params:
            value = named.get(param.name)
            if isinstance(param.count, str) and isinstance(value, list) and named.get(param.count) == len(value):
                del named[param.count]
        self.calls.append((name.removeprefix("diopi"), named))
        _allocate(function, bound, number)
        return ERRORS.diopi_success

    def _is_ones(self, bound: Mapping[str, Any]) -> bool:
        """A tensor that the suite fills before it passes it on: ones or zeros are how it is drawn."""
        tensor, value = bound.get("input"), bound.get("value")
        if not isinstance(tensor, Tensor) or not isinstance(value, Scalar) or value.value not in (0, 1):
            return False
        if tensor.rule or tensor.first is not None:
            return False
        tensor.rule = "ones" if value.value == 1 else "zeros"
        return True

    def _bound(self, function: Function, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        provided = list(arguments[1:] if function.context else arguments)
        params = [param for param in function.params if param.type not in _WITHOUT]
        if len(provided) < len(params):  # its binding leaves out all pointers to numbers together
            params = [param for param in params if not (param.nullable and param.type in _POINTERS)]
        assert len(provided) == len(params), f"{function.name}: {len(provided)} arguments for {len(params)} parameters"
        yield from ((param.name, value) for param, value in zip(params, provided, strict=True))

    def _argument(self, param: Parameter, value: Any, number: int) -> Any:
        if param.type in ("new_tensor", "new_tensors"):
            return None if value is None else "new"
        if param.type in ("generator", "generators"):
            return None if value is None else "made"
        if isinstance(value, Handle):
            value = value.tensor
        if isinstance(value, Tensor):
            return self._tensor(param.name, value, number)
        if param.type == "tensors":
            return (
                None
                if value is None
                else [self._argument_of_list(param.name, item, number, at) for at, item in enumerate(value)]
            )
        if isinstance(value, Size):
            return list(value.data) if value.data or not value.len else None
        if isinstance(value, Scalar):
            is_numpy = isinstance(value.value, (np.generic, np.ndarray))
            number_of = value.value.item() if is_numpy else value.value
            is_real = str(value.stype.name).startswith("float")
            return {"real": float(number_of)} if is_real else {"whole": int(number_of)}
        if isinstance(value, enum.Enum):
            return f"diopi_dtype_{value.name}" if param.type == "diopiDtype_t" else value.name
        if isinstance(value, (np.generic, np.ndarray)):
            return value.item()
        if type(value).__name__ == "PyCapsule":
            return _pointed(value, param.type)
        return value.decode() if isinstance(value, bytes) else value

    def _argument_of_list(self, name: str, item: Any, number: int, at: int) -> Any:
        tensor = item.tensor if isinstance(item, Handle) else item
        return None if tensor is None else self._tensor(f"{name}.{at}", tensor, number)

    def _tensor(self, name: str, tensor: Tensor, number: int) -> str:
        if tensor.first is not None:
            return "&{}.{}".format(*tensor.first)
        tensor.first = (number, name)
        dense = "" if tensor.strides == _dense(tensor.sizes) or tensor.numel() <= 1 else f"@{_list(tensor.strides)}"
        if isinstance(tensor, Sparse):
            dense = " sparse"
        rule = tensor.rule
        if not rule and tensor.array is not None:
            rule = _written_out(tensor.array)
        of = tensor.like
        if of is not None and of.is_new and of.first is not None:
            return f"{tensor.dtype_of.name}[&{of.first[0]}.{of.first[1]}] {rule}".rstrip()
        return f"{tensor.dtype_of.name}{_list(tensor.sizes)}{dense} {rule}".rstrip()


def _written_out(array: Any) -> str:
    """The elements of a tensor that the suite writes out itself: most often the keys that a causal mask hides."""
    if array.ndim >= 2 and np.array_equal(array, np.broadcast_to(np.triu(np.ones(array.shape[-2:]), 1), array.shape)):
        return "above"
    assert array.size <= _MANY, f"{array.size} elements are written out"
    return f"= {json.dumps(array.tolist())}"


def _pointed(capsule: Any, type_name: str) -> Any:
    """The number that a capsule points to."""
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = ctypes.pythonapi.PyCapsule_GetPointer(capsule, None)
    kinds: Mapping[str, Any] = {"int64": ctypes.c_int64, "double": ctypes.c_double, "bool": ctypes.c_bool}
    return kinds[type_name].from_address(address).value


def _list(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _allocate(function: Function, bound: Mapping[str, Any], number: int) -> None:
    """The shapes of tensors that later calls of the suite look at."""
    for param in function.params:
        value = bound.get(param.name)
        if param.type != "new_tensor" or not isinstance(value, Handle) or value.tensor is None:
            continue
        value.tensor.first = value.tensor.first or (number, param.name)
        source = bound.get("input")
        if isinstance(source, Handle):
            source = source.tensor
        if isinstance(source, Tensor):
            value.tensor.dtype_of = source.dtype_of
            value.tensor.sizes = _sizes_of_new(function, bound, source)
            value.tensor.strides = _dense(value.tensor.sizes)


def _sizes_of_new(function: Function, bound: Mapping[str, Any], source: Tensor) -> list[int]:
    mask = bound.get("mask")
    if function.operator == "MaskedSelect" and isinstance(mask, Tensor) and mask.array is not None:
        shape = np.broadcast_shapes(tuple(source.sizes), tuple(mask.sizes))
        return [int(np.count_nonzero(np.broadcast_to(mask.array, shape)))]
    if function.operator == "Index":
        listed = [item.tensor if isinstance(item, Handle) else item for item in bound.get("indices", ())]
        picked = tuple(slice(None) if one is None or one.array is None else _index(one.array) for one in listed)
        return list(np.empty(tuple(source.sizes), dtype=np.bool_)[picked].shape)
    return [max(source.numel(), 1)]


def _index(array: Any) -> Any:
    return array.astype(bool) if array.dtype in (np.bool_, np.uint8) else array.astype(np.int64)


# ---- the suite ------------------------------------------------------------------------------------------------------

ERRORS: Any = None


class _Library(ModuleType):
    """The module that the suite imports as its binding: every function of the interface takes calls down."""

    recorder: Recorder
    interface: Interface

    def __getattr__(self, name: str) -> Any:
        if name.startswith("diopi") and self.interface.function(name) is not None:
            return lambda *arguments: self.recorder.called(name, arguments)
        raise AttributeError(name)


def stub_binding(interface: Interface) -> _Library:
    """The binding's stub, known to Python as `diopilib`."""
    global DTYPES, DEVICES, ERRORS
    enums = {one.name: {value.name: value.value for value in one.values} for one in interface.enums}
    prefix = "diopi_dtype_"
    DTYPES = _enumeration("Dtype", {k.removeprefix(prefix): v for k, v in enums["diopiDtype_t"].items()})
    DEVICES = _enumeration("Device", {"Host": 0, "AIChip": 1})
    names = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", k).lower(): v for k, v in enums["diopiError_t"].items()}
    ERRORS = _enumeration("diopiError", names)
    library = _Library("diopilib")
    library.interface = interface
    offered = {
        "diopiTensor": Tensor, "diopiSparseCsrTensor": Sparse, "diopiSize": Size, "diopiScalar": Scalar,
        "Context": Context,
        "diopiReduction": _enumeration("Reduction", enums["diopiReduction_t"]),
        "diopiRoundMode": _enumeration("RoundMode", enums["diopiRoundMode_t"]),
        "diopiError": ERRORS, "TensorP": Handle, "Device": DEVICES, "Dtype": DTYPES, "diopiGenerator": Generator,
        "diopi_tensor_copy_to_buffer": lambda *_: None, "get_last_error_string": lambda: "",
        "finalize_library": lambda: None,
        "diopi_finalize": lambda: None, "init_library": lambda: None, "build_generator_state": lambda _: Tensor(),
    }  # fmt: skip
    for name, value in offered.items():
        setattr(library, name, value)
    sys.modules["diopilib"] = library
    return library


class Suite:
    """The published suite, imported from a checkout."""

    def __init__(self, checkout: Path, interface: Interface) -> None:
        self.library = stub_binding(interface)
        self.interface = interface
        folder = checkout / "diopi_test/python"
        sys.path[:0] = [str(folder), str(folder / "conformance"), str(folder / "configs")]
        scipy = ModuleType("scipy")
        scipy.__dict__["special"] = SimpleNamespace(log_softmax=lambda array, _: array)
        sys.modules["scipy"] = scipy
        database = ModuleType("conformance.db_operation")  # where the suite keeps results, with packages of its own
        database.__dict__["db_conn"] = None
        sys.modules["conformance.db_operation"] = database
        import conformance.config_parser as parser  # type: ignore[import-not-found]
        import conformance.diopi_functions as functions  # type: ignore[import-not-found]
        import conformance.diopi_manual_test as manual  # type: ignore[import-not-found]
        import conformance.diopi_runtime as runtime  # type: ignore[import-not-found]
        import conformance.gen_input as inputs  # type: ignore[import-not-found]
        import diopi_configs  # type: ignore[import-not-found]

        self.functions, self.manual, self.runtime, self.inputs = functions, manual, runtime, inputs
        self.drawn = 0
        np.resize = _resized(np.resize)
        self._make_tensors_known()
        found = parser.ConfigParser()
        found.parser(diopi_configs.diopi_configs)
        self.cases: Mapping[str, dict[str, Any]] = found.get_config_cases()

    def _make_tensors_known(self) -> None:
        """Tensors remember the arrays that they were made from; arrays, the rule that they were drawn by."""
        tensor = self.runtime.Tensor
        from_numpy = tensor.from_numpy.__func__
        raw_like = tensor.raw_like

        def created(cls: Any, array: Any, *rest: Any, **named: Any) -> Any:
            is_sparse = named.pop("is_sparse", False)
            named.pop("sparse_format", None)
            result = from_numpy(cls, array, *rest, **named)
            if is_sparse:
                result.__class__ = type("SparseTensor", (self.runtime.Tensor, Sparse), {})
            result.array, result.rule = array, getattr(array, "rule", "") or self.rules.get(id(array), "")
            return result

        def like(one: Any) -> Any:
            result = raw_like(one)
            result.like = one
            return result

        tensor.from_numpy = classmethod(created)
        tensor.raw_like = like
        tensor.numpy = _read_back

    def calls_of(self, case: dict[str, Any]) -> Recorder:
        """The calls that a case makes, forward, backward and in place."""
        self.rules: dict[int, str] = {}
        self.retained: list[Any] = []
        self.drawn = 0
        recorder = self.library.recorder = Recorder(self.interface)
        arguments = self._arguments(case)
        name = case["name"]
        if case.get("no_output_ref"):
            _tried(lambda: getattr(self.manual.ManualTest, f"test_{name}")(**arguments))
            if case.get("is_inplace"):
                _tried(lambda: getattr(self.manual.ManualTest, f"test_{name}")(**arguments, inplace=True))
            return recorder
        function = getattr(self.functions, name)
        results = function(CONTEXT, **arguments) if case.get("need_context") else function(**arguments)
        if any(True in tensor["requires_grad"] for tensor in case["tensor_para"]["args"]):
            self._backward(case, arguments, results)
        if case.get("is_inplace"):
            function(**arguments, inplace=True)
        return recorder

    def _backward(self, case: dict[str, Any], arguments: dict[str, Any], results: Any) -> None:
        several = results if isinstance(results, (list, tuple)) else [results]
        numbers = case["requires_backward"] or range(len(several))
        gradients = [self.functions.ones_like(several[number]) for number in numbers]
        saved = {key: several[number] for key, number in case["saved_args"].items()}
        getattr(self.functions, f"{case['name']}_backward")(**arguments, grad_outputs=gradients, **saved)

    def _arguments(self, case: dict[str, Any]) -> dict[str, Any]:
        suite = self
        generator = self.inputs.GenTensor

        class Drawing(generator):  # type: ignore[misc,valid-type]
            """Draws each tensor from a seed of its own, the number of the tensor."""

            def gen_tensor(self, shape: Any, dtype: Any) -> Any:
                np.random.seed(suite.drawn)
                if int(np.prod(shape)) > _MANY:
                    array = np.zeros(shape, dtype).transpose() if self.no_contiguous else np.zeros(shape, dtype)
                else:
                    array = super().gen_tensor(shape, dtype)
                suite.rules[id(array)] = f"{_rule(self.arg, self.no_contiguous)} {suite.drawn}"
                suite.retained.append(array)
                suite.drawn += 1
                return array

        self.inputs.GenTensor = Drawing
        try:
            drawn = self.inputs.GenParas(case).gen_data()["function_paras"]
        finally:
            self.inputs.GenTensor = generator
        strides = {arg["ins"]: arg.get(f"{arg['ins']}stride") for arg in case["tensor_para"]["args"]}
        sparse = {arg["ins"] for arg in case["tensor_para"]["args"] if arg.get("sparse") == [True]}
        found: dict[str, Any] = {}
        for key, value in drawn["kwargs"].items():
            if isinstance(value, np.ndarray):
                wants = drawn["requires_grad"].get(key, [False])[0]
                found[key] = self._tensor(value, strides.get(key), wants, key in sparse)
            elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):
                found[key] = [self._tensor(item, None, False, False) for item in value]
            elif key == "dtype":
                found[key] = self.runtime.from_numpy_dtype(value)
            else:
                found[key] = value
        return found

    def _tensor(self, array: Any, strides: Sequence[int] | None, wants: bool, is_sparse: bool) -> Any:
        laid = array
        if strides:
            count = sum((size - 1) * step for size, step in zip(array.shape, strides, strict=True)) + 1
            room = np.empty(max(int(count), 1), array.dtype)
            laid = np.lib.stride_tricks.as_strided(room, array.shape, tuple(array.itemsize * step for step in strides))
            np.copyto(laid, array)
            self.retained.append(laid)
            if id(array) in self.rules:
                self.rules[id(laid)] = self.rules[id(array)]
        return self.runtime.Tensor.from_numpy(laid, is_sparse=is_sparse, requires_grad=wants)


def _read_back(tensor: Tensor) -> Any:
    """The elements of a tensor: of an operand, with how it was drawn."""
    if tensor.array is None:
        return np.zeros(tensor.sizes, tensor.dtype_of.name)
    elements = np.asarray(tensor.array).view(Drawn)
    elements.rule = tensor.rule
    return elements


def _resized(resize: Any) -> Any:
    """`numpy.resize`, which the suite enlarges an operand with, so that it is still known how that was drawn."""

    def resized(array: Any, shape: Any) -> Any:
        result = resize(np.asarray(array), shape)
        rule = getattr(array, "rule", "")
        if rule:
            result = result.view(Drawn)
            result.rule = rule if result.shape == array.shape else f"{rule} of {_list(array.shape)}"
        return result

    return resized


def _rule(arg: Mapping[str, Any], is_transposed: bool) -> str:
    """The rule that an operand is drawn by, in the words of tests/published_calls."""
    described = arg["gen_fn"]
    named = dict(described) if isinstance(described, dict) else {"fn": described}
    name = str(named.pop("fn")).removeprefix("Genfunc.")
    is_sparse = arg.get("sparse") == [True]
    density = named.pop("density", 0.2)
    base = name.removesuffix("_sparse")
    if base in ("randint", "uniform"):
        named = {"low": named.get("low", 0), "high": named.get("high", 10)}
    elif base != "log_softmax":
        named = {}
    numbers = f"({','.join(str(value) for value in named.values())})" if named else ""
    parts = [_RULES[base] + numbers]
    parts += [f"density({density})"] if is_sparse or base != name else []
    return " ".join([*parts, *(["turned"] if is_transposed else [])])


def _tried(call: Any) -> None:
    """A manual test compares results, which nothing computed."""
    try:
        call()
    except Exception as error:
        del error


# ---- the table ------------------------------------------------------------------------------------------------------


def _spread(calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[str, tuple[str, ...]]:
    """A case without its dtypes, and the dtypes."""
    known: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f'"#{known.setdefault(match[1], len(known))}['

    text = json.dumps(calls, separators=(",", ":"))
    return re.sub(r'"([a-z]+[0-9]*)\[', numbered, text), tuple(known)


def main() -> int:
    """Writes the table, one file for each family of the first function that a case calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    options = parser.parse_args()
    interface = api.load(api.workspace(None), Sink(), check=False).interface
    suite = Suite(options.checkout, interface)
    lines: dict[str, dict[tuple[str, str], list[tuple[str, ...]]]] = {}
    failed: dict[str, int] = {}
    for case in suite.cases.values():
        try:
            recorder = suite.calls_of(case)
        except Exception as error:
            failed[f"{case['name']}: {type(error).__name__}: {str(error)[:100]}"] = (
                failed.get(f"{case['name']}: {type(error).__name__}: {str(error)[:100]}", 0) + 1
            )
            recorder = suite.library.recorder
        if not recorder.calls:
            continue
        text, dtypes = _spread(recorder.calls)
        function = interface.function(f"diopi{recorder.calls[0][0]}")
        assert function is not None
        each = lines.setdefault(function.family, {}).setdefault((recorder.calls[0][0], text), [])
        if dtypes not in each:
            each.append(dtypes)
    OUT.mkdir(parents=True, exist_ok=True)
    count = 0
    for family, found in sorted(lines.items()):
        rows = []
        for (_, text), dtypes_of in sorted(found.items(), key=lambda one: one[0][0]):
            count += len(dtypes_of)
            rows.append(f'{{"dtypes":{json.dumps(dtypes_of, separators=(",", ":"))},"calls":{text}}}\n')
        (OUT / f"{family}.jsonl").write_text("".join(rows), encoding="utf-8")
    print(f"{len(suite.cases)} cases, {count} different ones; {sum(failed.values())} ended early")
    for message, times in sorted(failed.items()):
        print(f"  {times} x {message}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
