"""Writes the table of docs/pytorch.md and its translations: what of `torch.cuda` the device's module has.

Needs torch and the backend for droplet (`make build PRESET=torch`). `--check` writes nothing and fails on a difference.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/pytorch.md", "docs/pytorch.zh-CN.md")
_BEGIN, _END = "<!-- parity: written by tools/device_module_parity.py -->\n", "<!-- end of parity -->\n"


def table() -> str:
    """Both lists as Markdown, names in the order of the alphabet."""
    import torch
    from diopi_torch.missing import names_by_reason

    module = torch.get_device_module("droplet")
    public = sorted(torch.cuda.__all__)
    present = [name for name in public if hasattr(module, name)]
    lines = [
        f"{len(present)} names: " + ", ".join(f"`{name}`" for name in present),
        "",
        "| no counterpart | why |",
        "| --- | --- |",
        *(f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" for reason, names in names_by_reason().items()),
    ]
    return "\n".join(lines) + "\n"


def with_table(page: str, content: str) -> str:
    """The page with the part between its two marks replaced. Raises `ValueError` where it lacks them."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page lacks the marks {_BEGIN.strip()} and {_END.strip()}")
    return before + begin + content + end + after


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page differs")
    options = parser.parse_args()
    content, differs = table(), False
    for name in PAGES:
        path = ROOT / name
        page = path.read_text(encoding="utf-8")
        expected = with_table(page, content)
        differs |= page != expected
        if not options.check:
            path.write_text(expected, encoding="utf-8")
    if options.check and differs:
        print("docs: a table is out of date: run tools/device_module_parity.py", file=sys.stderr)
    return int(options.check and differs)


if __name__ == "__main__":
    sys.exit(main())
