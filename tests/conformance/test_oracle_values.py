"""Oracles against small results computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import encode
from diopigen.conformance.oracles import Allocated, Call, Expected, Property, answer_of
from diopigen.ir.model import Interface


def ask(interface: Interface, name: str, outputs: dict[str, tuple[str, Any]], **arguments: Any) -> dict[str, Any]:
    """The answer of a function's oracle. Arrays are (dtype, values); outputs (dtype, shape); the rest is itself."""
    function = interface.function(f"diopi{name}")
    assert function is not None
    values: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    for param in function.params:
        if param.name in arguments:
            value = arguments[param.name]
            if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
                dtypes[param.name] = value[0]
                storage = {"bfloat16": "float32"}.get(value[0], value[0])
                values[param.name] = np.array(value[1], dtype=storage)
                shapes[param.name] = values[param.name].shape
            elif param.type == "scalar" and value is not None:
                values[param.name], dtypes[param.name] = value, "float64" if isinstance(value, float) else "int64"
            else:
                values[param.name] = value
        elif param.name in outputs:
            dtypes[param.name], shapes[param.name] = outputs[param.name]
            values[param.name] = np.zeros(outputs[param.name][1])
        elif param.default is not None and param.default.value is not None:
            values[param.name] = param.default.value
            if param.type == "scalar":
                dtypes[param.name] = "float64" if isinstance(param.default.value, float) else "int64"
        else:
            values[param.name] = None
    with np.errstate(all="ignore"):
        return dict(answer_of(Call(function, values, dtypes, shapes)))


def numbers(answer: Any) -> Any:
    found = answer.expected if isinstance(answer, Allocated) else answer
    assert isinstance(found, Expected)
    return np.asarray(found.values)


F32, I64, U8 = "float32", "int64", "uint8"

