"""Every finding inside a value points at the characters that it is about, however the value is written."""

from __future__ import annotations

import pytest
from config_helpers import run

from diopigen.diagnostics import Span
from diopigen.ir.model import Interface

WRITTEN = {
    "plain": "- diopiAdd:\n    dtype: (int8)->int16, (@@)->int16\n",
    "in double quotes": '- diopiAdd:\n    dtype: "(int8)->int16, (@@)->int16"\n',
    "in single quotes": "- diopiAdd: {dtype: '(int8)->int16, (@@)->int16'}\n",
    "with a quote in quotes": "- diopiAdd:\n    dtype: '(int8)->int16, (''x)->int32, (@@)->int16'\n",
    "over two lines": "- diopiAdd:\n    dtype: (int8)->int16,\n           (@@)->int16\n",
    "over lines with an empty one": "- diopiAdd:\n    dtype: (int8)->int16,\n\n\n      (@@)\n      ->int16\n",
    "over lines in quotes": '- diopiAdd:\n    dtype: "(int8)->int16,\n      (@@)->int16"\n',
    "folded": "- diopiAdd:\n    dtype: >\n      (int8)->int16,\n      (@@)->int16\n",
    "literal": "- diopiAdd:\n    dtype: |-\n      (int8)->int16,\n      (@@)->int16\n",
    "in a list": "- diopiAdd:\n    dtype: [(int8)->int16, (@@)->int16]\n",
    "in a list over lines": "- diopiAdd:\n    dtype:\n      - (int8)->int16\n      - (@@)->int16\n",
    "behind full-width text": "- diopiAdd：\n    dtype：（int8）－＞int16，（@@）－＞int16\n",
    "behind a full-width colon that has a space": "- diopiAdd：\n    dtype： （int8）－＞int16， （@@）－＞int16\n",
    "behind a full-width dash": "－diopiAdd：\n    dtype: (int8)->int16,\n     （@@）->int16\n",
    "in a flow mapping": "- {diopiAdd：{dtype： '(int8)->int16, (@@)->int16'}}\n",
    "between comments": "# 注释：（x）\n- diopiAdd:\n    dtype: (int8)->int16, (@@)->int16 # ：\n",
    "for one tensor": "- diopiAdd:\n    tensor_dtype:\n      out: (int8)->int16, (@@)->int16\n",
    "with a tab": "- diopiAdd:\n    dtype: (int8)->int16,\t(@@)->int16\n",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_an_unknown_dtype_is_marked_where_it_stands(name: str, interface: Interface) -> None:
    text = WRITTEN[name].replace("@@", "flaot32")
    (line,) = [number for number, row in enumerate(text.split("\n"), 1) if "flaot32" in row]
    column = text.split("\n")[line - 1].index("flaot32") + 1
    _, sink = run(text, interface)
    spans = [
        finding.span
        for finding in sink.sorted()
        if finding.code == "config-unknown-dtype" and "flaot" in finding.message
    ]
    assert spans == [Span("convert_config.yaml", line, column, line, column + 7)]


def test_an_escape_hides_positions_and_the_whole_text_is_marked(interface: Interface) -> None:
    _, sink = run('- diopiAdd:\n    dtype: "(int8)\\x2d>int16, (flaot32)->int16"\n', interface)
    assert [(finding.code, finding.span) for finding in sink.sorted()] == [
        ("config-unknown-dtype", Span("convert_config.yaml", 2, 12, 2, 48))
    ]


def test_full_width_text_in_comments_and_quotes_is_left_alone(interface: Interface) -> None:
    text = "# 配置：（通用）\n- diopiAdd:  # 说明，ok\n    layout: ND  #：\n- diopiSub: {layout: 'NCHW'} # ‘：’\n"
    _, sink = run(text, interface)
    assert [finding.code for finding in sink.sorted()] == ["config-repeats-common"]


def test_one_note_for_each_line(interface: Interface) -> None:
    _, sink = run("- common_config：\n    dtype：（int8、bool）－＞int16\n    layout： NCHW\n", interface)
    assert [
        (finding.code, finding.span and finding.span.line, finding.severity.value) for finding in sink.sorted()
    ] == [("config-full-width", line, "note") for line in (1, 2, 3)]


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        *((value, True) for value in ("true", "True", "TRUE", "yes", "On")),
        *((value, False) for value in ("false", "False", "no", "No", "OFF")),
    ],
)
def test_flags_as_yaml_1_1_writes_them(value: str, flag: bool, interface: Interface) -> None:
    resolved, sink = run(f"- common_config:\n    contiguous: {value}\n", interface)
    assert resolved is not None
    assert {rule.contiguous for rule in resolved.functions[0].tensors} == {flag}
    expected = [] if value.lower() in ("true", "false") else ["config-yaml-word"]
    assert [finding.code for finding in sink.sorted()] == expected


@pytest.mark.parametrize("value", ["'yes'", '"true"'])
def test_a_quoted_flag_is_a_text(value: str, interface: Interface) -> None:
    _, sink = run(f"- diopiAdd:\n    supportComposite: {value}\n", interface)
    assert [finding.code for finding in sink.sorted() if finding.severity.value == "error"] == ["config-wrong-kind"]
