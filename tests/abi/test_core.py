"""NVIDIA's cuda.core on libcuda.so.1."""

import os
import subprocess
import sys

import pytest
from tests.abi.test_library import library  # noqa: F401  # the fixture


def test_calls_after_the_end_of_python(library):  # noqa: F811
    """cuda.core's destructors release contexts when Python has ended."""
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    found = subprocess.run(
        [sys.executable, "-c", "from cuda.core import Device; Device().set_current()"],
        env=os.environ | {"LD_LIBRARY_PATH": str(library)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert found.returncode == 0, (found.returncode, found.stderr)
