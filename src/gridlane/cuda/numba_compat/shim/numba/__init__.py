"""``numba`` in the child processes of a program that gridlane runs.

The parent folder is on their PYTHONPATH; the import system returns the module in sys.modules
afterwards.
"""

import sys

from gridlane.cuda import install_as_numba

install_as_numba()
sys.modules.pop("numba", None)
import numba  # noqa: E402, F401  # pyright: ignore  # now gridlane's, by the finder