SMALL: list[tuple[str, dict[str, Any], dict[str, tuple[str, Any]], dict[str, Any]]] = [
    # name, arguments, outputs (dtype, shape), expected by output
    # [0, 0, 4, 4] covers half of their union with [0, 0, 4, 8]; the third box lies apart.
    ("Nms", {"boxes": (F32, [[0, 0, 4, 8], [0, 0, 4, 4], [9, 9, 10, 10]]), "confidence": (F32, [0.5, 0.75, 0.25]),
             "iou_threshold": 0.4}, {"out": (I64, (2,))}, {"out": [1, 2]}),
    ("Nms", {"boxes": (F32, [[0, 0, 4, 8], [0, 0, 4, 4], [9, 9, 10, 10]]), "confidence": (F32, [0.5, 0.75, 0.25]),
             "iou_threshold": 0.5}, {"out": (I64, (3,))}, {"out": [1, 0, 2]}),
    # A score that is no number is the highest.
    ("Nms", {"boxes": (F32, [[0, 0, 4, 8], [0, 0, 4, 4], [9, 9, 10, 10]]), "confidence": (F32, [np.inf, *2 * [np.nan]]),
             "iou_threshold": 0.4}, {"out": (I64, (2,))}, {"out": [1, 2]}),
    # One bin over the whole map, sampled at its middle and at four points; outside of the map nothing is added.
    ("RoiAlign", {"input": (F32, [[[[0, 1], [2, 3]]]]), "rois": (F32, [[0, 0, 0, 1, 1]]), "pooled_height": 1,
                  "pooled_width": 1, "sampling_ratio": 1}, {"out": (F32, (1, 1, 1, 1))}, {"out": [[[[1.5]]]]}),
    ("RoiAlign", {"input": (F32, [[[[0, 1], [2, 3]]]]), "rois": (F32, [[0, 1, 0, 5, 0]]), "pooled_height": 1,
                  "pooled_width": 1, "sampling_ratio": 2}, {"out": (F32, (1, 1, 1, 1))}, {"out": [[[[1.0]]]]}),
    ("RoiAlignBackward", {"grad": (F32, [[[[4]]]]), "rois": (F32, [[0, 0, 0, 1, 1]]), "pooled_height": 1,
                          "pooled_width": 1, "batch_size": 1, "channels": 1, "height": 2, "width": 2,
                          "sampling_ratio": 1}, {"out": (F32, (1, 1, 2, 2))}, {"out": [[[[1, 1], [1, 1]]]]}),
    ("PlusScalarInp", {"inoutput": (I64, [1, 2, 3]), "val": 5, "size": 2}, {}, {"inoutput": [6, 7, 3]}),
    ("UpdatePaddingCount", {"total_padding_count": (I64, [0, 2]), "input_lengths": (I64, [4, 1]),
                            "max_input_length": 7, "batch_size": 2}, {}, {"total_padding_count": [3, 8]}),
    ("Add", {"input": (F32, [1, 2]), "other": (F32, [10, 20]), "alpha": 2}, {"out": (F32, (2,))}, {"out": [21, 42]}),
    ("Add", {"input": (U8, [250]), "other": (U8, [10]), "alpha": 1}, {"out": (U8, (1,))}, {"out": [4]}),
    ("Add", {"input": (U8, [250]), "other": (U8, [10]), "alpha": 1}, {"out": (F32, (1,))}, {"out": [4]}),
    ("Add", {"input": ("bool", [1, 0]), "other": ("bool", [1, 0]), "alpha": 1},
     {"out": ("bool", (2,))}, {"out": [1, 0]}),
    ("AddScalar", {"input": ("int32", [3]), "other": 0.5, "alpha": 1}, {"out": (F32, (1,))}, {"out": [3.5]}),
    ("AddInp", {"input": (I64, [2**53 + 1]), "other": (I64, [1]), "alpha": 1}, {}, {"input": [2**53 + 2]}),
    ("Mul", {"input": (U8, [16]), "other": (U8, [17])}, {"out": (F32, (1,))}, {"out": [16]}),
    ("Neg", {"input": (U8, [1])}, {"out": (U8, (1,))}, {"out": [255]}),
    ("Abs", {"input": ("complex64", [3 + 4j])}, {"out": (F32, (1,))}, {"out": [5]}),
    ("Sign", {"input": (F32, [-3, 0, math.nan])}, {"out": (F32, (3,))}, {"out": [-1, 0, 0]}),
    ("Div", {"input": (I64, [7, -7]), "other": (I64, [2, 2]), "rounding_mode": "RoundModeFloor"},
     {"out": (I64, (2,))}, {"out": [3, -4]}),
    ("Div", {"input": (I64, [7, -7]), "other": (I64, [2, 2]), "rounding_mode": "RoundModeTrunc"},
     {"out": (I64, (2,))}, {"out": [3, -3]}),
    ("Div", {"input": (I64, [1]), "other": (I64, [4]), "rounding_mode": "RoundModeNone"}, {"out": (F32, (1,))},
     {"out": [0.25]}),
    ("RemainderTensor", {"input": (F32, [5.5, -5.5]), "other": (F32, [3, 3])},
     {"out": (F32, (2,))}, {"out": [2.5, 0.5]}),
    ("PowTensor", {"input": ("int32", [-1, -1, 2, 3]), "exponent": ("int32", [-1, -2, -1, 4])},
     {"out": ("int32", (4,))}, {"out": [-1, 1, 0, 81]}),
    ("PowTensor", {"input": ("int8", [3]), "exponent": ("int8", [5])}, {"out": ("int8", (1,))}, {"out": [243 - 256]}),
    ("Maximum", {"input": (F32, [math.nan, 1]), "other": (F32, [1, 2])}, {"out": (F32, (2,))}, {"out": [math.nan, 2]}),
    ("Clamp", {"input": (F32, [-5, 0, 5]), "min": (F32, [1, 1, 1]), "max": (F32, [-1, 2, 2])}, {"out": (F32, (3,))},
     {"out": [-1, 1, 2]}),
    ("Eq", {"input": (I64, [1, 2]), "other": (I64, [1, 3])}, {"out": ("bool", (2,))}, {"out": [1, 0]}),
    ("LogicalAnd", {"input": (F32, [0.5, 0.5]), "other": (I64, [1, 0])}, {"out": ("bool", (2,))}, {"out": [1, 0]}),
    ("BitwiseNot", {"input": (U8, [1])}, {"out": (U8, (1,))}, {"out": [254]}),
    ("Where", {"condition": (U8, [0, 128]), "input": (I64, [1, 2]), "other": (F32, [0.5, 0.5])}, {"out": (F32, (2,))},
     {"out": [0.5, 2]}),
    ("MaskedFillScalar", {"input": (I64, [2**53 + 1, 0]), "mask": ("bool", [0, 1]), "value": 7}, {"out": (I64, (2,))},
     {"out": [2**53 + 1, 7]}),
    ("Fill", {"input": ("bool", [0, 0]), "value": 0.234}, {}, {"input": [1, 1]}),
    ("Erf", {"input": (F32, [0, 1])}, {"out": (F32, (2,))}, {"out": [0, 0.8427007929497149]}),
    ("Erfinv", {"input": ("float64", [0.5, 1])}, {"out": ("float64", (2,))}, {"out": [0.4769362762044699, math.inf]}),
    ("Relu", {"input": (F32, [-1, 2, math.nan])}, {"out": (F32, (3,))}, {"out": [0, 2, math.nan]}),
    ("Gelu", {"input": (F32, [0, 1]), "approximate": "none"}, {"out": (F32, (2,))}, {"out": [0, 0.8413447460685429]}),
    ("Softmax", {"input": ("float64", [0, math.log(3)]), "dim": 0}, {"out": (F32, (2,))}, {"out": [0.25, 0.75]}),
    ("Softmax", {"input": (F32, [1000, 1000]), "dim": -1}, {"out": (F32, (2,))}, {"out": [0.5, 0.5]}),
    ("LogSoftmax", {"input": (F32, [5, 5]), "dim": 0}, {"out": (F32, (2,))}, {"out": [-math.log(2)] * 2}),
    ("SoftmaxBackward", {"grad_output": (F32, [1, 0]), "output": (F32, [0.25, 0.75]), "dim": 0},
     {"grad_input": (F32, (2,))}, {"grad_input": [0.1875, -0.1875]}),
    ("Sum", {"input": (U8, [[200, 100], [1, 2]]), "dim": (1,)}, {"out": (I64, (2,))}, {"out": [300, 3]}),
    ("Mean", {"input": (F32, [[1, 2], [3, 6]]), "dim": ()}, {"out": (F32, ())}, {"out": 3}),
    ("Std", {"input": (F32, [1, 2, 3, 4]), "dim": (), "correction": None}, {"out": (F32, ())},
     {"out": math.sqrt(5 / 3)}),
    ("Argmax", {"input": (F32, [1, 3, 3]), "dim": 0, "keepdim": False}, {"out": (I64, ())}, {"out": 1}),
    ("Max", {"input": (F32, [1, math.nan, 9]), "dim": 0}, {"max": (F32, ()), "max_indices": (I64, ())},
     {"max": math.nan, "max_indices": 1}),
    ("Cumsum", {"input": (U8, [200, 100]), "dim": 0}, {"out": (I64, (2,))}, {"out": [200, 300]}),
    ("Norm", {"input": (F32, [3, -4]), "p": 2, "dim": ()}, {"out": (F32, ())}, {"out": 5}),
    ("Mm", {"input": (F32, [[1, 2]]), "mat2": (F32, [[3], [4]])}, {"out": (F32, (1, 1))}, {"out": [[11]]}),
    ("Mm", {"input": (U8, [[16, 1]]), "mat2": (U8, [[16], [3]])}, {"out": (U8, (1, 1))}, {"out": [[3]]}),
    ("Addmm", {"input": (F32, [[math.nan]]), "mat1": (F32, [[2]]), "mat2": (F32, [[3]]), "beta": 0, "alpha": 2},
     {"out": (F32, (1, 1))}, {"out": [[12]]}),
    ("Linear", {"input": (F32, [1, 2]), "weight": (F32, [[1, 1], [0, 3]]), "bias": (F32, [10, 20])},
     {"out": (F32, (2,))}, {"out": [13, 26]}),
    ("Convolution2d", {"input": (F32, [[[[1, 2], [3, 4]]]]), "weight": (F32, [[[[1, 10]]]]), "padding": (0, 1)},
     {"out": (F32, (1, 1, 2, 3))}, {"out": [[[[10, 21, 2], [30, 43, 4]]]]}),
    ("MaxPool2d", {"input": (F32, [[[1, 5, 2], [3, 4, 0]]]), "kernel_size": (2, 2), "stride": (1, 1)},
     {"out": (F32, (1, 1, 2))}, {"out": [[[5, 5]]]}),
    ("AvgPool2d", {"input": (F32, [[[2, 4]]]), "kernel_size": (1, 2), "stride": (1, 2), "padding": (0, 1),
                   "count_include_pad": False}, {"out": (F32, (1, 1, 2))}, {"out": [[[2, 4]]]}),
    ("AdaptiveAvgPool2d", {"input": (F32, [[[1, 2, 6]]]), "output_size": (1, 2)}, {"out": (F32, (1, 1, 2))},
     {"out": [[[1.5, 4]]]}),
    ("LayerNorm", {"input": (F32, [[1, 3]]), "weight": (F32, [2, 2]), "bias": (F32, [1, 1]), "normalized_shape": (2,),
                   "eps": 0.0},
     {"out": (F32, (1, 2)), "save_mean": (F32, (1, 1)), "save_invstd": (F32, (1, 1))},
     {"out": [[-1, 3]], "save_mean": [[2]], "save_invstd": [[1]]}),
    ("RMSNorm", {"input": (F32, [[3, 4]]), "normalized_shape": (2,), "eps": 0.0},
     {"out": (F32, (1, 2)), "inv_rms": (F32, (1, 1))},
     {"out": [[3 / math.sqrt(12.5), 4 / math.sqrt(12.5)]], "inv_rms": [[1 / math.sqrt(12.5)]]}),
    ("BatchNorm", {"input": (F32, [[1], [3]]), "running_mean": (F32, [0]), "running_var": (F32, [1]), "training": True,
                   "momentum": 0.5, "eps": 0.0},
     {"out": (F32, (2, 1)), "save_mean": (F32, (1,)), "save_invstd": (F32, (1,))},
     {"out": [[-1], [1]], "save_mean": [2], "save_invstd": [1], "running_mean": [1], "running_var": [1.5]}),
    ("Gather", {"input": (I64, [[1, 2], [3, 4]]), "dim": 1, "index": (I64, [[1, 1], [0, 1]])}, {"out": (I64, (2, 2))},
     {"out": [[2, 2], [3, 4]]}),
    ("Nonzero", {"input": (F32, [[0, 5], [7, 0]])}, {}, {"out": [[0, 1], [1, 0]]}),
    ("MaskedSelect", {"input": (F32, [1, 2, 3]), "mask": ("bool", [1, 0, 1])}, {}, {"out": [1, 3]}),
    ("Repeat", {"input": (I64, [1, 2]), "repeats_size": (2, 2)}, {"out": (I64, (2, 4))}, {"out": [[1, 2, 1, 2]] * 2}),
    ("Pad", {"input": (I64, [1, 2, 3]), "pad": (2, -1), "mode": "reflect"},
     {"out": (I64, (4,))}, {"out": [3, 2, 1, 2]}),
    ("CastDtype", {"input": (F32, [2.9, -2.9])}, {"out": ("int32", (2,))}, {"out": [2, -2]}),
    ("MSELoss", {"input": (F32, [1, 5]), "target": (F32, [0, 2]), "reduction": "ReductionMean"}, {"out": (F32, ())},
     {"out": 5}),
    ("NLLLoss", {"input": (F32, [[-1, -2], [-3, -4]]), "target": (I64, [1, 0]), "weight": (F32, [1, 3]),
                 "reduction": "ReductionMean"}, {"out": (F32, ())}, {"out": 9 / 4}),
    ("CrossEntropyLoss", {"input": (F32, [[0, 0]]), "target": (I64, [1]), "reduction": "ReductionSum"},
     {"out": (F32, ())}, {"out": math.log(2)}),
    ("RotaryEmbedding", {"x": (F32, [[[1, 2]]]), "cos": (F32, [[[0]]]), "sin": (F32, [[[1]]])},
     {"out": (F32, (1, 1, 2))}, {"out": [[[-2, 1]]]}),
    ("Sgd", {"param": (F32, [1]), "grad": (F32, [2]), "buf": (F32, [10]), "lr": 0.5, "momentum": 0.5, "dampening": 0.5},
     {}, {"param": [-2], "buf": [6]}),
    ("Adam", {"param": (F32, [1]), "grad": (F32, [4]), "exp_avg": (F32, [0]), "exp_avg_sq": (F32, [0]), "lr": 0.5,
              "beta1": 0.5, "beta2": 0.75, "eps": 0.0, "step": 1},
     {}, {"param": [0.5], "exp_avg": [2], "exp_avg_sq": [4]}),
    ("AdamW", {"param": (F32, [1]), "grad": (F32, [4]), "exp_avg": (F32, [0]), "exp_avg_sq": (F32, [0]), "lr": 0.5,
               "beta1": 0.5, "beta2": 0.75, "eps": 0.0, "step": 1, "weight_decay": 0.5}, {}, {"param": [0.25]}),
    ("Adadelta", {"param": (F32, [1]), "grad": (F32, [2]), "square_avg": (F32, [0]), "acc_delta": (F32, [1]), "lr": 1,
                  "rho": 0.5, "eps": 0.0}, {}, {"param": [1 - math.sqrt(2)], "square_avg": [2], "acc_delta": [1.5]}),
    ("Rmsprop", {"param": (F32, [1]), "grad": (F32, [2]), "square_avg": (F32, [4]), "lr": 0.5, "alpha": 0.75,
                 "eps": 0.0}, {}, {"param": [0.5], "square_avg": [4]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "outputs", "expected"), SMALL)
def test_a_small_result(
    interface: Interface, name: str, arguments: dict[str, Any], outputs: dict[str, Any], expected: dict[str, Any]
) -> None:
    answer = ask(interface, name, outputs, **arguments)
    for output, values in expected.items():
        found = numbers(answer[output])
        assert found.shape == np.shape(values)
        np.testing.assert_allclose(found.astype(np.complex128), np.array(values, dtype=np.complex128), rtol=1e-14)


def check(answer: Any, values: Any) -> str | None:
    assert isinstance(answer, Property)
    return answer.check(np.asarray(values))


@pytest.mark.parametrize("function", ["Mm", "Addmm", "Linear", "LinearBackward"])
def test_a_denormal_that_meets_an_infinity_may_give_nan_in_bfloat16_and_nothing_else(
    interface: Interface, function: str
) -> None:
    tiny = 2.0**-127
    first, second = [[tiny, 1.0]], [[math.inf, -math.inf, math.inf, 3.0, tiny], [1.0, 1.0, -math.inf, 2.0, -math.inf]]

    def verdicts(dtype: str, *elements: float) -> list[bool]:
        """Returns whether each element is right where it stands, with the others as the numbers say."""
        product = {"out": (dtype, (1, 5))}
        one, other = (dtype, first), (dtype, second)
        if function == "Mm":
            found = ask(interface, "Mm", product, input=one, mat2=other)["out"]
        elif function == "Addmm":
            zero = (dtype, np.zeros((1, 5)))
            found = ask(interface, "Addmm", product, input=zero, mat1=one, mat2=other, alpha=1, beta=1)["out"]
        elif function == "Linear":
            found = ask(interface, "Linear", product, input=one, weight=(dtype, np.transpose(second)))["out"]
        else:
            sides = {"input": (dtype, np.zeros((1, 5))), "weight": other, "grad_output": one}
            expected = {"grad_input": (dtype, (1, 5)), "grad_weight": (dtype, (2, 5))}
            found = ask(interface, "LinearBackward", expected, **sides)["grad_input"]
        right = numbers(found)
        answers = []
        for index, element in enumerate(elements):
            actual = right.copy()
            actual[0, index] = element
            answers.append(compare(encode(actual, dtype), dtype, found, "matmul", "out") is None)
        return answers

    inf, nan = math.inf, math.nan
    assert verdicts("bfloat16", inf, -inf, nan, 2.0, -inf) == [True] * 5
    assert verdicts("bfloat16", nan, nan, nan, nan, nan) == [True, True, True, False, False]
    assert verdicts("bfloat16", -inf, inf, inf, inf, inf) == [False] * 5
    assert verdicts("bfloat16", 0.0, 1.0, 0.0, 3.0, 3e38) == [False] * 5
    assert verdicts("float32", nan, nan, nan, 2.0, -inf) == [False, False, True, True, True]


def test_random_numbers_are_held_to_their_distribution(interface: Interface) -> None:
    rng = np.random.default_rng(3)
    uniform = ask(interface, "UniformInp", {}, inout=("float32", np.zeros(20000)), **{"from": 2.0, "to": 5.0})["inout"]
    assert check(uniform, rng.uniform(2, 5, 20000)) is None
    assert check(uniform, rng.uniform(2, 5.01, 20000)) is not None
    assert check(uniform, 2 + 3 * rng.uniform(0, 1, 20000) ** 1.1) is not None
    coins = ask(interface, "BernoulliScalar", {"out": ("float32", (20000,))}, p=0.3)["out"]
    assert check(coins, rng.uniform(0, 1, 20000) < 0.3) is None
    assert check(coins, rng.uniform(0, 1, 20000) < 0.35) is not None
    assert check(coins, np.full(20000, 0.3)) == "there are numbers other than 0 and 1"
    full = ask(interface, "RandomInp", {}, inout=("int64", np.zeros(20000)), **{"from": -5, "to": 5})["inout"]
    assert check(full, rng.integers(-5, 5, 20000)) is None
    assert check(full, rng.integers(-5, 6, 20000)) is not None
    assert check(full, rng.integers(-5, 4, 20000)) is not None


def test_functions_without_an_oracle_are_named(interface: Interface) -> None:
    from diopigen.conformance.cases.suite import tested
    from diopigen.conformance.report.results import uncovered

    names = {function.name for function in uncovered(tested(interface))}
    assert "diopiAdd" not in names
    assert "diopiMaxPool2d" not in names
    assert len(names) < len(tested(interface))


def test_a_matrix_of_equal_rows_leaves_open_what_errors_decide(interface: Interface) -> None:
    """Below the first row R is of the size of an error, and columns of Q behind the first may be any."""
    answer = ask(
        interface, "LinalgQR", {"Q": ("float64", (3, 3)), "R": ("float64", (3, 2))},
        A=("float64", [[1.5, 0.3]] * 3), mode="complete",
    )  # fmt: skip
    upper, orthonormal = numbers(answer["R"]).astype(np.float64), numbers(answer["Q"]).astype(np.float64)
    for off, right in ((1e-16, True), (1e-9, False)):
        upper[1, 1] = off
        assert (compare(upper, "float64", answer["R"], "approximate", "R") is None) == right
    orthonormal[:, 1:] = 7
    assert compare(orthonormal, "float64", answer["Q"], "approximate", "Q") is None
    orthonormal[0, 0] += 1e-9
    assert compare(orthonormal, "float64", answer["Q"], "approximate", "Q") is not None
