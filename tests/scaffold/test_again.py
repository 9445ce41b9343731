"""A second scaffold adds what is new and leaves alone what is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from vendor_trees import ROOT, Scaffold, command, snapshot

from diopigen.diagnostics import Failure, Sink, Span
from diopigen.findings.render import render
from diopigen.ir.model import Function, Interface

ADD = "impl/droplet/functions/elementwise_binary/Add.cpp"
RELU = "impl/droplet/functions/activation/Relu.cpp"


def skeletons(root: Path) -> set[str]:
    return {path.name for path in root.glob("impl/droplet/functions/*/*.cpp")}


def with_function(interface: Interface, name: str, change: Callable[[Function], Function]) -> Interface:
    """The interface with one function changed, as an edit of the spec would."""
    headers = tuple(
        replace(header, functions=tuple(change(f) if f.name == name else f for f in header.functions))
        for header in interface.headers
    )
    return replace(interface, headers=headers)


def test_a_second_run_touches_nothing(make: Scaffold, tmp_path: Path) -> None:
    first = make(tmp_path)
    before = snapshot(tmp_path)
    second = make(tmp_path)
    assert snapshot(tmp_path) == before
    assert (second.generated.written, second.generated.removed, second.started) == ((), (), ())
    assert second.retained == first.started


def test_a_new_tree_is_small(make: Scaffold, tmp_path: Path) -> None:
    """With PyTorch and TVM as well: what is diopigen's own comes from the installed package."""
    make(tmp_path, torch=True, tvm=True)
    assert len(snapshot(tmp_path)) <= 40


def test_what_is_named_gets_a_file_in_place_of_a_generated_kernel(make: Scaffold, tmp_path: Path) -> None:
    """Of both kinds; the other generated kernels stay."""
    make(tmp_path)
    folder = tmp_path / "impl/droplet"
    computed, called = folder / "functions_elementwise/kernels.cpp", folder / "functions_library/kernels.cpp"
    assert "diopiRelu(" in computed.read_text() and "diopiSum(" in called.read_text()
    done = make(tmp_path, "Relu", "Sum")
    assert done.started == (RELU, "impl/droplet/functions/reduction/Sum.cpp")
    assert "diopiRelu(" not in computed.read_text() and "diopiSum(" not in called.read_text()
    assert "diopiNeg(" in computed.read_text() and "diopiSoftmax(" in called.read_text()
    again = make(tmp_path)
    assert {name for result in (again.generated, *again.folders) for name in result.written} == set()
    # A function that the file has lost is generated again.
    (tmp_path / done.started[1]).write_text("")
    make(tmp_path)
    assert "diopiSum(" in called.read_text()


