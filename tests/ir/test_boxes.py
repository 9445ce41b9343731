"""Boxes, regions and points of recipes: rows that mean something, the same whatever the seed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diopigen.conformance.cases.values import RecipeError, draw
from diopigen.ir.boxes import rows_of
from diopigen.ir.recipe import Drawn


def drawn(values: Drawn, shape: tuple[int, ...], seed: int = 1) -> list[list[float]]:
    found: list[list[float]] = draw(values, shape, "float64", np.random.default_rng(seed)).tolist()
    return found


def test_corners_are_in_order_and_within_the_image() -> None:
    rows = drawn(Drawn("boxes", (1344, 800)), (500, 4))
    assert all(0 <= x1 <= x2 <= 1344 and 0 <= y1 <= y2 <= 800 for x1, y1, x2, y2 in rows)
    sizes = sorted(x2 - x1 for x1, _, x2, _ in rows)
    assert sizes[0] < 20 and sizes[-1] > 200
    assert rows == drawn(Drawn("boxes", (1344, 800)), (500, 4), seed=2)


def test_regions_name_an_image_in_front_of_a_box() -> None:
    rows = drawn(Drawn("regions", (3, 64, 32)), (7, 5))
    assert [row[0] for row in rows] == [0, 1, 2, 0, 1, 2, 0]
    assert [row[1:] for row in rows] == drawn(Drawn("boxes", (64, 32)), (7, 4))
    assert [row[1:] for row in drawn(Drawn("regions", (1, 64, 32)), (7, 6))] == drawn(Drawn("boxes", (64, 32)), (7, 5))


def test_the_corners_of_a_quadrilateral_are_those_of_the_rotated_box() -> None:
    (corners,), (box,) = drawn(Drawn("boxes", (64, 32)), (1, 8)), drawn(Drawn("boxes", (64, 32)), (1, 5))
    x, y, width, height, angle = box
    assert math.isclose(sum(corners[::2]) / 4, x) and math.isclose(sum(corners[1::2]) / 4, y)
    across, down = corners[2] - corners[0], corners[3] - corners[1]
    assert math.isclose(math.hypot(across, down), width) and math.isclose(math.atan2(down, across), angle)
    assert math.isclose(math.hypot(corners[4] - corners[2], corners[5] - corners[3]), height)


def test_points_are_in_the_scene_and_on_no_border_of_voxels() -> None:
    rows = drawn(Drawn("points", (70.4, 80, 4)), (400, 4))
    assert all(0 <= x < 70.4 and -40 <= y < 40 and -3 <= z < 1 and 0 <= rest < 1 for x, y, z, rest in rows)
    assert all((128 * number) % 2 == 1 for row in rows for number in row[:3])


def test_numbers_in_order() -> None:
    source = np.random.default_rng(1)
    assert draw(Drawn("ascending"), (2, 2), "int32", source).tolist() == [[0, 1], [2, 3]]
    assert draw(Drawn("descending"), (3,), "float32", source).tolist() == [3, 2, 1]


def test_rows_of_another_length_have_no_meaning() -> None:
    assert rows_of("boxes", (3, 6), (1, 1)) is None and rows_of("boxes", (), (1, 1)) is None
    with pytest.raises(RecipeError, match=r"no boxes in \[3, 6\]"):
        draw(Drawn("boxes", (1, 1)), (3, 6), "float32", np.random.default_rng(1))
    with pytest.raises(RecipeError, match="boxes in int32"):
        draw(Drawn("boxes", (1, 1)), (3, 4), "int32", np.random.default_rng(1))
