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
    "exception-bad-glob": "A known exception names cases by a glob over their ids, such as diopiAdd/float16/*.",
    "exception-matches-nothing": "A known exception is about a case that there is.",
    "exception-dtype": "The dtypes of a known exception are dtypes of the interface.",
    "exception-factor": "A looser tolerance is a number above 1 and at most 10,000.",
    "exception-exact": "A tolerance is loosened only where a result has one: not where it must be exact.",
    "exception-reason": "A known exception says why.",
    "exception-unneeded": "A known exception that the library no longer needs is removed.",
    "bad-shard": "A shard is named as I/N, with I from 1 to N.",
    "report-unreadable": "A file of results is one that `conformance run --json` wrote.",
    "report-case-twice": "Results that are merged have no case in common.",
    "report-mixed": "Results that are merged come from one library, one seed and one number of shards.",
    "report-shard-missing": "Results that are merged are those of all shards.",
    "runtime-missing": "The host runtime lies beside the library under test, or is named.",
    "runtime-incomplete": "The host runtime has all functions that the suite makes tensors with.",
}
