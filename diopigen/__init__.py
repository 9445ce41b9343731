"""diopigen: one operator spec, and everything that DIOPI needs generated from it.

The package is layered; imports run one way, downwards in this list::

    cli -> api -> {diagnostics, render} -> spec -> ir -> header -> config -> check -> emit -> output -> conformance

`docs/architecture.md` says what each room is for.
"""

__version__ = "0.2.0"
