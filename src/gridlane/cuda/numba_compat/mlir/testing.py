"""``numba_cuda_mlir.testing``: the base class and helpers of its tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from textwrap import dedent
from typing import Any, NoReturn

from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.numpy_support import numpy_version as np_version
from gridlane.cuda.numba_compat.support import IS_NUMPY_2
from gridlane.cuda.numba_compat.testing import CUDATestCase

_PATTERNS = "the FileCheck patterns are for the output of NVIDIA's MLIR compiler"


class NumbaCUDATestCase(CUDATestCase):
    """A test that uses the device."""

    __test__ = False


def captured_output(capfd: Any) -> str:
    """What was written to both streams, by pytest's fixture of file descriptors."""
    captured = capfd.readouterr()
    return captured.out + captured.err


def run_in_subprocess(code: str, timeout: int = 60) -> tuple[str, str]:
    """Run Python text as a program under ``gridlane run``; return stdout and stderr.

    Raises:
        AssertionError: the program failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(dedent(code), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "gridlane", "run", str(program)],
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    if done.returncode:
        raise AssertionError(
            f"process failed with code {done.returncode}:\n"
            f"stdout:\n{done.stdout}\n\nstderr:\n{done.stderr}"
        )
    return done.stdout, done.stderr


def filecheck(*args: Any, **kwargs: Any) -> NoReturn:
    """Skip the test: its patterns are for the output of NVIDIA's compiler."""
    raise unittest.SkipTest(_PATTERNS)


def filecheck_with_comments(*args: Any, **kwargs: Any) -> NoReturn:
    """Skip the test, as ``filecheck``."""
    raise unittest.SkipTest(_PATTERNS)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba_cuda_mlir.testing")


__all__ = [
    "IS_NUMPY_2",
    "NumbaCUDATestCase",
    "captured_output",
    "filecheck",
    "filecheck_with_comments",
    "np_version",
    "run_in_subprocess",
]
