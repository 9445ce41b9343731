"""The established Python form: the files load, are laid out as formatters do, and say what the spec says."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diopigen import api
from diopigen.conformance.cases.choices import Choice
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.report.device_configs import device_configs
from diopigen.conformance.run.exceptions import read
from diopigen.diagnostics import Sink
from diopigen.emit.conformance.configs import emit
from diopigen.emit.conformance.python_text import CallText, Code, assignment
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn, TensorRecipe, peak_indices

ROOT = Path(__file__).resolve().parents[2]
GENERATORS = {"randn", "randint", "mask", "zeros", "uniform", "ones", "rand", "positive", "randn_int"}


def loaded(text: str, modules: Mapping[str, types.ModuleType] | None = None) -> dict[str, Any]:
    """The names that a file defines, imported with stub modules."""
    retained = dict(sys.modules)
    sys.modules.update(modules or {})
    try:
        names: dict[str, Any] = {}
        exec(compile(text, "configs.py", "exec"), names)
        return names
    finally:
        sys.modules.clear()
        sys.modules.update(retained)


@pytest.fixture(scope="module")
def text(interface: Interface) -> str:
    (file,) = emit(interface, ROOT / "templates").files
    assert file.path == "conformance/diopi_configs.py"
    return file.content.decode()


@pytest.fixture(scope="module")
def configs(text: str) -> dict[str, dict[str, Any]]:
    return dict(loaded(text)["diopi_configs"])


def function_of(interface: Interface, config: Mapping[str, Any]) -> Function:
    (name,) = config["tag"]
    found = interface.function(name)
    assert found is not None, name
    return found


def test_most_functions_are_there(configs: dict[str, dict[str, Any]], interface: Interface, text: str) -> None:
    tags = {config["tag"][0] for config in configs.values()}
    assert len(configs) > 300 and len(tags) > 250
    left = {word.strip(",") for line in text.splitlines() if line.startswith("#   ") for word in line[4:].split()}
    assert not left & tags
    expected = {
        function.name
        for function in interface.functions
        if function.family != "runtime"
        and not function.is_collective
        and function.returns == "status"
        and function.params
        if function.variant in ("base", "scalar") and function.backward_of is None
    }
    assert tags | left == expected


def test_lists_are_as_long_as_one_another(configs: dict[str, dict[str, Any]]) -> None:
    for key, config in configs.items():
        lengths = {len(values) for values in config.get("para", {}).values()}
        for argument in config["tensor_para"]["args"]:
            lengths |= {len(argument["shape"]), len(argument.get("value", argument["shape"]))}
        assert len(lengths) == 1, key


def test_keys_and_generators_are_those_of_the_form(configs: dict[str, dict[str, Any]]) -> None:
    for key, config in configs.items():
        known = {
            "name", "interface", "tag", "dtype", "atol", "rtol", "atol_half", "rtol_half", "is_inplace",
            "no_output_ref", "requires_backward", "para", "tensor_para",
        }  # fmt: skip
        assert set(config) <= known, key
        assert config["interface"][0] in ("torch", "torch.nn.functional", "CustomizedTest")
        assert set(config["tensor_para"]) == {"gen_fn", "args"}
        for argument in config["tensor_para"]["args"]:
            assert set(argument) <= {"ins", "requires_grad", "shape", "dtype", "value", "gen_fn"}, key
            sampled = argument.get("gen_fn", "Genfunc.randn")
            name = sampled["fn"] if isinstance(sampled, dict) else sampled
            assert name.removeprefix("Genfunc.") in GENERATORS, key


def recipe_of(function: Function, config: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The recipe that the place of all lists stands for."""
    words = {"none": "ReductionNone", "mean": "ReductionMean", "sum": "ReductionSum"}
    rounding = {None: "RoundModeNone", "floor": "RoundModeFloor", "trunc": "RoundModeTrunc"}
    found: dict[str, Any] = {}
    for name, values in config.get("para", {}).items():
        param, value = function.param(name), values[index]
        assert param is not None, name
        if param.type == "diopiReduction_t":
            value = words[value]
        elif param.type == "diopiRoundMode_t":
            value = rounding[value]
        found[name] = value
    for argument in config["tensor_para"]["args"]:
        (name,) = argument["ins"]
        shape = argument["shape"][index]
        dtype = np.dtype(argument["dtype"][0]).name if "dtype" in argument else None
        elements: Any = Drawn("normal")
        if "value" in argument:
            array = np.array(argument["value"][index])
            assert array.shape == shape, (function.name, name)
            elements = tuples(argument["value"][index])
        found[name] = TensorRecipe(shape, dtype, elements)
    optional = [param.name for param in function.params if param.direction == "out" and param.nullable]
    return {**dict.fromkeys(optional), **found}  # outputs are made by the test functions of the form


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def test_every_group_is_a_call_of_the_spec(configs: dict[str, dict[str, Any]], interface: Interface) -> None:
    """The suite resolves each recipe: parameters, shapes and dtypes go together."""
    for key, config in configs.items():
        function = function_of(interface, config)
        resolver = Resolver(interface, function)
        count = len(config["tensor_para"]["args"][0]["shape"])
        for dtype in config["dtype"]:
            assert np.dtype(dtype).name in STORAGE, key
        for index in range(count):
            recipe = recipe_of(function, config, index)
            resolver.resolve(recipe, Choice(np.dtype(config["dtype"][-1]).name), checked=False)


