"""`diopigen new-operator` in a copy of the tree: skeletons are accepted, and their test fails until they are filled."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from sampling import first, some
from tree_copy import copied, run, state

from diopigen.cli import cli
from diopigen.diagnostics import Failure
from diopigen.output import disk

STARTED = {
    "Softplus": ("Erf", ["specs/ops/elementwise_unary.yaml"]),
    "LogMeanExp": (
        "Mean",
        [
            "specs/ops/reduction.yaml",
            "diopigen/conformance/oracles/log_mean_exp.py",
            "impl/cpu/functions/reduction/log_mean_exp.cpp",
            "impl/cuda/functions/reduction/log_mean_exp.cu",
        ],
    ),
    "Sparsemax": (
        "Softmax",
        [
            "specs/ops/activation.yaml",
            "diopigen/conformance/oracles/sparsemax.py",
            "impl/cpu/functions/activation/sparsemax.cpp",
            "impl/cuda/functions/activation/sparsemax.cu",
            "specs/ops/activation_backward.yaml",
            "diopigen/conformance/oracles/sparsemax_backward.py",
            "impl/cpu/functions/activation/sparsemax_backward.cpp",
            "impl/cuda/functions/activation/sparsemax_backward.cu",
        ],
    ),
}
"""An elementwise operator, a reduction, and one with a gradient: what each begins as, and where it is written."""


def _test(name: str) -> str:
    stem = {"Softplus": "softplus", "LogMeanExp": "log_mean_exp", "Sparsemax": "sparsemax"}[name]
    return f"tests/conformance/test_{stem}.py"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("new") / "diopigen")


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree in which nothing was begun."""
    return copied(tmp_path_factory.mktemp("untouched") / "diopigen")


@pytest.fixture(scope="module")
def started(tree: Path) -> dict[str, str]:
    """Output of the command for each."""
    found = {}
    for name, (like, _) in STARTED.items():
        done = run(tree, "diopigen", "new-operator", name, "--like", like)
        assert done.returncode == 0, done.stdout + done.stderr
        found[name] = done.stdout
    return found


@pytest.mark.parametrize("name", STARTED)
def test_it_lists_what_is_to_be_written(tree: Path, started: dict[str, str], name: str) -> None:
    listed = [line.split(": ")[0].strip() for line in started[name].splitlines() if line.startswith("  ")]
    paths = [path.partition(":")[0] for path in listed]
    assert paths == [*STARTED[name][1], _test(name)]
    for position in listed[:-1]:
        path, _, line = position.partition(":")
        if line:
            assert "- name: " in (tree / path).read_text().splitlines()[int(line) - 1]
        assert (tree / path).is_file()


def test_check_and_generate_accept_the_skeletons(tree: Path, started: dict[str, str]) -> None:
    checked = run(tree, "diopigen", "check", "--strict")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert run(tree, "diopigen", "generate").returncode == 0
    header = (tree / "generated/include/diopi/functions.h").read_text()
    for word in ("diopiSoftplusInp(", "diopiLogMeanExp(", "diopiSparsemaxBackward("):
        assert word in header


@pytest.mark.parametrize("name", first(STARTED))
def test_its_test_fails_and_names_every_position(tree: Path, started: dict[str, str], name: str) -> None:
    done = run(tree, "pytest", "-q", "-p", "no:cacheprovider", _test(name))
    assert done.returncode == 1, done.stdout
    assert f"{name} is a skeleton; what is to be written:" in done.stdout
    for path in [*STARTED[name][1], _test(name)]:
        assert path in done.stdout


@pytest.mark.slow
def test_an_oracle_that_is_not_written_says_so(tree: Path, started: dict[str, str]) -> None:
    """Known results alone do not make the test pass."""
    path = tree / _test("LogMeanExp")
    before = path.read_text()
    known = '[({"input": ("float32", [1.0]), "dim": (0,)}, {"out": ("float32", ())}, {"out": 1.0})]'
    path.write_text(before.replace('"LogMeanExp": [],', f'"LogMeanExp": {known},'))
    done = run(tree, "pytest", "-q", "-p", "no:cacheprovider", _test("LogMeanExp"))
    path.write_text(before)
    assert done.returncode == 1
    assert "write the oracle of LogMeanExp in " in done.stdout
    assert "diopigen/conformance/oracles/log_mean_exp.py" in done.stdout


def test_it_passes_once_it_is_written(tree: Path, started: dict[str, str]) -> None:
    entry, test = tree / "specs/ops/elementwise_unary.yaml", tree / _test("Softplus")
    head, _, own = entry.read_text().partition("  - name: Softplus\n")
    kernel = next(line for line in own.splitlines() if line.startswith("    kernel: "))
    entry.write_text(f"{head}  - name: Softplus\n{own.replace(kernel, '    kernel: log1p(exp(input))', 1)}")
    values = "[0.693147180559945309, 1.313261687518222834]"
    known = f'[({{"input": ("float64", [0.0, 1.0])}}, {{"out": ("float64", (2,))}}, {{"out": {values}}})]'
    test.write_text(test.read_text().replace('"Softplus": [],', f'"Softplus": {known},'))
    done = run(tree, "pytest", "-q", "-p", "no:cacheprovider", _test("Softplus"))
    assert done.returncode == 0, done.stdout


