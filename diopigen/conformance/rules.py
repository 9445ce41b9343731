"""The ids of all findings about a run of the suite, with what each one stands for."""

from __future__ import annotations

RULES = {
    "unknown-case-function": "A function that is named is one that the suite tests.",
    "unknown-case-family": "A family that is named has functions that the suite tests.",
    "unknown-case-dtype": "A dtype that is named is one that the suite runs functions with.",
    "unknown-case-axis": "An axis that is named is one that cases have.",
    "unknown-case": "A case that is named is one that follows from the spec.",
    "library-missing": "The library under test and the host runtime are there.",
    "library-unloadable": "The library under test and the host runtime can be loaded.",
    "library-init": "The library under test loads and initialises without ending its process.",
    "runtime-incomplete": "The host runtime has all functions that the suite makes tensors with.",
}
