"""``numba.cuda.tests.support``: the assertions and helpers of numba-cuda's tests."""

from __future__ import annotations

import cmath
import contextlib
import enum
import importlib
import io
import math
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import numpy as np

from gridlane.cuda.host import settings
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.numpy_support import numpy_version
from gridlane.cuda.numba_compat.test_helpers import TestHelpers

skip_unless_cffi = unittest.skipUnless(find_spec("cffi"), "requires cffi")
linux_only = unittest.skipIf(not sys.platform.startswith("linux"), "linux only test")
windows_only = unittest.skipIf(not sys.platform.startswith("win"), "Windows only test")


IS_NUMPY_2 = numpy_version >= (2, 0)


@contextlib.contextmanager
def override_config(name: str, value: Any) -> Generator[None]:
    """Set one of numba's configuration variables in a with block."""
    old = getattr(settings, name)
    setattr(settings, name, value)
    try:
        yield
    finally:
        setattr(settings, name, old)


@contextlib.contextmanager
def override_env_config(name: str, value: str) -> Generator[None]:
    """Set an environment variable in a with block."""
    old = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if old is None:
            del os.environ[name]
        else:
            os.environ[name] = old


@contextlib.contextmanager
def _captured(name: str) -> Generator[io.StringIO]:
    old, new = getattr(sys, name), io.StringIO()
    setattr(sys, name, new)
    try:
        yield new
    finally:
        setattr(sys, name, old)


def captured_stdout() -> Any:
    """The stdout of a with block, as a StringIO."""
    return _captured("stdout")


def captured_stderr() -> Any:
    """The stderr of a with block, as a StringIO."""
    return _captured("stderr")


@contextlib.contextmanager
def ignore_internal_warnings() -> Generator[None]:
    """Do nothing: gridlane's own code causes no warnings."""
    yield


def temp_directory(prefix: str) -> str:
    """Create a directory."""
    return tempfile.mkdtemp(prefix=prefix)


def import_dynamic(name: str) -> Any:
    """Import a module by name, loaded anew."""
    importlib.invalidate_caches()
    importlib.import_module(name)
    return sys.modules[name]


def run_in_subprocess(
    code: str, flags: Any = (), env: Any = None, timeout: int = 30
) -> tuple[bytes, bytes]:
    """Run Python text in a process where ``import numba`` finds gridlane; return stdout and
    stderr."""
    text = f"from gridlane.cuda import install_as_numba\ninstall_as_numba()\n{code}"
    done = subprocess.run(
        [sys.executable, *flags, "-c", text],
        capture_output=True,
        timeout=timeout,
        env=env,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"process failed with code {done.returncode}:\n{done.stderr.decode()}")
    return done.stdout, done.stderr


class EnableNRTStatsMixin:
    """Nothing: kernels allocate no memory while they run, so that there are no counts of it."""


class MemoryLeakMixin(EnableNRTStatsMixin):
    """Nothing, as kernels allocate no memory that could leak."""

    def disable_leak_check(self) -> None:
        """Do nothing."""


class CheckWarningsMixin:
    """Checks that a block warns."""

    @contextlib.contextmanager
    def check_warnings(
        self, messages: list[str], category: type[Warning] = RuntimeWarning
    ) -> Generator[None]:
        """Require a warning of the category with each of the messages."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        warned = [str(each.message) for each in caught if issubclass(each.category, category)]
        for message in messages:
            if not any(message in text for text in warned):
                raise AssertionError(f"no warning says {message!r}; there were {warned}")


_BITS = {"single": 24, "double": 53}
_FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("bool", (bool, np.bool_)),
    ("enum", (enum.Enum,)),
    ("exact", (int, np.integer)),
    ("approximate", (float, np.floating)),
    ("complex", (complex, np.complexfloating)),
    ("ndarray", (np.ndarray,)),
    ("sequence", (tuple, list)),
    ("time", (np.datetime64, np.timedelta64)),
)


def _family(value: Any) -> str:
    for name, classes in _FAMILIES:
        if isinstance(value, classes):
            return name
    return "other"


class TestCase(TestHelpers):
    """unittest's TestCase with numba's exact comparison."""

    longMessage = True
    __test__ = False

    def reset_module_warnings(self, module: Any) -> None:
        """Forget the warnings that a module has caused, so that they are shown again."""
        there = sys.modules[module] if isinstance(module, str) else module
        vars(there).pop("__warningregistry__", None)

    def assertPreciseEqual(
        self,
        first: Any,
        second: Any,
        prec: str = "exact",
        ulps: int = 1,
        msg: Any = None,
        ignore_sign_on_zero: bool = False,
        abs_tol: Any = None,
    ) -> None:
        """Require equal values of the same kind: arrays with dtype and layout, and the sign of
        zeros.

        Args:
            prec: "exact", or "single" or "double" for floats that differ by ``ulps`` at most.
            abs_tol: a distance below which numbers are equal; "eps" for the type's precision.
        """
        if prec not in ("exact", *_BITS):
            raise ValueError(f"unsupported precision {prec!r}")
        kind, other = _family(first), _family(second)
        self.assertEqual(kind, other, msg or f"{first!r} and {second!r} differ in kind")

        def inner(one: Any, two: Any) -> None:
            self.assertPreciseEqual(one, two, prec, ulps, msg, ignore_sign_on_zero, abs_tol)

        if kind == "ndarray":
            self._same_form(first, second)
            for one, two in zip(first.flat, second.flat):
                inner(one, two)
        elif kind == "sequence":
            self.assertEqual(len(first), len(second), msg)
            for one, two in zip(first, second):
                inner(one, two)
        elif kind == "enum":
            self.assertIs(type(first), type(second))
            inner(first.value, second.value)
        elif kind == "complex":
            inner(first.real, second.real)
            inner(first.imag, second.imag)
        elif kind == "approximate":
            self._same_number(first, second, prec, ulps, msg, ignore_sign_on_zero, abs_tol)
        else:
            self.assertEqual(first, second, msg)

    def _same_form(self, first: np.ndarray, second: np.ndarray) -> None:
        self.assertEqual(first.dtype, second.dtype)
        self.assertEqual(first.shape, second.shape)
        self.assertEqual(first.flags.writeable, second.flags.writeable, "different mutability")
        axes = [n for n, extent in enumerate(first.shape) if extent > 1 and first.size]
        strides = [[array.strides[n] for n in axes] for array in (first, second)]
        self.assertEqual(strides[0], strides[1], "different strides")

    def _same_number(
        self,
        first: Any,
        second: Any,
        prec: str,
        ulps: int,
        msg: Any,
        ignore_sign: bool,
        abs_tol: Any,
    ) -> None:
        if cmath.isnan(first) and cmath.isnan(second):
            return
        if abs_tol is not None:
            near = np.finfo(type(first)).eps if abs_tol == "eps" else abs_tol
            if abs(first - second) < near:
                return
        if prec == "exact" or first == second or math.isinf(first) or math.isinf(second):
            self.assertEqual(first, second, msg)
            if not ignore_sign:
                self.assertEqual(math.copysign(1, first), math.copysign(1, second), msg)
            return
        delta = 2.0 ** (ulps - _BITS[prec] - 1) * (abs(first) + abs(second))
        self.assertAlmostEqual(first, second, delta=delta, msg=msg)


class SerialMixin:
    """Tests that must not run concurrently with others."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.tests.support")
