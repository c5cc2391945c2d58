"""Make ``import numba`` find gridlane: real modules for the imports of numba.cuda programs."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from gridlane.core import child_paths
from gridlane.cuda.host import settings
from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.kernels.sources import watch_exec
from gridlane.cuda.numba_compat import installed
from gridlane.cuda.numba_compat.finder import Fallback, NumbaFinder
from gridlane.cuda.numba_compat.installed import SHIM
from gridlane.cuda.numba_compat.modules import ROOTS

HAS_NUMBA: bool
"""Whether ``import numba`` finds numba's names, of which ``njit`` is one: gridlane's, after
``install_as_numba``."""
_SOURCES = Path(__file__).parents[3]


def install_as_numba(children: bool = False) -> None:
    """Make ``import numba``, ``import numba_cuda_mlir`` and everything below them find gridlane.

    This holds in this process, whether the packages are installed or not. A second call changes
    nothing.

    Args:
        children: whether child processes in Python find gridlane as well, by their PYTHONPATH.
    """
    if children:
        child_paths.put_first(SHIM, str(_SOURCES))
        if SHIM not in sys.path:  # which processes that multiprocessing spawns inherit
            sys.path.insert(1, SHIM)
    if any(isinstance(finder, NumbaFinder) for finder in sys.meta_path):
        return
    installed.replace()
    for name in [n for n in sys.modules if n.partition(".")[0] in ROOTS]:
        del sys.modules[name]
    vars(sys.modules["gridlane.cuda"]).pop("HAS_NUMBA", None)  # if it was read before
    _read_settings()
    watch_exec()
    sys.meta_path.insert(0, NumbaFinder())
    sys.meta_path.append(Fallback())


def _read_settings() -> None:
    """Take numba's variables of the environment, and warn of those that have no effect here."""
    ignored = settings.read_environment()
    if ignored:
        warnings.warn(
            f"{', '.join(ignored)}: numba reads these variables, and they have no effect here; "
            "gridlane's own are in docs/environment.md",
            NumbaWarning,
            stacklevel=3,
        )


def __getattr__(name: str) -> bool:
    if name == "HAS_NUMBA":
        return any(isinstance(finder, NumbaFinder) for finder in sys.meta_path)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
