"""Helpers of numba-cuda's TestCase: tests in a process of their own, classes with types."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from typing import Any

from gridlane.core.type_kinds import Opaque
from gridlane.cuda.extending.models import OpaqueModel, register_model
from gridlane.cuda.kernels.user_types import typeof_impl

_RUN = """
import sys, unittest
from gridlane.cuda import install_as_numba
install_as_numba()
unittest.main(module=None, argv=["unittest", "-v", *sys.argv[1:]])
"""
_VARIABLE = "SUBPROC_TEST"


class TestHelpers(unittest.TestCase):
    """Methods that tests inherit."""

    __test__ = False  # tools that collect TestCase subclasses by name leave numba's alone

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__test__" not in vars(cls):
            cls.__test__ = True  # a program's test, which inherits False

    @staticmethod
    def run_test_in_subprocess(
        test: Any = None, timeout: int = 60, envvars: dict[str, str] | None = None
    ) -> Any:
        """Decorate a test that runs in a process of its own."""

        def decorate(function: Callable[[Any], None]) -> Callable[[Any], None]:
            @functools.wraps(function)
            def run(self: Any) -> None:
                if os.environ.get(_VARIABLE) == function.__name__:
                    function(self)
                    return
                cls, name = type(self).__name__, function.__name__
                self.subprocess_test_runner(
                    self.__module__, cls, name, envvars, timeout, _subproc_test_env=name
                )

            return run

        return decorate if test is None else decorate(test)

    def subprocess_test_runner(
        self,
        test_module: str,
        test_class: str | None = None,
        test_name: str | None = None,
        envvars: dict[str, str] | None = None,
        timeout: int = 60,
        flags: dict[str, str] | None = None,
        _subproc_test_env: str = "1",
    ) -> Any:
        """Run a module, a class or a test in another process, and require that it passes."""
        name = ".".join(part for part in (test_module, test_class, test_name) if part)
        extra = [word for pair in (flags or {}).items() for word in pair]
        done = subprocess.run(
            [sys.executable, *extra, "-c", _RUN, name],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, _VARIABLE: _subproc_test_env, **(envvars or {})},
            check=False,
        )
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return done

    def make_dummy_type(self) -> tuple[type, type]:
        """A class, and the class of its type in kernels, which has no data."""
        dummy_type: Any = type(f"DummyTypeFor{self.id()}", (Opaque,), {})
        register_model(dummy_type)(OpaqueModel)

        class Dummy:
            pass

        typeof_impl.register(Dummy)(lambda value, context: dummy_type("my_dummy"))
        return Dummy, dummy_type
