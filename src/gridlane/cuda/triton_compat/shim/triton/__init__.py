"""``triton`` in the child processes of a program that gridlane runs.

The parent folder is on their PYTHONPATH; the import system returns the module in sys.modules
afterwards.
"""

import sys

from gridlane.cuda.triton_compat import install_as_triton

install_as_triton()
sys.modules.pop("triton", None)
import triton  # noqa: E402, F401  # pyright: ignore  # now gridlane's, by the finder