def test_marks_follow_from_the_spec(configs: dict[str, dict[str, Any]], interface: Interface) -> None:
    assert configs["add"]["is_inplace"] and "is_inplace" not in configs["convolution2d"]
    assert configs["sort"]["rtol"] == 0 and "rtol" not in configs["add"]
    assert configs["bernoulli"]["no_output_ref"]
    backward = configs["convolution2d"]
    assert backward["requires_backward"] == [0]
    assert [a["ins"][0] for a in backward["tensor_para"]["args"] if "requires_grad" in a] == ["input", "weight", "bias"]


def test_the_checked_in_file_is_laid_out_by_a_formatter(text: str, tmp_path: Path) -> None:
    path = tmp_path / "diopi_configs.py"
    path.write_text(text)
    command = ["ruff", "format", "--isolated", "--line-length", "120", "--check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_bytes_every_time(interface: Interface, text: str) -> None:
    assert emit(interface, ROOT / "templates").files[0].content.decode() == text


def test_values_are_written_as_python_reads_them() -> None:
    value: dict[str, Any] = {
        "a b": [1, -2.5, 1e30, float("inf"), True, None],
        "one": ((3,), ()),
        'quote"\\': "line\nend",
        "call": CallText("dict", (Code("np"),), {"x": "y"}),
    }
    assert assignment("found", value) == (
        'found = {\n    "a b": [1, -2.5, 1e30, float("inf"), True, None],\n    "one": ((3,), ()),\n'
        '    "quote\\"\\\\": "line\\nend",\n    "call": dict(np, x="y"),\n}\n'
    )


# ---- a vendor's exceptions ------------------------------------------------------------------------------------------

EXCEPTIONS = """\
skip:
  - {cases: diopiErfinv/*, reason: not planned}
  - {cases: diopiAdd/*/broadcast-1, reason: not in the form}
  - {cases: diopiConvolution2d/*/recipe-1, reason: no small images}
tolerance:
  - {cases: diopiSoftmax/*, factor: 4, reason: the exponential unit}
unsupported:
  - {functions: diopiConvolution*, dtypes: [float64], reason: no float64}
"""


class Skip:
    """As the test runner's: it marks a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


def test_exceptions_become_device_configs(interface: Interface, tmp_path: Path) -> None:
    path = tmp_path / "exceptions.yaml"
    path.write_text(EXCEPTIONS)
    sink = Sink()
    known = read(path, "exceptions.yaml", sink)
    text = device_configs(interface, known, str(path), sink)
    assert [(found.code, str(found.span)) for found in sink.sorted()] == [
        ("exception-not-carried", "exceptions.yaml:3:13")
    ]
    assert "exceptions.yaml" in text and str(tmp_path) not in text
    stub = types.ModuleType("skip")
    stub.Skip = Skip  # type: ignore[attr-defined]  # a module that is made here
    found = loaded(text, {"skip": stub})["device_configs"]
    assert found["erfinv"] == {"name": ["erfinv"], "skip_all": True}
    assert found["softmax"] == {
        "name": ["softmax"], "atol": 4e-05, "rtol": 4e-05, "atol_half": 0.04, "rtol_half": 0.2,
    }  # fmt: skip
    convolution = found["convolution2d"]
    assert [skip.value for skip in convolution["dtype"]] == [np.float64]
    (argument,) = convolution["tensor_para"]["args"]
    assert argument["ins"] == ["input"] and [skip.value for skip in argument["shape"]] == [(2, 3, 5, 6)]
    assert "add" not in found


def test_without_exceptions_nothing_is_left_out(interface: Interface) -> None:
    sink = Sink()
    found = loaded(device_configs(interface, (), "none.yaml", sink))
    assert found["device_configs"] == {} and len(sink) == 0


def test_the_plan_of_all_targets_has_the_file(interface: Interface) -> None:
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    assert "conformance/diopi_configs.py" in api.plan(interface, where, Sink(), ["conformance"])


def test_peaks_are_written_as_an_expression(configs: Mapping[str, Mapping[str, Any]]) -> None:
    shapes = {(8, 67), (67, 8), (2, 67, 8)}
    found = {
        (np.shape(value), np.count_nonzero(value)): np.flatnonzero(value).tolist()
        for config in configs.values()
        for tensor in config["tensor_para"]["args"]
        for value in tensor.get("value", ())
        if np.shape(value) in shapes and 1 < np.count_nonzero(value) <= 134
    }
    assert {shape for shape, _ in found} == shapes
    for (shape, count), indices in found.items():
        assert count == np.prod(shape[:-1]) and indices == peak_indices(shape)
