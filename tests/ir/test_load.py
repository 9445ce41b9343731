"""Loading a folder: what is read in which order, what is left out, and when nothing can be done."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ir_helpers import MINIATURE

from diopigen.diagnostics import Failure, Sink
from diopigen.ir.load import Loaded, load_interface


def load(folder: Path) -> tuple[Loaded, list[str]]:
    sink = Sink()
    loaded = load_interface(folder, sink, "shown")
    return loaded, [f"{found.span} {found.code}" for found in sink.sorted()]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return shutil.copytree(MINIATURE, tmp_path / "spec")


def names(loaded: Loaded) -> list[str]:
    return [function.name for function in loaded.interface.functions]


def test_the_files_are_named_as_in_a_checkout_wherever_they_lie(spec: Path) -> None:
    loaded, _ = load(spec)
    assert loaded.interface.files == (
        "specs/types.yaml",
        "specs/headers.yaml",
        "specs/runtime.yaml",
        "specs/ops/arithmetic.yaml",
        "specs/ops/layout/state.yaml",
        "specs/ops/layout/views.yaml",
        "specs/aten/miniature.yaml",
        "specs/torch.yaml",
        "specs/relax.yaml",
        "specs/dlinfer.yaml",
        "specs/environment.yaml",
    )
    assert loaded.interface.file_of["diopiBlendInp"] == "specs/ops/arithmetic.yaml"


def test_spans_name_the_folder_as_the_user_does(spec: Path) -> None:
    loaded, _ = load(spec)
    blend = loaded.interface.function("diopiBlend")
    assert blend is not None
    assert str(blend.span) == "shown/ops/arithmetic.yaml:5:11"


def test_the_folder_s_own_name_is_the_default(spec: Path) -> None:
    loaded = load_interface(spec, Sink())
    assert loaded.interface.functions[0].span.file == "spec/runtime.yaml"


def test_frozen_functions_come_first_and_others_in_the_order_of_the_files(spec: Path) -> None:
    loaded, _ = load(spec)
    assert names(loaded)[:8] == [
        "diopiGetName",
        "diopiGetStream",
        "diopiExchange",
        "diopiBlendScalar",
        "diopiBlend",
        "diopiWave",
        "diopiBlendInp",
        "diopiMixInto",
    ]


def test_a_set_of_sets_is_the_dtypes_in_the_order_of_the_file(spec: Path) -> None:
    loaded, _ = load(spec)
    assert {found.name: found.dtypes for found in loaded.interface.dtype_sets} == {
        "integral": ("uint8", "int32", "int64"),
        "floating": ("float32", "float64"),
        "number": ("uint8", "int32", "int64", "float32", "float64"),
    }


def test_an_operator_at_fault_is_left_out_and_the_others_stay(spec: Path) -> None:
    path = spec / "ops" / "arithmetic.yaml"
    path.write_text(path.read_text().replace("tolerance: exact", "tolerance: fuzzy"))
    loaded, found = load(spec)
    assert found == ["shown/ops/arithmetic.yaml:72:16 unknown-word"]
    assert not loaded.complete
    assert "diopiBlendBackward" not in names(loaded)
    assert {"diopiBlend", "diopiWave"} <= set(names(loaded))


def test_a_variant_at_fault_makes_the_interface_incomplete(spec: Path) -> None:
    path = spec / "ops" / "arithmetic.yaml"
    path.write_text(path.read_text().replace("target: grad,", "target: grda,"))
    loaded, found = load(spec)
    assert found == ["shown/ops/arithmetic.yaml:66:33 variant-mismatch"]
    assert not loaded.complete
    assert "diopiBlendBackward" in names(loaded)


def test_a_file_at_fault_is_left_out_and_the_others_stay(spec: Path) -> None:
    (spec / "ops" / "arithmetic.yaml").write_text("family: [\n")
    loaded, found = load(spec)
    assert found == ["shown/ops/arithmetic.yaml:2:1 yaml-syntax"]
    assert not loaded.complete
    assert "diopiSample" in names(loaded)


@pytest.mark.parametrize("file", ["types.yaml", "headers.yaml"])
def test_without_types_or_headers_there_is_no_interface(spec: Path, file: str) -> None:
    (spec / file).write_text("- nothing\n")
    loaded, found = load(spec)
    assert found == [f"shown/{file}:1:1 wrong-kind"]
    assert not loaded.complete
    assert loaded.interface.functions == ()


def test_runtime_operators_and_aten_schemas_may_be_missing(spec: Path) -> None:
    (spec / "runtime.yaml").unlink()
    shutil.rmtree(spec / "aten")
    shutil.rmtree(spec / "ops")
    (spec / "headers.yaml").write_text("headers: []\n")
    loaded, found = load(spec)
    assert found == []
    assert loaded.complete
    assert (names(loaded), loaded.interface.aten.releases, loaded.interface.device_functions) == ([], (), ())


def test_other_files_are_not_read(spec: Path) -> None:
    (spec / "ops" / "notes.txt").write_text("not: [yaml")
    (spec / "schema").mkdir()
    (spec / "schema" / "ops.yaml").write_text("not: [yaml")
    assert load(spec)[1] == []


def test_a_folder_that_is_no_spec_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="nowhere is not a folder"):
        load_interface(tmp_path / "nowhere", Sink())
    (tmp_path / "empty").mkdir()
    with pytest.raises(Failure, match=r"empty holds no types\.yaml"):
        load_interface(tmp_path / "empty", Sink())
