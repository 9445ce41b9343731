"""Generates tokens with a small decoder through the serving functions of a kernel library.

python examples/serving/generate.py --lib libdiopi_impl.so [--runtime libdiopirt.so] [--sample] [--compare]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from model import GREEDY, SAMPLED, Request, random_weights
from server import Server

from diopigen.calling import Library

SEED = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", required=True, metavar="PATH", help="the kernel library, or a dispatch library")
    parser.add_argument("--runtime", metavar="PATH", help="libdiopirt.so (default: searched for near the library)")
    parser.add_argument("--sample", action="store_true", help="draw tokens at random")
    parser.add_argument("--compare", action="store_true", help="compare with plain PyTorch; needs torch")
    options = parser.parse_args()
    if options.sample and options.compare:
        parser.error("--compare needs the likeliest tokens: leave out --sample")
    weights, request = random_weights(SEED), SAMPLED if options.sample else GREEDY
    server = Server(Library(options.lib, options.runtime), weights, request)
    texts = server.generate()
    _show(request, texts)
    print(f"{len(server.called)} functions of the interface called")
    if not options.compare:
        return 0
    from plain import generate

    expected = generate(weights, request)
    print("plain PyTorch gives the same tokens" if expected == texts else f"plain PyTorch gives {expected}")
    return 0 if expected == texts else 1


def _show(request: Request, texts: list[list[int]]) -> None:
    for prompt, text in zip(request.prompts, texts, strict=True):
        print(f"{' '.join(map(str, prompt))} -> {' '.join(map(str, text[len(prompt) :]))}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
