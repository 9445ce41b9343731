"""`diopigen adaptors --explain`: the table, what is not in it, and the table as data."""

from __future__ import annotations

import json
from pathlib import Path

from adaptors_cli import Adaptors


def test_explain_one_function(vendor: Path, adaptors: Adaptors) -> None:
    assert adaptors(vendor, "--explain", "diopiSoftmax") == (
        "diopiSoftmax: implemented by chip\n"
        "\n"
        "  tensor  direction  dtype                         from                   layout           from\n"
        "  out     out        (float16, bfloat16)->float32  convert_config.yaml:6  ND               "
        "convert_config.yaml:7\n"
        "  input   in         (float16, bfloat16)->float32  convert_config.yaml:6  NHWC, else NCHW  "
        "convert_config.yaml:7, convert_config.yaml:3\n",
        "",
    )
    assert adaptors(vendor, "--explain", "Softmax") == adaptors(vendor, "--explain", "diopiSoftmax")


def test_explain_everything(vendor: Path, adaptors: Adaptors) -> None:
    out, err = adaptors(vendor, "--explain")
    head, others = out.rsplit("\n\n", 1)
    assert sorted(head.split("\n")[1:]) == sorted(
        [
            "diopiSoftmax     out     out        (float16, bfloat16)->float32  convert_config.yaml:6  ND"
            "               convert_config.yaml:7",
            "                 input   in         (float16, bfloat16)->float32  convert_config.yaml:6  NHWC, else NCHW"
            "  convert_config.yaml:7, convert_config.yaml:3",
            "diopiRelu        out     out        (int16)->int32                convert_config.yaml:2  NCHW"
            "             convert_config.yaml:3",
            "                 input   in         (int16)->int32                convert_config.yaml:2  NCHW"
            "             convert_config.yaml:3",
            "diopiCastDtype   out     out        -                             -                      -"
            "                -",
            "                 input   in         -                             -                      -"
            "                -",
            "diopiCopyInp     src     in         -                             -                      -"
            "                -",
            "                 dest    out        -                             -                      -"
            "                -",
            "diopiContiguous  out     out        -                             -                      -"
            "                -",
            "                 input   in         -                             -                      -"
            "                -",
        ]
    )
    assert head.split("\n")[0] == (
        "function         tensor  direction  dtype                         from                   layout           from"
    )
    assert others == "5 functions with a shim, 559 without an implementation\n"
    assert err == ""


def test_explain_what_is_not_implemented(vendor: Path, adaptors: Adaptors) -> None:
    out, _ = adaptors(vendor, "--explain", "Abs")
    assert out.split("\n")[0] == "diopiAbs: not implemented by chip, so that it gets no shim"


def test_explain_as_json(vendor: Path, adaptors: Adaptors) -> None:
    out, err = adaptors(vendor, "--explain", "Softmax", "--format", "json")
    position = {"file": "convert_config.yaml", "column": 5}
    casts = [
        {"source": source, "target": "float32", "from": {"file": "convert_config.yaml", "line": 6, "column": column}}
        for source, column in (("float16", 13), ("bfloat16", 22))
    ]
    assert json.loads(out) == {
        "vendor": "chip",
        "config": "convert_config.yaml",
        "functions": [
            {
                "name": "diopiSoftmax",
                "implemented": True,
                "tensors": [
                    {
                        "name": "out",
                        "direction": "out",
                        "casts": casts,
                        "layouts": [],
                        "layouts_from": {"file": "convert_config.yaml", "line": 7, "column": 19},
                        "other_layouts": [],
                        "other_layouts_from": [],
                        "contiguous": False,
                        "contiguous_from": None,
                    },
                    {
                        "name": "input",
                        "direction": "in",
                        "casts": casts,
                        "layouts": ["NHWC"],
                        "layouts_from": {**position, "line": 7},
                        "other_layouts": ["NCHW"],
                        "other_layouts_from": [{**position, "line": 3}],
                        "contiguous": False,
                        "contiguous_from": None,
                    },
                ],
            }
        ],
        "diagnostics": [],
        "errors": 0,
        "warnings": 0,
        "notes": 0,
    }
    assert err == ""


def test_explain_an_unknown_function(vendor: Path, adaptors: Adaptors) -> None:
    assert adaptors(vendor, "--explain", "Sotfmax", code=2) == (
        "",
        "error[config-explain-name]: there is no function 'Sotfmax'\n  fix: did you mean 'diopiSoftmax'?\n1 error\n",
    )
    out, err = adaptors(vendor, "--explain", "GetVendorName", code=2)
    assert "diopiGetVendorName has no tensors" in err and out == ""


def test_explain_has_no_form_for_ci(vendor: Path, adaptors: Adaptors) -> None:
    _, err = adaptors(vendor, "--explain", "--format", "sarif", code=2)
    assert "--explain is shown as text or json" in err
