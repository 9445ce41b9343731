"""Cases through overloads of ATen, as far as no torch is needed: which overloads, their arguments, known failures."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.conformance.aten.custom import unbound, with_composed, with_operators
from diopigen.conformance.aten.forms import through_overloads
from diopigen.conformance.aten.known import Excepting, Known, known, known_text, release_of, seen
from diopigen.conformance.aten.pairing import PairingError, paired
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.model import Case, CaseResult, Fault, Results
from diopigen.conformance.report.overloads import coverage_text
from diopigen.conformance.run.exceptions import read, with_waivers
from diopigen.conformance.run.shards import parse_shard, part
from diopigen.diagnostics import Failure, Sink
from diopigen.emit.torch.schema import schema_of
from diopigen.ir.aten import parse_schema
from diopigen.ir.model import Function, Interface

SUITE_KINDS = {"values", "guard", "crash", "status", "metadata", "distribution"}


def _function(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None
    return found


def _called(interface: Interface, name: str) -> dict[str, set[str]]:
    """The overloads by case."""
    found: dict[str, set[str]] = {}
    for case in through_overloads(interface, cases_of(interface, _function(interface, name))):
        found.setdefault(case.id.partition("@")[0], set()).add(case.overload)
    return found


def test_a_case_runs_through_each_overload_that_has_its_arguments(interface: Interface) -> None:
    found = _called(interface, "diopiAdd")
    assert {"add.out", "add.Tensor"} <= found["diopiAdd/float32/recipe-1"]
    cases = {case.id: case for case in cases_of(interface, _function(interface, "diopiProd"))}
    for name, overloads in _called(interface, "diopiProd").items():
        assert ("prod" in overloads) == (cases[name].arguments.get("dim") is None), name


def test_a_mode_that_an_overload_fixes_selects_it(interface: Interface) -> None:
    found = through_overloads(interface, cases_of(interface, _function(interface, "diopiPad")))
    modes = {(case.overload.partition(".")[0], case.arguments.get("mode", "constant")) for case in found}
    assert ("reflection_pad2d", "reflect") in modes
    assert ("reflection_pad2d", "replicate") not in modes


def test_an_operand_that_is_also_written_needs_a_position(interface: Interface) -> None:
    cases = {case.id: case for case in cases_of(interface, _function(interface, "diopiBatchNorm"))}
    called = _called(interface, "diopiBatchNorm")
    for name, overloads in called.items():
        has_none = cases[name].arguments.get("running_mean") is None
        assert ("_native_batch_norm_legit.no_stats" in overloads) <= has_none, name
    assert any("_native_batch_norm_legit.no_stats" in overloads for overloads in called.values())


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("add.out(Tensor self, Tensor other, *, Tensor weights, Tensor(a!) out) -> Tensor(a!)", ""),
        ("add.out(Tensor self, Tensor other, *, int count, Tensor(a!) out) -> Tensor(a!)", "'count'"),
        ("add.out(Tensor self, Tensor other, *, Tensor(a!) out, Tensor(b!) more) -> Tensor(a!)", "'more'"),
    ],
)
def test_an_argument_without_a_parameter_is_named(interface: Interface, schema: str, message: str) -> None:
    function = _function(interface, "diopiAdd")
    parsed = parse_schema(schema)
    if not message:
        assert len(paired(function, "add.out", parsed, frozenset()).positions) == len(parsed.arguments)
        return
    with pytest.raises(PairingError, match=message):
        paired(function, "add.out", parsed, frozenset())


def test_other_operators_replace_overloads(interface: Interface, tmp_path: Path) -> None:
    file = tmp_path / "operators.yaml"
    file.write_text("operators:\n  diopiRMSNorm: [{overload: 'mine::rms', without: [inv_rms, normalized_shape]}]\n")
    sink = Sink()
    found = with_operators(interface, str(file), sink)
    assert not sink.has_errors
    cases = list(through_overloads(found, cases_of(found, _function(found, "diopiRMSNorm"))))
    assert cases and {case.overload for case in cases} == {"mine::rms"}
    assert not list(through_overloads(found, cases_of(found, _function(found, "diopiAdd"))))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("operators:\n  diopiRMSNrm: [mine::rms]\n", "2:3.*operator-unknown-function"),
        ("operators:\n  diopiRMSNorm: [{overload: 'mine::rms', names: {inpt: x}}]\n", "operator-unknown-parameter"),
        ("operators:\n  diopiRMSNorm: [{overload: 'mine::rms', without: [inpt]}]\n", "operator-unknown-parameter"),
        ("operators:\n  diopiRMSNorm: [rms]\n", "2:18"),
        ("operator: {}\n", "1:1"),
        ("[", "1:"),
    ],
)
def test_errors_in_a_file_of_operators_have_their_position(tmp_path: Path, text: str, where: str) -> None:
    file = tmp_path / "operators.yaml"
    file.write_text(text)
    done = CliRunner().invoke(cli, ["conformance", "aten", "--operators", str(file)])
    assert done.exit_code == 1
    assert re.search(where, done.output + (done.stderr or ""))


def test_functions_without_an_operator_have_a_reason(interface: Interface) -> None:
    reasons = unbound(interface)
    # ATen has no operators of servers for language models.
    servers = {one.name for header in interface.headers if header.file == "functions_llm.h" for one in header.functions}
    assert len(reasons.keys() - servers) <= 200
    assert [name for name, reason in reasons.items() if not reason] == []
    done = CliRunner().invoke(cli, ["conformance", "unbound"])
    assert done.exit_code == 0
    assert done.output.endswith(f"{len(reasons)} of {len(interface.functions)} functions have no operator of PyTorch\n")


def test_composed_operators_pair_with_their_functions(interface: Interface) -> None:
    plain = {function.name: len(function.aten) for function in interface.functions}
    for function in with_composed(interface).functions:
        for one in function.aten[plain[function.name] :]:
            schema = schema_of(interface, one.name)
            assert schema is not None, (function.name, one.name)
            left = paired(function, one.name, schema, schema.defaults).left(function)
            assert [param.name for param in left if param.default is None and not param.nullable] == [], function.name


def test_run_with_the_binding_aten_is_the_command_aten(tmp_path: Path) -> None:
    words = ["--device", "cpu", "--python", str(tmp_path / "none")]
    for command in (["run", "--binding", "aten"], ["aten"]):
        done = CliRunner().invoke(cli, ["conformance", *command, *words])
        assert isinstance(done.exception, Failure)
        assert done.exception.diagnostics[0].code == "torch-missing"


def test_entries_of_known_failures_are_about_overloads_of_the_spec(interface: Interface) -> None:
    names = {one.name for function in with_composed(interface).functions for one in function.aten}
    ids = [entry.id for entry in known()]
    assert len(set(ids)) == len(ids)
    for entry in known():
        assert set(entry.kinds) <= SUITE_KINDS, entry.id
        assert entry.argument.strip() and (entry.script or not entry.is_fault), entry.id
        for glob in entry.overloads:
            assert "::" in glob or any(fnmatchcase(name, glob) for name in names), (entry.id, glob)


def _result(case_id: str, overload: str, kind: str) -> CaseResult:
    case = Case(case_id, "diopiSoftmax", "f", "float32", "strides", {}, overload=overload)
    return CaseResult(case, "failed", 0.0, (Fault(kind, "out", "m"),))


def test_a_known_fault_is_excepted_on_the_cpu_alone() -> None:
    result = _result("diopiSoftmax/float32/strided@_softmax.out", "_softmax.out", "guard")
    results = Results((result, replace(result, faults=(Fault("status", "", "m"),))), 0.0, 0, "cpu")
    changed, used = Excepting("cpu").with_known(results)
    assert [one.outcome for one in changed.results] == ["excepted", "failed"]
    assert changed.results[0].reason.startswith("fault of PyTorch: ")
    assert used == {"strided-outputs": 1} and "strides" in "\n".join(known_text(used))
    assert [one.outcome for one in Excepting("npu").with_known(results)[0].results] == ["failed", "failed"]
    assert known_text({}) == []


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_the_cpu_with_a_number_is_the_cpu(device: str) -> None:
    result = _result("diopiSoftmax/float32/strided@_softmax.out", "_softmax.out", "guard")
    assert Excepting(device).with_known(Results((result,), 0.0, 0, device))[1] == {"strided-outputs": 1}


@pytest.mark.parametrize(
    ("release", "is_there"),
    [("2.9.1", False), ("2.10.0", True), ("2.12.0+cpu", True), ("2.13.0a0+git12", False), ("3.0.0", False), ("", True)],
)
def test_an_entry_is_in_its_releases(release: str, is_there: bool) -> None:
    entry = Known("a", "t", ["x"], ["*"], ["values"], "", since="2.10.0", fixed="2.13.0")
    assert entry.is_in(release_of(f"PyTorch {release}, cpu" if release else "")) == is_there


def test_a_failure_in_a_release_that_fixed_it_is_not_excepted() -> None:
    result = _result("diopiGroupNorm/float32/strided@native_group_norm", "native_group_norm", "values")
    for version, outcome in (("PyTorch 2.13.0+cpu, cpu", "excepted"), ("PyTorch 2.14.1, cpu", "failed")):
        results = Results((result,), 0.0, 0, "cpu", library_version=version)
        assert [one.outcome for one in Excepting("cpu").with_known(results)[0].results] == [outcome]


@pytest.mark.parametrize(
    ("device", "compiler", "outcome"),
    [
        ("cpu", "inductor", "excepted"),
        ("npu", "inductor", "excepted"),
        ("cpu", "", "failed"),
        ("cpu", "other", "failed"),
    ],
)
def test_a_fault_of_a_compiler_is_its_own(device: str, compiler: str, outcome: str) -> None:
    result = _result("diopiAtanh/float32/recipe-1@atanh", "atanh", "values")
    changed, _ = Excepting(device, compiler).with_known(Results((result,), 0.0, 0, device))
    assert [one.outcome for one in changed.results] == [outcome]


def test_the_pages_name_the_releases_that_were_looked_at() -> None:
    first, *_, last = (release.rpartition(".")[0] for release in seen()["releases"])
    docs = Path(__file__).resolve().parents[2] / "docs"
    assert f"torch {first} to {last}" in (docs / "pytorch-devices.md").read_text(encoding="utf-8")
    assert f"torch {first} 至 {last}" in (docs / "pytorch-devices.zh-CN.md").read_text(encoding="utf-8")
    for entry in known():
        for release in filter(None, (entry.since, entry.fixed)):
            assert release in seen()["releases"], entry.id


def test_the_page_of_faults_counts_them_by_release() -> None:
    page = (Path(__file__).resolve().parents[2] / "generated/docs/pytorch-faults.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| 2.")]
    assert [row[0] for row in rows] == seen()["releases"]
    own, compiled, _ = re.split("^# .*$", page, flags=re.MULTILINE)[1:]
    # No fault began after the first of the releases.
    _, kernels, meta, without_number, _ = rows[0]
    assert int(kernels) + int(meta) == own.count("\n## ")
    assert int(without_number) == own.count("\n## ") - own.count("\nPublic: ")
    assert {row[0]: int(row[4]) for row in rows if row[4] != "not run"}["2.13.0"] == compiled.count("\n## ")


def test_a_fault_of_a_meta_function_is_excepted_everywhere() -> None:
    result = _result("diopiAddScalar/shape-out/error@add.Scalar_out", "add.Scalar_out", "status")
    changed, used = Excepting("npu").with_known(Results((result,), 0.0, 0, "npu"))
    assert ([one.outcome for one in changed.results], used) == (["excepted"], {"meta-without-out": 1})


def test_a_choice_is_excepted_everywhere() -> None:
    result = _result("diopiProd/float16/recipe-1@prod.int_out", "prod.int_out", "values")
    changed, _ = Excepting("npu").with_known(Results((result,), 0.0, 0, "npu"))
    assert [one.outcome for one in changed.results] == ["excepted"]


def test_an_entry_explains_no_failure_of_another_kind() -> None:
    entry = Known("a", "t", ["x"], ["*"], ["values"], "")
    result = _result("f@x", "x", "values")
    assert entry.explains(result)
    assert not entry.explains(replace(result, faults=(*result.faults, Fault("guard", "", "m"))))


def test_the_report_names_what_the_device_does_not_compute() -> None:
    results = Results((), 0.0, 0, "npu", coverage={"kernel": ("add.out",), "cpu": ("sort", "topk"), "missing": ()})
    assert coverage_text(results) == [
        "overloads: 1 kernels of the device, 2 fall back to the CPU\n  fall back to the CPU: sort, topk"
    ]
    assert coverage_text(replace(results, coverage={})) == []


SERVER = """
import os, sys
from diopigen.conformance.aten.fork_server import serve_forks
def run():
    print("ready", flush=True)
    word = sys.stdin.readline().strip()
    if word == "crash":
        os.kill(os.getpid(), 11)
    print(word, flush=True)
    return 3