def test_edited_files_stay_and_new_operators_come(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    edited = (ADD, "README.md", "CMakeLists.txt", "impl/droplet/device.cpp", ".gitignore", "test/main.cpp")
    for name in edited:
        path = tmp_path / name
        path.write_text(path.read_text() + "\n")
    before = snapshot(tmp_path)
    done = make(tmp_path, "Relu", "Sum")
    after = snapshot(tmp_path)
    assert done.started == (RELU, "impl/droplet/functions/reduction/Sum.cpp")
    changed = {name for name in after if before.get(name) != after[name]}
    shims = {f"generated/adaptors/droplet/{name}" for name in ("adaptor.cpp", "functions.h", "MANIFEST.json")}
    assert changed == {*done.started, *shims, "vendor.json", "MANIFEST.json"}
    assert json.loads((tmp_path / "vendor.json").read_text())["operators"] == {
        "ops": ["Add", "Relu", "Sum"],
        "families": [],
        "all": False,
        "starter": False,
    }


def test_a_deleted_start_comes_back(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add", "Relu")
    (tmp_path / RELU).unlink()
    (tmp_path / ".clang-format").unlink()
    assert make(tmp_path).started == (".clang-format", RELU)


def test_an_operator_that_is_defined_elsewhere_is_not_written_again(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add", "Relu")
    (tmp_path / RELU).rename(tmp_path / "impl/droplet/functions/my_activations.cpp")
    assert make(tmp_path).started == ()
    assert not (tmp_path / RELU).exists()


def test_of_an_operator_that_is_half_defined_elsewhere_the_rest_is_written(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    mine = tmp_path / "impl/droplet/functions/mine.cpp"
    mine.write_text(
        "#include <diopi/functions.h>\n"
        'extern "C" diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n'
        "    return diopiSuccess;\n}\n"
    )
    assert make(tmp_path, "Relu").started == (RELU,)
    text = (tmp_path / RELU).read_text()
    assert "diopiReluInp(" in text and "diopiRelu(" not in text


OLD_CMAKE = "project(mine)\nadd_subdirectory(runtime)\nadd_subdirectory(runtime/kernels)\n"


def test_a_tree_with_its_own_runtime_is_told_what_to_do(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    (tmp_path / "CMakeLists.txt").write_text(OLD_CMAKE)
    before = snapshot(tmp_path)
    with pytest.raises(Failure) as caught:
        make(tmp_path, "Relu")
    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.span) == ("tree-outdated", Span(f"{tmp_path}/CMakeLists.txt", 2, 1))
    assert "docs/vendor-tree.md#an-older-tree" in (finding.fix or "")
    assert snapshot(tmp_path) == before


def test_an_older_tree_loses_its_copies_once_its_build_is_new(make: Scaffold, tmp_path: Path) -> None:
    """`vendor.json` and the list of generated files are as they were written when each tree had a runtime/."""
    make(tmp_path, "Add")
    mark, manifest = tmp_path / "vendor.json", tmp_path / "MANIFEST.json"
    old = tmp_path / "runtime/src/tensor.cpp"
    old.parent.mkdir(parents=True)
    old.write_text("// a copy\n")
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "shims": True, "kernels": True}, indent=2) + "\n")
    files = json.loads(manifest.read_text())["files"]
    names = ("runtime/src/tensor.cpp", "test/operators.inc", "vendor.json")
    contents = {name: (tmp_path / name).read_bytes() for name in names}
    records = [
        {"path": name, "sha256": hashlib.sha256(content).hexdigest(), "inputs": files[0]["inputs"]}
        for name, content in contents.items()
    ]
    manifest.write_text(json.dumps({"format": 1, "files": records}, indent=2) + "\n")
    done = make(tmp_path)
    assert done.generated.removed == ("runtime/src/tensor.cpp",) and not (tmp_path / "runtime").exists()
    assert set(json.loads(mark.read_text())) == {"vendor", "interface", "operators"}


def test_shims_are_those_of_the_command(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add", "Topk")
    done = command("adaptors", "impl/droplet", "--check", "--spec", str(ROOT / "specs"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "generated/adaptors/droplet: 3 files, all as convert_config.yaml and the spec say\n",
    ), done.stderr
    # What the configuration says is in the shims of the next run.
    (tmp_path / "convert_config.yaml").write_text("- common_config:\n    dtype: (int64)->int32\n")
    again = make(tmp_path, sink=Sink())
    assert again.shims is not None and again.shims.written == tuple(
        f"generated/adaptors/droplet/{name}" for name in ("MANIFEST.json", "adaptor.cpp")
    )
    done = command("adaptors", "impl/droplet", "--check", "--spec", str(ROOT / "specs"), cwd=tmp_path)
    assert done.returncode == 0


def test_an_error_in_the_configuration_keeps_the_shims(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    shims = (tmp_path / "generated/adaptors/droplet/adaptor.cpp").read_bytes()
    (tmp_path / "convert_config.yaml").write_text("- diopiAdd:\n    dtype: (int63)->int32\n")
    sink = Sink()
    done = make(tmp_path, "Relu", sink=sink)
    assert [finding.code for finding in sink.sorted()] == ["config-unknown-dtype"]
    assert done.started == (RELU,) and done.shims is None
    assert (tmp_path / "generated/adaptors/droplet/adaptor.cpp").read_bytes() == shims


def test_a_kernel_that_is_exported_gets_no_shim(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add", "Relu")
    path = tmp_path / RELU
    text = path.read_text().replace("namespace impl {\nnamespace droplet {\n", "using impl::droplet::notImplemented;\n")
    text = text.replace("}  // namespace droplet\n}  // namespace impl\n", "").replace(
        "\ndiopiError_t", '\nextern "C" diopiError_t'
    )
    path.write_text("".join(line for line in text.splitlines(True) if not line.startswith("DIOPIGEN_KERNEL(")))
    make(tmp_path, sink=Sink())
    shims = (tmp_path / "generated/adaptors/droplet/adaptor.cpp").read_text()
    assert "diopiAdd(" in shims and "diopiRelu" not in shims


def test_generated_files_follow_the_spec(make: Scaffold, interface: Interface, tmp_path: Path) -> None:
    make(tmp_path, "Add", vendored=True)
    changed = with_function(interface, "diopiRelu", lambda f: replace(f, doc="Something new."))
    done = make(tmp_path, spec=changed)
    folder = "third_party/diopigen"
    written = [name for result in done.folders for name in result.written]
    assert written == [f"{folder}/MANIFEST.json", f"{folder}/generated/include/diopi/functions.h"]
    assert " * @brief Something new." in (tmp_path / written[1]).read_text()


def test_a_changed_signature_is_reported(make: Scaffold, interface: Interface, tmp_path: Path) -> None:
    make(tmp_path, "Relu")
    before = (tmp_path / RELU).read_bytes()
    changed = with_function(interface, "diopiReluInp", lambda f: replace(f, context=False))
    sink = Sink()
    make(tmp_path, sink=sink, spec=changed)
    function = changed.function("diopiReluInp")
    assert function is not None
    span = function.span
    line = next(n for n, text in enumerate(before.decode().splitlines(), 1) if "diopiReluInp(" in text)
    assert render(sink.sorted(), "text") == (
        f"{tmp_path}/{RELU}:{line}:14: error[impl-signature]: 'diopiReluInp' takes 2 parameters in place of 1\n"
        f"  {span}: note: declared here\n"
        "  fix: write 'diopiError_t diopiReluInp(diopiTensorHandle_t input)'\n"
        "1 error\n"
    )
    assert (tmp_path / RELU).read_bytes() == before


def test_a_new_variant_of_an_operator_is_noted(make: Scaffold, interface: Interface, tmp_path: Path) -> None:
    older = replace(
        interface,
        headers=tuple(
            replace(header, functions=tuple(f for f in header.functions if f.name != "diopiReluInp"))
            for header in interface.headers
        ),
    )
    make(tmp_path, "Relu", spec=older)
    sink = Sink()
    make(tmp_path, sink=sink)
    prototype = "diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input)"
    assert render(sink.sorted(), "text") == (
        f"{tmp_path}/{RELU}:1:1: note[function-missing]: diopiReluInp is not implemented\n"
        f"  fix: add '{prototype}' to namespace impl::droplet, if the kernel exists\n"
        "1 note\n"
    )


def test_an_edited_generated_file_stops_the_run_unless_forced(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add", vendored=True)
    header = tmp_path / "third_party/diopigen/generated/include/diopi/diopirt.h"
    original = header.read_text()
    header.write_text(original + "// mine\n")
    before = snapshot(tmp_path)
    sink = Sink()
    done = make(tmp_path, "Relu", sink=sink)
    assert [finding.code for finding in sink.sorted()] == ["generated-file-edited"]
    assert "diopigen scaffold --vendor droplet --out" in (sink.sorted()[0].fix or "")
    assert snapshot(tmp_path) == before and done.started == ()
    forced = make(tmp_path, "Relu", sink=Sink(), force=True)
    assert header.read_text() == original and forced.started == (RELU,)


def test_a_dry_run_says_what_a_run_does(make: Scaffold, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    planned = make(root, "Add", write=False)
    assert not root.exists()
    assert planned == make(root, "Add")
