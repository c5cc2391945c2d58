"""A plugin of pytest for the tests of numba-cuda-mlir: it finds what reaches into its compiler.

Modules of the compiler are placeholders here, so that a test module that imports one runs. A use of
a placeholder, of the text of compiled code, or of a refused name of the compiler is written beside
the outcome of the test.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from gridlane.cuda.host import compilation
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.numba_compat import finder, internals
from gridlane.cuda.numba_compat.modules import MODULES
from gridlane.cuda.numba_compat.testing import CUDATestCase

PHRASE = "gridlane has a compiler of its own"
"""What every refusal of a part of the compiler says."""
_COMPILING = "compile", "compile_all", "compile_for_current_device", "compile_ptx"
_INSPECTING = {
    Dispatcher: ("inspect_asm", "inspect_llvm", "inspect_ptx", "inspect_sass", "inspect_types"),
    CUDATestCase: ("assertFileCheckAsm", "assertFileCheckLLVM", "assertFileCheckMatches"),
}
_reached: list[str] = []
"""What the running test reached; at the import of a module, what that did."""


class Reaches(Exception):
    """A use of a placeholder."""


class Placeholder:
    """A name of the compiler, which raises where it is used."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        _reached.append(f"uses {self.__dict__['_name']}")
        raise Reaches(f"{self.__dict__['_name']}: {PHRASE}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.__dict__['_name']}.{name}")

    def __repr__(self) -> str:
        return f"<{self.__dict__['_name']}: {PHRASE}>"

    __call__ = __getitem__ = __iter__ = __enter__ = __mro_entries__ = __setattr__ = _refuse
    __or__ = __eq__ = __len__ = __contains__ = _refuse  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__


class _Module(ModuleType):
    """A module of placeholders."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")


class _Loader:
    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Create the module of placeholders."""
        return _Module(self.name)

    def exec_module(self, module: ModuleType) -> None:
        """A name that a module lacks is a placeholder, not a module."""
        parent, _, last = self.name.rpartition(".")
        if parent in MODULES and last not in internals.INTERNALS:
            assert module.__spec__ is not None
            placeholder = Placeholder(self.name)
            # Its own modules are found as well.
            placeholder.__dict__.update(__path__=[], __spec__=module.__spec__)
            sys.modules[module.__spec__.name] = placeholder  # type: ignore[assignment]
        else:
            module.__name__ = self.name


class PartsFinder:
    """Finds every module of the compiler; precedes all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of placeholders for a part of the compiler."""
        name = finder.true_name(fullname)
        if name in MODULES or internals.reaches_into_compiler(name) is None:
            return None
        return ModuleSpec(fullname, _Loader(name), is_package=True)  # type: ignore[arg-type]


def pytest_addoption(parser: Any) -> None:
    """Add the file of outcomes."""
    parser.addoption("--outcomes", type=Path, required=True)


def pytest_configure(config: Any) -> None:
    """Watch the functions that show compiled code."""
    sys.meta_path.insert(0, PartsFinder())  # type: ignore[arg-type]
    for owner, names in _INSPECTING.items():
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, _watched(getattr(owner, name), name))
    for name in _COMPILING:
        setattr(compilation, name, _watched_text(getattr(compilation, name)))
    config.pluginmanager.register(Writer(config.getoption("--outcomes")))


def _watched(function: Any, name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        _reached.append(f"matches compiled code, by {name}")
        return function(*args, **kwargs)

    return call


class CodeText(str):
    """Compiled code, whose reader is noted."""

    def _noted(name: str) -> Any:  # pyright: ignore  # makes methods
        def call(self: CodeText, *args: Any) -> Any:
            _reached.append("matches compiled code, by compile")
            return getattr(str, name)(self, *args)

        return call

    __contains__, count, find, index = map(_noted, ("__contains__", "count", "find", "index"))
    split, splitlines, startswith = map(_noted, ("split", "splitlines", "startswith"))


def _watched_text(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        text, *rest = function(*args, **kwargs)
        made = CodeText(text) if isinstance(text, str) else text
        return (made, *rest)

    return call


class Writer:
    """Writes a line of JSON for every test that is collected, and for every outcome."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _write(self, **line: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def pytest_collectstart(self) -> None:
        """Forget what other modules reached."""
        _reached.clear()

    def pytest_collectreport(self, report: Any) -> None:
        """Write a module that cannot be imported."""
        if report.failed:
            self._write(test=report.nodeid, outcome="import", **_why(str(report.longrepr)))
        elif report.skipped:
            self._write(test=report.nodeid, outcome="skipped module", why=_skip(report.longrepr))

    def pytest_collection_finish(self, session: Any) -> None:
        """Write the tests that will run."""
        for item in session.items:
            self._write(test=item.nodeid, outcome="collected")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Forget what was reached before."""
        _reached.clear()
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Write the outcome of a test: of its call, or of a set-up that fails or skips."""
        if report.when != "call" and report.passed:
            return
        if report.when == "teardown":
            return
        expected = hasattr(report, "wasxfail")
        outcome = f"expected {report.outcome}" if expected else report.outcome
        found: dict[str, Any] = {"reached": list(_reached)}
        if report.failed:
            found = _why(str(report.longrepr))
        if report.skipped and not expected:
            found["why"] = _skip(report.longrepr)
        self._write(test=report.nodeid, outcome=outcome, **found)


def _why(text: str) -> dict[str, Any]:
    reached = list(_reached)
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    if not reached and PHRASE in text:
        reached.append(next((line for line in lines if PHRASE in line), PHRASE))
    return {"reached": reached, "why": lines or text.splitlines()[-3:]}


def _skip(longrepr: Any) -> str:
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return str(text).removeprefix("Skipped: ")
