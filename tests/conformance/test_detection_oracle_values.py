"""Oracles of detection against small results computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_oracle_values import F32, I64, ask, numbers

from diopigen.ir.model import Interface

I32 = "int32"
HALF = math.log(2)
"""Minus the logarithm of the probability of a score of 0."""
DISPLACED: dict[str, Any] = {
    "input": (F32, [[[[1, 2], [3, 4]]]]), "weight": (F32, [[[[2]]]]),
    "offset": (F32, [[[[0.5, 0], [0, 0.5]], [[0.5, 0], [0, 0]]]]),
}  # fmt: skip
"""The first position reads the middle of the map, the last one half of its pixel."""
PAIRS: dict[str, Any] = {"indicePairs": (I32, [[[0, 2], [0, 0]], [[1, 9], [1, 9]]]), "indiceNum": (I32, [2, 1])}
"""Rows 0 and 2 go to row 0, row 1 to row 1."""

SMALL: list[tuple[str, dict[str, Any], dict[str, tuple[str, Any]], dict[str, Any]]] = [
    ("SigmoidFocalLossMmcv", {"input": (F32, [[0, 0]]), "target": (I64, [0]), "weight": (F32, [])},
     {"output": (F32, (1, 2))}, {"output": [[0.0625 * HALF, 0.1875 * HALF]]}),
    # Beyond the smallest normal number a logarithm does not fall.
    ("SigmoidFocalLossMmcv", {"input": (F32, [[-100]]), "target": (I64, [0]), "weight": (F32, [2])},
     {"output": (F32, (1, 1))}, {"output": [[0.5 * 126 * HALF]]}),
    ("SigmoidFocalLossBackwardMmcv", {"input": (F32, [[0, 0]]), "target": (I64, [0]), "weight": (F32, [])},
     {"grad_input": (F32, (1, 2))}, {"grad_input": [[-0.0625 * (0.5 + HALF), 0.1875 * (0.5 + HALF)]]}),
    ("SoftmaxFocalLossMmcv", {"softmax": (F32, [[0.5, 0.5], [0.5, 0.5]]), "target": (I64, [1, -1]),
                              "weight": (F32, [])}, {"output": (F32, (2,))}, {"output": [0.0625 * HALF, 0]}),
    ("SoftmaxFocalLossBackwardMmcv", {"softmax": (F32, [[0.5, 0.5]]), "target": (I64, [1]), "weight": (F32, [])},
     {"grad_input": (F32, (1, 2)), "buff": (F32, (1,))},
     {"grad_input": [[0.125 * (0.25 + 0.5 * HALF), -0.125 * (0.25 + 0.5 * HALF)]]}),
    ("FusedBiasLeakyreluMmcv", {"input": (F32, [[1, -2]]), "bias": (F32, [1, 1]), "refer": (F32, []), "alpha": 0.5,
                                "scale": 2.0}, {}, {"out": [[4, -1]]}),
    # The slope is that of refer, and that of 0 is the one from below.
    ("FusedBiasLeakyreluMmcv", {"input": (F32, [[1, -2, 3]]), "bias": (F32, []), "refer": (F32, [[-1, 1, 0]]),
                                "grad": 1, "alpha": 0.5, "scale": 2.0}, {}, {"out": [[1, -4, 3]]}),
    ("SyncBnMeanMmcv", {"input": (F32, [[[1, 3]], [[5, 7]]])}, {"mean": (F32, (1,))}, {"mean": [4]}),
    ("SyncBnVarMmcv", {"input": (F32, [[[1, 3]], [[5, 7]]]), "mean": (F32, [3])}, {"var": (F32, (1,))}, {"var": [6]}),
    ("SyncBnOutputMmcv", {"input": (F32, [[[1, 3]]]), "mean": (F32, [2]), "var": (F32, [3]), "weight": (F32, [4]),
                          "bias": (F32, [1]), "running_mean": (F32, [0]), "running_var": (F32, [0]), "eps": 1.0,
                          "momentum": 0.5},
     {"norm": (F32, (1, 1, 2)), "std": (F32, (1,)), "output": (F32, (1, 1, 2))},
     {"norm": [[[-0.5, 0.5]]], "std": [2], "output": [[[-1, 3]]], "running_mean": [1], "running_var": [3]}),
    ("SyncBnBackwardParamMmcv", {"grad_output": (F32, [[[1, 2]]]), "norm": (F32, [[[3, -1]]])},
     {"grad_weight": (F32, (1,)), "grad_bias": (F32, (1,))}, {"grad_weight": [1], "grad_bias": [3]}),
    ("SyncBnBackwardDataMmcv", {"grad_output": (F32, [[[1, 2]]]), "norm": (F32, [[[3, -1]]]), "weight": (F32, [2]),
                                "grad_weight": (F32, [1]), "grad_bias": (F32, [3]), "std": (F32, [4])},
     {"grad_input": (F32, (1, 1, 2))}, {"grad_input": [[[-1, 0.5]]]}),
    ("TinShiftMmcv", {"input": (F32, [[[[1], [2]], [[3], [4]], [[5], [6]]]]), "shift": (I32, [[1, -1]])},
     {"output": (F32, (1, 3, 2, 1))}, {"output": [[[[0], [4]], [[1], [6]], [[3], [0]]]]}),
    ("DeformConvMmcv", {**DISPLACED, "kW": 1, "kH": 1, "im2col_step": 1}, {"output": (F32, (1, 1, 2, 2))},
     {"output": [[[[5, 4], [6, 4]]]]}),
    ("DeformConvBackwardInputMmcv", {**DISPLACED, "gradOutput": (F32, [[[[1, 0], [0, 1]]]]), "kW": 1, "kH": 1},
     {"gradInput": (F32, (1, 1, 2, 2)), "gradOffset": (F32, (1, 2, 2, 2))},
     {"gradInput": [[[[0.5, 0.5], [0.5, 1.5]]]], "gradOffset": [[[[4, 0], [0, -8]], [[2, 0], [0, -4]]]]}),
    ("DeformConvBackwardParametersMmcv", {**{key: value for key, value in DISPLACED.items() if key != "weight"},
                                          "gradOutput": (F32, [[[[1, 0], [0, 1]]]]), "kW": 1, "kH": 1, "scale": 3.0},
     {"gradWeight": (F32, (1, 1, 1, 1))}, {"gradWeight": [[[[13.5]]]]}),
    ("ModulatedDeformConvMmcv", {**DISPLACED, "mask": (F32, [[[[0.5, 0.5], [0.5, 1]]]]), "bias": (F32, [1]),
                                 "with_bias": True, "kernel_w": 1, "kernel_h": 1},
     {"output": (F32, (1, 1, 2, 2))}, {"output": [[[[3.5, 3], [4, 5]]]]}),
    # The middle of the map, and its upper left corner, where three of four pixels are outside.
    ("MsDeformAttnMmcv", {"value": (F32, [[[[1]], [[2]], [[3]], [[4]]]]), "spatial_shapes": (I64, [[2, 2]]),
                          "level_start_index": (I64, [0]), "attn_weight": (F32, [[[[[2]]], [[[1]]]]]),
                          "sampling_loc": (F32, [[[[[[0.5, 0.5]]]], [[[[0, 0]]]]]])},
     {}, {"out": [[[5], [0.25]]]}),
    ("MaskedIm2colMmcv", {"im": (F32, [[[[1, 2], [3, 4]]]]), "mask_h_idx": (I64, [0, 1]), "mask_w_idx": (I64, [0, 1]),
                          "kernel_h": 2, "kernel_w": 2, "pad_h": 1, "pad_w": 1}, {"col": (F32, (4, 2))},
     {"col": [[0, 1], [0, 2], [0, 3], [1, 4]]}),
    ("MaskedCol2imMmcv", {"col": (F32, [[9]]), "mask_h_idx": (I64, [1]), "mask_w_idx": (I64, [0]), "height": 2,
                          "width": 2, "channels": 1}, {"im": (F32, (1, 1, 2, 2))}, {"im": [[[[0, 0], [9, 0]]]]}),
    # The middle of each window is ten times its neighbour.
    ("CarafeNaiveMmcv", {"features": (F32, [[[[1, 2]]]]), "kernel_size": 3, "group_size": 1, "scale_factor": 1,
                         "masks": (F32, np.array([1, 1, 1, 1, 10, 1, 1, 1, 1]).repeat(2).reshape(1, 9, 1, 2))},
     {"output": (F32, (1, 1, 1, 2))}, {"output": [[[[12, 21]]]]}),
    # Each pixel as four; the copy for the backward call has the channels last.
    ("CarafeMmcv", {"features": (F32, [[[[1, 2]], [[3, 4]]]]), "masks": (F32, np.ones((1, 1, 2, 4))), "kernel_size": 1,
                    "group_size": 1, "scale_factor": 2},
     {"output": (F32, (1, 2, 2, 4)), "rfeatures": (F32, (1, 2, 1, 2))},
     {"output": [[[[1, 1, 2, 2]] * 2, [[3, 3, 4, 4]] * 2]], "rfeatures": [[[[1, 3]], [[2, 4]]]]}),
    ("CorrelationMmcv", {"input1": (F32, [[[[1, 2]]]]), "input2": (F32, [[[[3, 4]]]]), "patchH": 1, "patchW": 3},
     {"output": (F32, (1, 1, 3, 1, 2))}, {"output": [[[[[0, 6]], [[3, 8]], [[4, 0]]]]]}),
    ("PsamaskMmcv", {"input": (F32, [[[[1, 2]], [[3, 4]], [[5, 6]]]]), "psa_type": 0, "num_": 1, "h_feature": 1,
                     "w_feature": 2, "h_mask": 1, "w_mask": 3, "half_h_mask": 0, "half_w_mask": 1},
     {"output": (F32, (1, 2, 1, 2))}, {"output": [[[[3, 2]], [[5, 4]]]]}),
    ("PsamaskMmcv", {"input": (F32, [[[[1, 2]], [[3, 4]], [[5, 6]]]]), "psa_type": 1, "num_": 1, "h_feature": 1,
                     "w_feature": 2, "h_mask": 1, "w_mask": 3, "half_h_mask": 0, "half_w_mask": 1},
     {"output": (F32, (1, 2, 1, 2))}, {"output": [[[[3, 5]], [[2, 4]]]]}),
    ("Upfirdn2dOpMmcv", {"input": (F32, [[[[1], [2]]]]), "kernel": (F32, [[1, 10]]), "up_x": 2, "pad_x0": 1}, {},
     {"out": [[[[1], [10], [2], [20]]]]}),
    ("DynamicVoxelizeMmcv", {"points": (F32, [[0.5, 1.5, 0.25], [2, 0, 0]]), "voxel_size": (F32, [1, 1, 1]),
                             "coors_range": (F32, [0, 0, 0, 2, 2, 2])}, {"coors": (I32, (2, 3))},
     {"coors": [[0, 1, 0], [-1, -1, -1]]}),
    ("HardVoxelizeMmcv", {"points": (F32, [[1, 0, 0], [0, 0, 1], [1.5, 0, 0], [1.25, 0, 0]]), "max_points": 2,
                          "max_voxels": 2, "voxel_size": (F32, [1, 1, 1]), "coors_range": (F32, [0, 0, 0, 2, 2, 2])},
     {"voxels": (F32, (2, 2, 3)), "coors": (I32, (2, 3)), "num_points_per_voxel": (I32, (2,)), "voxel_num": (I64, ())},
     {"voxels": [[[1, 0, 0], [1.5, 0, 0]], [[0, 0, 1], [0, 0, 0]]], "coors": [[0, 0, 1], [1, 0, 0]],
      "num_points_per_voxel": [2, 1], "voxel_num": 2}),
    ("DynamicPointToVoxelBackwardMmcv", {"grad_reduced_feats": (F32, [[7, 8]]), "feats": (F32, [[3, 1], [3, 5]]),
                                         "reduced_feats": (F32, [[3, 5]]), "coors_idx": (I32, [0, 0]),
                                         "reduce_count": (I32, [2])},
     {"grad_feats": (F32, (2, 2))}, {"grad_feats": [[7, 0], [0, 8]]}),
    ("IndiceMaxpoolMmcv", {**PAIRS, "features": (F32, [[1], [-2], [3]]), "numAct": 2}, {}, {"out": [[3], [0]]}),
    ("IndiceMaxpoolBackwardMmcv", {**PAIRS, "features": (F32, [[3], [-2], [3]]), "outFeatures": (F32, [[3], [0]]),
                                   "outGrad": (F32, [[5], [7]])}, {}, {"out": [[5], [0], [5]]}),
    ("IndiceConvMmcv", {**PAIRS, "features": (F32, [[1, 2], [3, 4], [5, 6]]), "numActOut": 2,
                        "filters": (F32, [[[[1], [10]], [[100], [0]]]])}, {}, {"out": [[21 + 65], [300]]}),
    ("FusedIndiceConvBatchnormMmcv", {**PAIRS, "features": (F32, [[1, 2], [3, 4], [5, 6]]), "numActOut": 2,
                                      "filters": (F32, [[[[1], [10]], [[100], [0]]]]), "bias": (F32, [0.5])},
     {}, {"out": [[86.5], [300.5]]}),
    ("ActiveRotatedFilterMmcv", {"input": (F32, [[[[[5, 6]]]]]), "indices": (I32, [[[[2, 1], [1, 2]]]])},
     {"output": (F32, (2, 1, 1, 2))}, {"output": [[[[6, 5]]], [[[5, 6]]]]}),
    ("ActiveRotatedFilterBackwardMmcv", {"grad_out": (F32, [[[[1, 2]]], [[[10, 20]]]]),
                                         "indices": (I32, [[[[2, 1], [1, 2]]]])},
     {"grad_in": (F32, (1, 1, 1, 1, 2))}, {"grad_in": [[[[[12, 21]]]]]}),
]  # fmt: skip


@pytest.mark.parametrize("name, arguments, outputs, expected", SMALL, ids=[row[0] for row in SMALL])
def test_small_results(
    interface: Interface,
    name: str,
    arguments: dict[str, Any],
    outputs: dict[str, tuple[str, Any]],
    expected: dict[str, Any],
) -> None:
    answer = ask(interface, name, outputs, **arguments)
    for output, values in expected.items():
        np.testing.assert_allclose(numbers(answer[output]).astype(float), values, rtol=1e-6, err_msg=output)


def test_points_are_grouped_by_voxel(interface: Interface) -> None:
    answer = ask(
        interface, "DynamicPointToVoxelMmcv", {}, feats=(F32, [[1], [2], [4], [8]]),
        coors=(I64, [[1, 0], [0, 3], [1, 0], [0, -1]]), reduce_type=1,
    )  # fmt: skip
    reduced, cells, voxel, counts = (numbers(one).tolist() for one in answer["outlist"])
    assert (reduced, cells, voxel, counts) == ([[2], [2.5]], [[0, 3], [1, 0]], [1, 0, 1, -1], [1, 2])


def test_both_gradients_of_sparse_convolution(interface: Interface) -> None:
    answer = ask(
        interface, "IndiceConvBackwardMmcv", {}, **PAIRS, features=(F32, [[1, 2], [3, 4], [5, 6]]),
        filters=(F32, [[[[1], [10]], [[100], [0]]]]), outGrad=(F32, [[1], [2]]),
    )  # fmt: skip
    of_features, of_filters = (numbers(one).tolist() for one in answer["outlist"])
    assert of_features == [[1, 10], [200, 0], [1, 10]]
    assert of_filters == [[[[1 + 5], [2 + 6]], [[6], [8]]]]
