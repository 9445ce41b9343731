"""Stages over the tiny library: what each reports, and that the first that fails ends the request."""

from __future__ import annotations

from pathlib import Path

import pytest
from stage_events import Served, stage


def test_a_right_library_passes_with_full_credit(served: Served, tiny_library: Path) -> None:
    events = served(library=str(tiny_library), ops=["diopiRelu"], stages=["exports", "speed"])
    assert [event["event"] for event in events] == ["started", "stage", "stage", "verdict"]
    exports = stage(events, "exports")
    assert (exports["status"], exports["vendor"], exports["functions"]) == ("passed", "tiny", ["diopiRelu"])
    speed = stage(events, "speed")
    assert speed["status"] == "passed"
    assert {row["size"] for row in speed["times"]} == {"small", "medium"}
    assert all(row["outcome"] == "passed" and row["cold"]["seconds"] > 0 for row in speed["times"])
    assert events[-1]["status"] == "passed"


def test_the_first_stage_that_fails_ends_the_request(served: Served, tiny_library: Path) -> None:
    events = served(library=str(tiny_library), ops=["diopiRelu"], stages=["smoke", "whole"], seed=0)
    smoke = stage(events, "smoke")
    assert smoke["status"] == "failed"
    (failure,) = smoke["failures"]
    assert failure["likely_cause"]["code"] == "unsupported-dtype"
    assert failure["expected"] == "diopiSuccess" and failure["actual"] == "diopiDtypeNotSupported"
    assert "float16" in failure["likely_cause"]["text"]
    assert events[-1]["status"] == "failed"
    assert events[-1]["stages_not_run"] == ["whole"] and events[-1]["credit"]["score"] is None


def test_with_continue_all_stages_run_and_credit_is_partial(served: Served, tiny_library: Path) -> None:
    events = served(
        library=str(tiny_library),
        ops=["diopiLogicalNot"],
        stages=["contract", "smoke", "whole"],
        seed=0,
        **{"continue": True},
    )
    assert events[-1]["failed_stages"] == ["smoke", "whole"]
    credit = events[-1]["credit"]
    assert 0 < credit["score"] < 1
    assert credit["axes"]["error"]["passed"] == credit["axes"]["error"]["cases"] > 0
    whole = stage(events, "whole")
    assert whole["cases"] == sum(axis["cases"] for axis in credit["axes"].values()) + whole["outcomes"]["inapplicable"]


def test_a_failure_has_the_smallest_call(served: Served, tiny_library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    events = served(library=str(tiny_library), ops=["diopiAdd"], stages=["whole"], seed=3)
    failure = next(one for one in stage(events, "whole")["failures"] if one["kind"] == "values")
    assert failure["likely_cause"]["code"] == "ignored-argument" and "`alpha`" in failure["likely_cause"]["text"]
    assert failure["smallest"]["message"].startswith("1 of 1 elements differ")
    assert len(failure["operands"]) == len(failure["smallest"]["operands"]) == 4


def test_cases_that_the_time_does_not_suffice_for_are_no_passes(served: Served, tiny_library: Path) -> None:
    events = served(library=str(tiny_library), ops=["diopiRelu"], stages=["whole"], limits={"time": 1e-9})
    whole = stage(events, "whole")
    assert (whole["status"], whole["cases"]) == ("failed", 0)
    assert (
        whole["failures"][0]["message"]
        == f"{whole['not_called']} cases are not called: the time of the request is over"
    )
    assert events[-1]["credit"] == {"score": None, "axes": {}}


def test_functions_that_are_not_exported_are_named(served: Served, tiny_library: Path) -> None:
    events = served(library=str(tiny_library), ops=["diopiRelu", "diopiNeg"])
    failures = stage(events, "exports")["failures"]
    assert [one["message"] for one in failures] == ["the library does not export diopiNeg"]
    assert failures[0]["likely_cause"]["code"] == "not-exported"
    assert [event.get("stage") for event in events] == [None, "exports", None]


def test_what_does_not_load_fails_the_exports(served: Served, tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library")
    for library in (tmp_path / "text.so", tmp_path / "missing.so"):
        events = served(library=str(library), ops=["diopiRelu"])
        assert stage(events, "exports")["status"] == "failed"
        assert stage(events, "exports")["failures"][0]["message"]
        assert events[-1]["status"] == "failed"


def test_a_name_that_no_function_has_is_a_failure_with_a_fix(served: Served, tiny_library: Path) -> None:
    events = served(library=str(tiny_library), ops=["diopiRellu"])
    failure = stage(events, "exports")["failures"][0]
    assert failure["likely_cause"] == {"code": "unknown-case-function", "text": "did you mean 'diopiRelu'?"}


ROOT = Path(__file__).resolve().parents[2]
MANGLED = 'extern "C++" int diopiRelu(void*, void*, const void*) { return 0; }\n'


@pytest.mark.parametrize(
    ("build", "wrong"),
    [
        ("exit 3", "the build ends with exit status 3"),
        ("true", "the build writes no 'libdiopi_impl.so'"),
        ("ln -s /etc/hostname libdiopi_impl.so", "'libdiopi_impl.so' is not a file of the build"),
        ("mkdir libdiopi_impl.so", "'libdiopi_impl.so' is not a file of the build"),
    ],
)
def test_a_build_that_fails_is_reported(served: Served, build: str, wrong: str) -> None:
    events = served(sources={"a/b.c": ""}, build=f"echo here; ls a; {build}")
    report = stage(events, "build")
    assert (report["status"], report["failures"][0]["message"]) == ("failed", wrong)
    assert report["output"] == "here\nb.c\n"
    assert len(events) == 3


def test_a_build_is_confined_and_its_output_bounded(served: Served, tmp_path: Path) -> None:
    events = served(sources={"a.c": ""}, build=f"echo first; yes | head -100000; touch {tmp_path}/x; echo last; exit 1")
    output = stage(events, "build")["output"]
    assert output.startswith("first\ny\n") and output.endswith("last\n") and len(output) < 21_000
    assert "bytes left out" in output
    if (tmp_path / "x").exists():
        pytest.skip("this system confines nothing")


def test_a_name_of_cpp_is_recognized(served: Served) -> None:
    events = served(sources={"a.cpp": MANGLED}, build="g++ -shared -fPIC a.cpp -o libdiopi_impl.so", ops=["diopiRelu"])
    assert stage(events, "build")["status"] == "passed"
    assert stage(events, "exports")["failures"][0]["likely_cause"]["code"] == "mangled-name"


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "status"), [(False, "passed"), (True, "failed")], ids=["right", "first attempt"])
def test_the_example_of_the_documentation(served: Served, wrong: bool, status: str) -> None:
    """With the fault of the first attempt in docs/machine-written-kernels.md, and without."""
    source = (ROOT / "examples/machine-written-kernels/relu.cpp").read_text(encoding="utf-8")
    source = source.replace("input.data + input.offset(i) * size", "input.data + i * size") if wrong else source
    build = "g++ -std=c++17 -O2 -shared -fPIC relu.cpp -o libdiopi_impl.so"
    events = served(sources={"relu.cpp": source}, build=build, ops=["diopiRelu"], seed=7)
    assert events[-1]["status"] == status
    if wrong:
        (failure,) = stage(events, "smoke")["failures"]
        assert failure["case"] == "diopiRelu/int32/expanded" and failure["likely_cause"]["code"] == "strides"
        assert failure["smallest"]["operands"][0] == "out = int32[2, 1]"
    else:
        assert events[-1]["credit"]["score"] == 1.0
