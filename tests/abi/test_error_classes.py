"""Errors as those of other libraries, which programs catch."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent


def test_errors_are_those_of_another_library():
    """In a process of its own: a base stays."""
    text = """
        from gridlane.core import errors
        class CUDAError(Exception): ...
        errors.raise_as(CUDAError)
        errors.raise_as(CUDAError)
        try:
            raise errors.LaunchError("CUDA_ERROR_INVALID_VALUE")
        except CUDAError as error:
            assert isinstance(error, ValueError)
            print(errors.GridlaneError.__bases__.count(CUDAError))
    """
    made = subprocess.run(
        [sys.executable, "-c", dedent(text)], capture_output=True, text=True, check=True
    )
    assert made.stdout == "1\n"
