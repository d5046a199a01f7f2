"""The folder above, on whose modules the figures stand; imported first, so that they are found."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
