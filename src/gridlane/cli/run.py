"""``gridlane run``: a program written for numba.cuda, run as Python runs it.

No typer and no rich here: every program that is run pays for these imports.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any

from gridlane.cli import replacing
from gridlane.cli.failure import fail, likely, one_of, seconds
from gridlane.core.frozen import frozen
from gridlane.core.options import FLOATS

OPTIONS = (
    "--device", "--floats", "--timeout", "--trace", "--check", "--profile", "--trace-file",
    "--html", "--help", "-m", "-h",
)  # fmt: skip
USAGE = (
    "gridlane run [--device D] [--floats F] [--timeout S] [--trace] [--check] [--profile] "
    "[--trace-file F] "
    "[--html F] SCRIPT args... | -m MODULE args..."
)


@frozen
class Request:
    """The program to run: a file or, with ``is_module``, a module, and its arguments.

    Attributes:
        timeout: the seconds that a launch may take, as GRIDLANE_TIMEOUT.
        profile: whether to print a profile at the end.
        trace_file, html: files of the profile.
    """

    program: str
    arguments: tuple[str, ...]
    is_module: bool = False
    device: str | None = None
    trace: bool = False
    check: bool = False
    floats: str | None = None
    timeout: str | None = None
    profile: bool = False
    trace_file: str | None = None
    html: str | None = None


def parse(arguments: list[str]) -> Request | None:
    """Parse the command line up to the program; the rest is the program's. None: help is
    requested."""
    settings: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name = word.partition("=")[0]
        if word in ("-h", "--help"):
            return None
        if word in ("--trace", "--check", "--profile"):
            settings[word[2:]] = True
        elif name in ("--device", "--trace-file", "--html"):
            settings[name[2:].replace("-", "_")] = _value(word, rest)
        elif name == "--floats":
            settings["floats"] = one_of("type of Python's floats", _value(word, rest), FLOATS)
        elif name == "--timeout":
            settings["timeout"] = seconds("run", _value(word, rest))
        elif word.startswith("-m"):
            module = word[2:] or (rest.pop(0) if rest else "")
            if not module:
                fail("run: -m needs the name of a module")
            return Request(module, tuple(rest), True, **settings)
        elif word == "--" and rest:
            return Request(rest[0], tuple(rest[1:]), **settings)
        elif word.startswith("-"):
            fail(
                f"run: there is no option {word!r}{likely(word, OPTIONS)}; the program's own "
                "options come after the program"
            )
        else:
            return Request(word, tuple(rest), **settings)
    fail(f"run: which program? {USAGE}")


def _value(word: str, rest: list[str]) -> str:
    """The value of an option, after its = or in the next word."""
    name, equals, value = word.partition("=")
    if not equals:
        if not rest:
            fail(f"run: {name} needs a value")
        value = rest.pop(0)
    return value


def run(request: Request, begin: Callable[[], None] | None = None) -> None:
    """Run the program as this process's main module. Its exceptions propagate as its own.

    Args:
        begin: called when the settings hold, before the program.
    """
    # Before anything reads the configuration, and for the program's child processes as well.
    if request.floats is not None:
        os.environ["GRIDLANE_FLOATS"] = request.floats
    if request.timeout is not None:
        os.environ["GRIDLANE_TIMEOUT"] = request.timeout
    if request.trace:
        os.environ["GRIDLANE_TRACE"] = "1"
    if request.check:
        os.environ["GRIDLANE_CHECK"] = "1"
    replacing.choose(request.device)
    replacing.replace()
    if begin is not None:
        begin()
    try:
        code, main = (_module if request.is_module else _script)(request)
        sys.modules["__main__"] = main
        with _profiled(request):
            exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        from gridlane.cli.tracebacks import print_as_the_programs

        print_as_the_programs(error)
        raise


@contextmanager
def _profiled(request: Request) -> Generator[None]:
    """Profile a program that wants it, up to the end of its main module."""
    if not (request.profile or request.trace_file or request.html):
        yield
        return
    from gridlane.cuda.host.profiling import profiling

    with profiling(trace_file=request.trace_file, html=request.html) as profile:
        yield
    if profile.is_empty:
        print("gridlane profile: no kernel was launched", file=sys.stderr)


# --- the program ---


def _script(request: Request) -> tuple[CodeType, ModuleType]:
    """The code of a file, or of a folder's or zip file's __main__."""
    path = request.program
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        return _folder(request)
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        fail(f"run: cannot read {path!r}: {error.strerror}")
    _start(path, request.arguments, os.path.dirname(os.path.realpath(path)))
    main = ModuleType("__main__")
    # As Python's own main module: no spec, and a loader that finds the source.
    from importlib.machinery import SourceFileLoader

    main.__file__ = os.path.abspath(path)
    main.__dict__.update(
        __builtins__=sys.modules["builtins"],
        __loader__=SourceFileLoader("__main__", main.__file__),
        __cached__=None,
    )
    return compile(source, main.__file__, "exec", dont_inherit=True), main


def _folder(request: Request) -> tuple[CodeType, ModuleType]:
    path = request.program
    if not os.path.exists(path):
        fail(f"run: cannot read {path!r}: No such file or directory")
    _start(path, request.arguments, os.path.abspath(path))
    # Otherwise the search for __main__ finds the one that is running.
    ours = sys.modules.pop("__main__")
    try:
        return _located("__main__", f"run: there is no __main__.py in {path!r}")
    finally:
        sys.modules["__main__"] = ours


def _module(request: Request) -> tuple[CodeType, ModuleType]:
    """The code of a module, or of a package's __main__; importing its parents runs these."""
    name = request.program
    _start("-m", request.arguments, os.getcwd())
    code, main = _located(name, f"run: there is no module {name!r} to run")
    sys.argv[0] = main.__file__ or name
    return code, main


def _located(name: str, message: str) -> tuple[CodeType, ModuleType]:
    import runpy

    class Absent(ImportError):
        """There is no such module; a failing import raises another error."""

    try:
        # python -m, pdb and trace call this as well; run_module would remove the main module again
        # at the end, while threads and exit functions still use it.
        _, spec, code = runpy._get_module_details(name, Absent)  # type: ignore[attr-defined]
    except Absent as error:
        fail(f"{message}: {error}")
    main = ModuleType("__main__")
    values: dict[str, Any] = {
        "__builtins__": sys.modules["builtins"],
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }
    main.__dict__.update(values)
    return code, main


def _start(program: str, arguments: tuple[str, ...], folder: str) -> None:
    """Set sys.argv and the first entry of sys.path as Python does."""
    sys.argv = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = folder  # was the folder of the command itself
