"""``numba_cuda_mlir.testing``: the base class and helpers of its tests."""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from textwrap import dedent
from typing import Any

from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.numpy_support import numpy_version as np_version
from gridlane.cuda.numba_compat.support import IS_NUMPY_2
from gridlane.cuda.numba_compat.testing import CUDATestCase


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


def filecheck(checks: str, actual: Any) -> None:
    """Require that a text has the lines that FileCheck's patterns describe.

    Raises:
        ValueError: it has not.
        SkipTest: the package filecheck is not installed.
    """
    if isinstance(actual, bytes):
        actual = actual.decode()
    _match(dedent(checks), str(actual))


def filecheck_with_comments(module: Any) -> None:
    """As ``filecheck``, with the patterns in the comments of the function that calls this."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    code = frame.f_back.f_code
    lines = [line for line in str(module).strip().splitlines() if line]
    _, first = inspect.findsource(code)
    _match("\n" * first + inspect.getsource(code), dedent("\n".join(lines)))


def _match(checks: str, text: str) -> None:
    try:
        from filecheck.finput import FInput
        from filecheck.matcher import Matcher
        from filecheck.options import Options
        from filecheck.parser import Parser, pattern_for_opts
    except ImportError:
        raise unittest.SkipTest("requires the package filecheck") from None
    options = Options(match_filename="-", check_prefixes=["CHECK"])
    patterns = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    matcher = Matcher(options, FInput(fname="-", content=text), patterns)
    matcher.stderr = io.StringIO()
    if matcher.run() != 0:
        raise ValueError(f"\n{matcher.stderr.getvalue()}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba_cuda_mlir.testing")


__all__ = [
    "IS_NUMPY_2", "NumbaCUDATestCase", "captured_output", "filecheck", "filecheck_with_comments",
    "np_version", "run_in_subprocess",
]  # fmt: skip