serve_forks(sys.argv[1], run)
"""


def test_forks_have_the_streams_and_the_ending_of_their_client(tmp_path: Path) -> None:
    path = str(tmp_path / "fork")
    client = [sys.executable, "-S", "-E", str(_client()), path]
    server = [sys.executable, "-c", SERVER, path]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        done = subprocess.run(client, input="word\n", capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "ready\nword\n")
        assert subprocess.run(client, input="crash\n", text=True, check=False).returncode == -signal.SIGSEGV
        for number in (signal.SIGTERM, signal.SIGKILL):  # a client that can ask for the end, and one that cannot
            waiting = subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert waiting.stdout is not None
            waiting.stdout.readline()
            waiting.send_signal(number)
            assert waiting.wait() == -signal.SIGKILL
            assert waiting.stdout.read() == b""  # which ends with the last process that can write
        process.stdin.close()
        assert process.wait() == 0


def _client() -> Path:
    from diopigen.conformance.aten import fork_server

    return Path(fork_server.__file__).with_name("program") / "fork_client.py"


@pytest.mark.parametrize(
    ("glob", "shard", "excepted"),
    [
        ("diopiRelu/float32/recipe-1", "1/1", 2),
        ("diopiRelu/float32/recipe-1@relu.out", "1/1", 1),
        ("diopiRelu/float32/recipe-1@relu.out", "1/1000", 0),
        ("diopiRelu/float32/recipe-1@relu.ot", "1/1", None),
    ],
)
def test_exceptions_are_about_overloads(
    interface: Interface, tmp_path: Path, glob: str, shard: str, excepted: int | None
) -> None:
    file = tmp_path / "known.yaml"
    file.write_text(f"skip:\n  - {{cases: '{glob}', reason: planned}}\n")
    sink = Sink()
    called = through_overloads(interface, cases_of(interface, _function(interface, "diopiRelu")))
    cases = part(list(called), parse_shard(shard))
    found = with_waivers(cases, read(file, str(file), sink), interface, sink)
    assert sink.has_errors == (excepted is None)
    assert sum(case.waiver is not None for case in found) == (excepted or 0)


ROOT = Path(__file__).resolve().parents[2]


def _workflow_commands() -> list[str]:
    """The lines that the workflow for backends runs, for the last of its parts, and those of the page."""
    workflow = yaml.safe_load((ROOT / "templates/pages/aten-backend.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    part = str(job["strategy"]["matrix"]["part"][-1])
    page = (ROOT / "docs/pytorch-devices.md").read_text(encoding="utf-8")
    steps = [*job["steps"], *yaml.safe_load(page.rpartition("```yaml\n")[2].partition("```")[0])]
    return [step["run"].replace("${{ matrix.part }}", part) for step in steps if "run" in step]


def test_the_workflow_for_backends_has_options_of_the_command() -> None:
    commands = [shlex.split(line) for line in _workflow_commands() if line.startswith("diopigen ")]
    assert [words[:3] for words in commands] == [["diopigen", "conformance", "aten"]] * 2
    for words in commands:
        assert words[words.index("--shard") + 1] == "4/4"
        # Options are parsed before the help is shown.
        assert CliRunner().invoke(cli, [*words[1:], "--help"]).exit_code == 0
        assert CliRunner().invoke(cli, [*words[1:], "--devise", "--help"]).exit_code == 2
