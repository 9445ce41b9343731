"""The page: it needs nothing but itself, holds what it should, and a browser draws it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import browser
import pytest

from diopigen.api import workspace
from diopigen.conformance.model import (
    OUTCOMES,
    Case,
    CaseResult,
    Conversion,
    Ending,
    Fault,
    Measured,
    Results,
    Suspect,
    Waiver,
)
from diopigen.conformance.report.html import MAX_FAILURES, to_html
from diopigen.ir.model import Interface

TEMPLATES = workspace().templates
EVIL = "</script><img src=x onerror=alert(1)>\u2028 {{ 7 * 7 }}"


def result(case_id: str, outcome: str = "passed", family: str = "elementwise_binary", **more: Any) -> CaseResult:
    function, dtype, axis = case_id.split("/")
    fault = Fault("values", "out", more.get("message", "1 of 6 elements differ"), "2.0", "2.5")
    failed = outcome in ("failed", "crashed", "hung")
    case = Case(case_id, function, family, dtype, axis, {}, waiver=more.get("waiver"))
    return CaseResult(case, outcome, 0.25, (fault,) if failed else (), ("out = int8[2, 3]",) if failed else ())


def page(interface: Interface, *of: CaseResult) -> str:
    counts = Counter(one.outcome for one in of)
    every = {word: counts[word] for word in OUTCOMES}
    return to_html(Results(of, 1.5, 7, "lib/x.so", "acme", "2.0", every, "rt.so"), interface, TEMPLATES)


def data_of(html: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


GOOD = (result("diopiAdd/float32/plain"), result("diopiAdd/int8/plain"))
BAD = (
    *GOOD,
    result("diopiAdd/int8/empty", "failed", message=EVIL),
    result("diopiSub/int8/plain", "missing"),
    result("diopiNew/odd/thing", "crashed", "sorting"),
    result("diopiSub/int8/empty", "excepted", waiver=Waiver("skip", "not <planned>", "known.yaml:3")),
)


def test_nothing_is_fetched_from_elsewhere(interface: Interface) -> None:
    html = page(interface, *BAD)
    head = html[: html.index('<script id="data"')]
    assert not re.findall(r"https?:|//[a-z]|@import|url\(", html.replace("http-equiv", ""))
    links = re.findall(r'(?:src|href)="([^"]*)"', head)
    assert set(links) == {"data:,", "#functions", "#map", "#failures", "#accuracy", "#vendor", "#exceptions"}


def test_the_data_of_the_page(interface: Interface) -> None:
    data = data_of(page(interface, *BAD))
    assert (data["total"], data["failures"]) == (6, 2)
    assert data["axes"] == ["plain", "empty", "thing"] or data["axes"] == ["empty", "plain", "thing"]
    assert data["dtypes"][-1] == "odd"
    add, sub, new = data["functions"]
    assert (add["name"], add["cases"], add["counts"], add["seconds"]) == (
        "diopiAdd",
        3,
        {"passed": 2, "failed": 1},
        0.75,
    )
    assert "float64" in add["holes"] and "float32" not in add["holes"]
    decoded = {(data["dtypes"][d], data["axes"][a], data["outcomes"][o]): count for d, a, o, count in add["cells"]}
    assert decoded == {
        ("float32", "plain", "passed"): 1, ("int8", "plain", "passed"): 1, ("int8", "empty", "failed"): 1,
    }  # fmt: skip
    (failure,) = add["failures"]
    assert failure["faults"][0]["message"] == EVIL
    assert (
        failure["repeat"] == "diopigen conformance repro 'diopiAdd/int8/empty' --lib lib/x.so --runtime rt.so --seed 7"
    )
    assert sub["counts"] == {"missing": 1, "excepted": 1}
    assert new["holes"] == [] and new["family"] == "sorting"
    assert data["exceptions"] == [
        {"where": "known.yaml:3", "kind": "skip", "reason": "not <planned>", "cases": 1, "excepted": 1}
    ]


def test_text_of_a_library_cannot_leave_its_position(interface: Interface) -> None:
    html = page(interface, *BAD)
    assert html.count("</script>") == 2
    assert "<img" not in html
    assert "{{ 7 * 7 }}" in html, "text is no template"
    assert "\u2028" not in html


def test_many_failures_of_one_function_are_cut_with_their_number(interface: Interface) -> None:
    many = [result(f"diopiAdd/int8/recipe-{number}", "failed") for number in range(MAX_FAILURES + 7)]
    (add,) = data_of(page(interface, *many))["functions"]
    assert (len(add["failures"]), add["more"]) == (MAX_FAILURES, 7)


def test_shares_are_not_rounded_to_all(interface: Interface) -> None:
    nearly = [result(f"diopiAdd/int8/recipe-{number}") for number in range(5000)]
    assert "100.0 % of all cases passed" in page(interface, *nearly)
    assert "99.9 % of all cases passed" in page(interface, *nearly, BAD[3])
    assert "0.0 % of all cases passed" in page(interface)


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("functions", [">3 functions<", 'aria-sort="ascending"', ">diopiNew<"]),
        ("map", ['class="hole"', 'title="1 passed, 1 failed"', "failed bad"]),
        ("failures", ["article", "&lt;img src=x", "--lib lib/x.so --runtime rt.so --seed 7"]),
        ("exceptions", ["not &lt;planned&gt;", "16.67 %"]),
        ("diopiAdd", ["<h2>diopiAdd</h2>", "3 cases: 2 passed, 1 failed"]),
        ("", ["<h2>Failures</h2>"]),
    ],
)
def test_a_browser_draws_it(fragment: str, expected: list[str], interface: Interface, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page(interface, *BAD), encoding="utf-8")
    dom = browser.chromium(f"{file.as_uri()}#{fragment}").stdout
    rendered = dom[dom.index('<main id="page">') : dom.index("<noscript>")]
    assert [text for text in expected if text not in rendered] == []


def test_axe_has_no_serious_finding(interface: Interface, tmp_path: Path) -> None:
    errors = (Measured("float64", 2.5, 0.5, 6), Measured("float64", 9e9, 1.0, 6, "float32"))
    where, case = "acme.yaml:7", BAD[0].case
    casts = Conversion({"input": {"float64": "float32"}})
    every = [result(f"diopiMul/float32/{name}", name) for name in OUTCOMES]
    worse = replace(BAD[2], declared=(where,), case=replace(BAD[2].case, conversion=casts), errors=errors)
    of = (*BAD, *every, replace(BAD[0], case=replace(case, conversion=casts), declared=(where,), errors=errors), worse)
    results = Results(
        of, 1.5, 7, "a/folder/with/a/name/that/is/long/enough/to/reach/the/edge/lib/x.so", "acme", "2.0",
        Counter(one.outcome for one in of), "rt.so", endings=(Ending("the process ended with signal 11", EVIL),),
        declarations={where: "float16: within 3 ULP"}, suspects=(Suspect("worker 3 (CARD=3)", "it differs", ("a",)),),
    )  # fmt: skip
    (tmp_path / "report.html").write_text(to_html(results, interface, TEMPLATES), encoding="utf-8")
    views = ("functions", "map", "failures", "accuracy", "vendor", "exceptions", "diopiAdd")
    assert browser.faults(browser.examined(tmp_path, [f"report.html#{view}" for view in views])) == []


def test_a_page_on_a_device_of_pytorch_has_its_kernels_and_known_failures(interface: Interface) -> None:
    known = replace(result("diopiAdd/float32/plain", "excepted"), reason="fault of PyTorch: its sums are wrong")
    coverage = {"kernel": ("add.out", "<add>"), "cpu": ()}
    results = Results((known,), 1.5, 7, "npu", "PyTorch", "2.13.0", {"excepted": 1}, binding="aten", coverage=coverage)
    html = to_html(results, interface, TEMPLATES)
    assert "overloads: 2 kernels of the device</summary>&lt;add&gt;, add.out</details>" in html
    assert "fall back" not in html.partition('<script id="data"')[0]
    assert data_of(html)["exceptions"] == [
        {"where": "PyTorch", "kind": "fault of PyTorch", "reason": "its sums are wrong", "cases": 1, "excepted": 1}
    ]
    assert '<span class="badge">1</span>' in html
