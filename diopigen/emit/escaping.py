"""Text of people in generated code: it can end no comment and no string of the language that it is put into."""

from __future__ import annotations

import json
import re

_LINE_END = re.compile(r"\\(?=\s|\Z)")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def comment_text(text: str) -> str:
    """Text for a comment of C or C++, of either kind.

    What would end a comment, begin one within it, or continue the line below, also as a trigraph, is set apart by a
    space or a dot.
    """
    flat = text.replace("??/", "?? /")
    while "*/" in flat or "/*" in flat:
        flat = flat.replace("*/", "* /").replace("/*", "/ *")
    return _LINE_END.sub(r"\\.", flat)


def c_string(text: str) -> str:
    """A string literal of C and C++."""
    body = "".join(_ESCAPES.get(c, c if c >= " " else f"\\{ord(c):03o}") for c in text).replace("??", "?\\?")
    return f'"{body}"'


def python_string(text: str) -> str:
    """A string literal of Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)
