"""The grammar of every spec file as tables. `docs/spec.md` explains what is here."""

from __future__ import annotations

from diopigen.spec.grammar_dlinfer import DLINFER_FILE
from diopigen.spec.grammar_environment import ENVIRONMENT_FILE
from diopigen.spec.grammar_formulas import FORMULAS_FILE
from diopigen.spec.grammar_interface import HEADERS_FILE, RUNTIME_FILE, TYPES_FILE
from diopigen.spec.grammar_models import MODEL_FILE
from diopigen.spec.grammar_operators import OPERATORS_FILE
from diopigen.spec.grammar_relax import RELAX_FILE
from diopigen.spec.grammar_torch import ATEN_FILE, TORCH_FILE

FILES = {
    "ops": OPERATORS_FILE,
    "runtime": RUNTIME_FILE,
    "types": TYPES_FILE,
    "headers": HEADERS_FILE,
    "aten": ATEN_FILE,
    "torch": TORCH_FILE,
    "relax": RELAX_FILE,
    "dlinfer": DLINFER_FILE,
    "environment": ENVIRONMENT_FILE,
    "model": MODEL_FILE,
    "formulas": FORMULAS_FILE,
}
"""The file kinds; `specs/schema/<kind>.schema.json` is printed from each."""
