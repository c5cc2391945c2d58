"""``cuda`` in the child processes of a program that gridlane runs.

The import system returns the module in sys.modules afterwards: NVIDIA's, if it is installed.
"""

import sys

from gridlane.cuda.bindings_compat import install_as_bindings

install_as_bindings()
sys.modules.pop("cuda", None)
import cuda  # noqa: E402, F401  # pyright: ignore  # by the finder, which leaves this folder out
