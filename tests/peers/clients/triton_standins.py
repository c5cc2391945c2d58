"""A plugin of pytest that puts gridlane.tiles in Triton's place for Triton's own tests.

TRITON names the checkout, whose helpers of tests are taken from there. With TRITON_INTERPRET=1 the
tests run in the interpreter of the installed Triton, for comparison.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from gridlane.tiles import install_as_triton

_OWN = ("triton._internal_testing", "triton.tools.mxfp", "triton.tools.ragged_tma")
_CHECKOUT = Path(os.environ["TRITON"])


class _Helpers:
    """Finds the modules of Triton's that only its tests use."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _OWN:
            return None
        file = _CHECKOUT / "python" / Path(*fullname.split("."))
        return importlib.util.spec_from_file_location(fullname, file.with_suffix(".py"))


if os.environ.get("TRITON_INTERPRET") != "1":
    install_as_triton(children=True)
sys.meta_path.insert(0, _Helpers())
sys.path.insert(0, str(_CHECKOUT / "python/test/unit/language"))
