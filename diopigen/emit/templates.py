"""Jinja2 as every emitter uses it: strict, whitespace under control; without autoescape but for pages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from diopigen.diagnostics import Span, failure
from diopigen.emit.escaping import comment_text

BANNER_COMMAND = "diopigen generate"

RULES = {
    "template-missing": "Every template that a target needs is in the folder of templates.",
    "template-fault": "A template can be read and rendered.",
}


@cache
def _environment(folder: Path, autoescape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
        newline_sequence="\n",
    )
    environment.filters["comment"] = comment_text
    return environment


def render(folder: Path, name: str, values: Mapping[str, Any], *, autoescape: bool = False) -> bytes:
    """The template `name` of `folder`, rendered to UTF-8. A fault in it raises `Failure` with file and line.

    With `autoescape` values are text, and only what is `markupsafe.Markup` is HTML."""
    try:
        return _environment(folder, autoescape).get_template(name).render(values).encode("utf-8")
    except jinja2.TemplateNotFound as error:
        if not folder.is_dir():
            message = f"'{folder}' is no folder of templates"
            raise failure(
                "template-missing", message, Span(str(folder)), "name one, or leave --templates out"
            ) from None
        message = f"template {error.name} does not exist"
        raise failure("template-missing", message, Span(f"templates/{name}"), "restore it from the package") from None
    except jinja2.TemplateSyntaxError as error:
        span = Span(f"templates/{error.name or name}", error.lineno)
        raise failure("template-fault", error.message or "syntax error", span, "correct the template") from None
    except jinja2.UndefinedError as error:
        span = Span(f"templates/{name}")
        raise failure("template-fault", error.message or "undefined value", span, "correct the template") from None
