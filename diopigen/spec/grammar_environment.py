"""The grammar of the file about variables of the environment."""

from __future__ import annotations

from diopigen.spec.grammar_words import FLAG, TEXT
from diopigen.spec.schema import Field, IntegerShape, ListShape, MapShape, RecordShape, TextShape

KINDS = {
    "flag": ("`0` or `1`", "`0` 或 `1`"),
    "choice": ("one of the values", "取值之一"),
    "list": ("values, separated by commas", "以逗号分隔的取值"),
    "number": ("a number", "数"),
    "bytes": ("bytes, with `K`, `M` or `G`", "字节数，可带 `K`、`M` 或 `G`"),
    "expression": ("a regular expression", "正则表达式"),
    "expressions": ("regular expressions, separated by commas", "以逗号分隔的正则表达式"),
    "names": ("names, separated by commas", "以逗号分隔的名称"),
    "file": ("a file", "文件"),
    "folder": ("a folder", "目录"),
    "command": ("a command", "命令"),
    "text": ("a text", "文本"),
}
"""Kinds of values, in English and Chinese."""

_VARIABLE = RecordShape(
    "a variable",
    {
        "kind": Field(TextShape(choices=tuple(KINDS)), "the kind of its values", required=True),
        "values": Field(ListShape(TEXT, non_empty=True), "the values of a choice or of a list"),
        "range": Field(ListShape(IntegerShape(0), non_empty=True), "the smallest and the largest number"),
        "default": Field(TEXT, "the value where it is not set"),
        "aliases": Field(ListShape(TEXT, non_empty=True), "other names that set it"),
        "written": Field(FLAG, "whether it names a file or folder that a library writes"),
        "does": Field(TEXT, "its effect", required=True),
        "does_zh": Field(TEXT, "the same in Chinese", required=True),
    },
)
ENVIRONMENT_FILE = RecordShape(
    "variables of the environment",
    {
        "parts": Field(
            ListShape(
                RecordShape(
                    "variables of one component",
                    {
                        "title": Field(TEXT, "the component", required=True),
                        "title_zh": Field(TEXT, "the same in Chinese", required=True),
                        "variables": Field(MapShape(_VARIABLE, r"[A-Z][A-Z0-9_<>]*"), "by name", required=True),
                    },
                )
            ),
            "components in the order of the page",
            required=True,
        )
    },
)
