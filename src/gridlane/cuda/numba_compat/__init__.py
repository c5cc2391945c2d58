"""``import numba`` finds gridlane: the modules that numba.cuda programs import, each real."""

from __future__ import annotations

import sys

from gridlane.cuda.numba_compat.finder import Fallback, NumbaFinder


def install_as_numba() -> None:
    """From now on ``import numba`` and everything below it finds gridlane in this process.

    It does so whether numba is installed or not. Calling it again changes nothing.
    """
    if any(isinstance(finder, NumbaFinder) for finder in sys.meta_path):
        return
    for name in [n for n in sys.modules if n == "numba" or n.startswith("numba.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, NumbaFinder())
    sys.meta_path.append(Fallback())
