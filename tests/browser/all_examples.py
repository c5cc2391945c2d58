"""Runs every example named on the command line, small; GRIDLANE_DUMP has their kernels printed."""

from __future__ import annotations

import runpy
import sys

from tests.examples.test_examples import ARGUMENTS, EXAMPLES

from gridlane import cuda
from gridlane.launch.devices import get_device

cuda.install_as_numba()
# As for a browser: without what the software device behind wgpu needs, whose long loops end early.
get_device("webgpu").engine.features = frozenset()
sys.path.insert(0, str(EXAMPLES))
for name in sys.argv[1:]:
    path = str(EXAMPLES / f"{name}.py")
    sys.argv = [path, *ARGUMENTS[name]["interp"].split()]
    print(f"// example {name}", file=sys.stderr)
    runpy.run_path(path, run_name="__main__")