def test_the_files_are_laid_out_as_all_others(tree: Path, started: dict[str, str]) -> None:
    python = [_test(name) for name in ("LogMeanExp", "Sparsemax")] + [
        path for _, paths in STARTED.values() for path in paths if path.endswith(".py")
    ]
    for words in (["ruff", "check"], ["ruff", "format", "--check"]):
        done = run(tree, *words, *python)
        assert done.returncode == 0, done.stdout
    sources = [path for _, paths in STARTED.values() for path in paths if path.endswith((".cpp", ".cu"))]
    tool = Path(sys.executable).parent / "clang-format"
    style = f"--style=file:{Path(__file__).parents[2] / '.clang-format'}"
    done = subprocess.run([tool, style, "--dry-run", "--Werror", *sources], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    some([
        (["Softmax", "--like", "Relu"], "error[new-operator-name]: there is a function diopiSoftmax already"),
        (["SOFTMAX", "--like", "Relu"], "error[new-operator-name]: there is a function diopiSoftmax already"),
        (["Mish2d", "--like", "Softmx"], "there is no operator 'Softmx'\n  fix: did you mean 'Softmax'?"),
        (["Mish2d", "--like", "AddInp"], "[new-operator-like]: AddInp is a variant of Add\n  fix: write --like Add"),
        (["Mish2d", "--like", "AllReduce"], "error[new-operator-like]: the suite does not test AllReduce"),
        (["mish", "--like", "Relu"], "'mish' cannot be the name of an operator: it is not an UpperCamelCase"),
        (["diopiMish", "--like", "Relu"], "'diopiMish' cannot be the name of an operator: it is not an UpperCamelCase"),
        (["Mish-2", "--like", "Relu"], "'Mish-2' cannot be the name of an operator: it is not an UpperCamelCase"),
        (["../Mish", "--like", "Relu"], "'../Mish' cannot be the name of an operator: it is not an UpperCamelCase"),
        (["Mish__2", "--like", "Relu"], "'Mish__2' cannot be the name of an operator: it would be reserved"),
        (["Register", "--like", "Relu"], "its kernel would be called 'register', a keyword of C or C++"),
        (["RELu", "--like", "Tanh"], "there is a function diopiRelu already"),
    ], 6),
)  # fmt: skip
def test_a_refusal_writes_nothing(untouched: Path, words: list[str], message: str) -> None:
    before = state(untouched)
    done = run(untouched, "diopigen", "new-operator", *words)
    assert done.returncode == 2
    assert message in done.stdout + done.stderr
    assert state(untouched) == before


@pytest.mark.slow
def test_a_file_that_is_there_is_not_overwritten(untouched: Path) -> None:
    path = untouched / "impl/cuda/functions/reduction/range_of.cu"
    path.write_text("// mine\n")
    before = state(untouched)
    done = run(untouched, "diopigen", "new-operator", "RangeOf", "--like", "Sum")
    path.unlink()
    assert done.returncode == 2
    assert "impl/cuda/functions/reduction/range_of.cu is there already" in done.stdout + done.stderr
    assert {**state(untouched), "impl/cuda/functions/reduction/range_of.cu": b"// mine\n"} == before


@pytest.mark.slow
def test_dry_run_and_no_backward(untouched: Path) -> None:
    before = state(untouched)
    done = run(untouched, "diopigen", "new-operator", "Entmax", "--like", "Softmax", "--dry-run", "--no-backward")
    assert done.returncode == 0
    assert done.stdout.startswith("would write the skeleton of Entmax; what is left to write:\n")
    assert "EntmaxBackward" not in done.stdout
    assert state(untouched) == before


@pytest.mark.slow
def test_a_disk_that_refuses_leaves_nothing_behind(untouched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second file of the spec cannot be written: the first one is restored, and the new files go."""
    real = disk.write_file
    calls: list[Path] = []

    def refusing(target: Path, content: bytes, mode: int | None = None) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise disk.fault(OSError(errno.ENOSPC, "No space left on device"), target, "write")
        real(target, content, mode)

    monkeypatch.chdir(untouched)
    monkeypatch.setattr(disk, "write_file", refusing)
    before = state(untouched)
    done = CliRunner().invoke(cli, ["new-operator", "Entmax", "--like", "Softmax"])
    assert isinstance(done.exception, Failure)
    assert [path.name for path in calls] == ["activation.yaml", "activation_backward.yaml", "activation.yaml"]
    assert state(untouched) == before
