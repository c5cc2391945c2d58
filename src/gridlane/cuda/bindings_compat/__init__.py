"""Make imports of ``cuda.bindings`` find gridlane's driver, runtime and nvrtc, and those of
``cuda.compute`` gridlane's algorithms.

NVIDIA's modules hold its static runtime, or open its libraries; programs that import them get
``gridlane.cuda``'s, which have the same functions and calling convention. Packages that are linked
with NVIDIA's in C (cuda.core) keep these: they run on gridlane's libcuda, by ``gridlane exec``.
"""

from __future__ import annotations

import sys

from gridlane.core import originals
from gridlane.cuda.bindings_compat.finder import ALGORITHMS, MODULES, BindingsFinder


def install_as_bindings() -> None:
    """Make ``cuda.bindings.driver``, ``runtime`` and ``nvrtc``, and the older names ``cuda.cuda``,
    ``cuda.cudart`` and ``cuda.nvrtc``, and ``cuda.compute``, find gridlane in this process.

    This holds whether NVIDIA's packages are installed or not. A second call changes nothing.
    """
    if any(isinstance(finder, BindingsFinder) for finder in sys.meta_path):
        return
    originals.replace({*MODULES, *ALGORITHMS})
    sys.meta_path.insert(0, BindingsFinder())
