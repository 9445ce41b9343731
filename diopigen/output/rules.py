"""The ids of all findings about the output tree, with what each one stands for."""

from __future__ import annotations

from diopigen.emit.plan import PLAN_RULES

OUTPUT_RULES = PLAN_RULES | {
    "generated-file-stale": "a generated file holds what the specs and templates give now",
    "generated-file-missing": "every generated file is there",
    "generated-file-orphan": "a file that is no longer generated is removed",
    "generated-file-edited": "a generated file is not edited by hand",
    "orphan-edited": "a file that is no longer generated is kept where it was edited",
    "file-not-generated": "a file that diopigen did not write is not overwritten",
    "manifest-damaged": "MANIFEST.json and the journal of the output root can be read",
    "manifest-foreign": "MANIFEST.json in the output root belongs to diopigen",
    "manifest-format": "MANIFEST.json has the format that this diopigen writes",
    "output-unfinished": "the last run on the output root came to its end",
    "output-locked": "one run at a time writes an output root",
    "output-unwritable": "every planned file can be written as a plain file below the output root",
    "output-unreadable": "every file below the output root that a plan names can be read",
    "depfile-name": "a dependency file holds only names that Make and Ninja read alike",
    "output-no-space": "the output root has room for what is generated",
}
