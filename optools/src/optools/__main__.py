"""`python -m optools`."""

from __future__ import annotations

import sys

from optools.cli import main

sys.exit(main())
