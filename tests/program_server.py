"""A process that has imported what programs import, and forks one for each program.

It reads requests, a JSON object a line, and answers each with the status that the program ended
with. A forked program runs as ``python`` runs one, to the end of the interpreter.
``tests/programs.py`` starts it.
"""

from __future__ import annotations

import gc
import io
import json
import os
import re
import runpy
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

AHEAD = (
    *("numpy", "ml_dtypes", "llvmlite.binding", "typer", "rich.console", "platformdirs"),
    *("gridlane.cli.app", "gridlane.cli.run", "gridlane.cuda", "gridlane.compiler.generation"),
    *("gridlane.interp", "gridlane.compiler.cpu", "gridlane.compiler.clike"),
    *("gridlane.frontends.python.translation", "gridlane.compiler.pipeline"),
    *("gridlane.compiler.vulkan", "gridlane.runtime.drivers.cpu", "vulkan", "wgpu", "moderngl"),
)
"""Modules that most programs import; those that this machine lacks are left out."""


class Ended(BaseException):
    """A program took too long."""


def import_ahead() -> None:
    """Import what programs need. No device is opened, and no setting is read."""
    for name in AHEAD:
        if find_spec(name.partition(".")[0]) is not None:
            import_module(name)
    if "wgpu" in sys.modules:
        parse_ahead()
    from gridlane.core.config import config

    assert config.cache_info().currsize == 0, "a module reads the environment as it is imported"
    gc.collect()
    gc.freeze()


def parse_ahead() -> None:
    """Parse the C types that wgpu names; cffi needs a second for them in each process."""
    package = import_module("wgpu.backends.wgpu_native._api")
    text = Path(package.__file__ or "").read_text()
    makers = r"\b(new_struct|new_struct_p|new_array|new)\(\s*\"(.+?)\""
    for maker, type_ in re.findall(makers, text):
        package.ffi.typeof(f"{type_} *" if maker == "new_struct" else type_)


def waited(child: int, seconds: float) -> int:
    """The status of a program, as subprocess has it; it is killed when its time is over."""

    def end(number: int, frame: Any) -> None:
        raise Ended

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        _, status = os.waitpid(child, 0)
    except Ended:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return -signal.SIGALRM
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return os.waitstatus_to_exitcode(status)


def become(request: dict[str, Any]) -> None:
    """Make this process the one that the request describes."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    opened = [os.open(request["stdin"], os.O_RDONLY)]
    opened += [os.open(request[name], flags, 0o600) for name in ("stdout", "stderr")]
    for number, file in enumerate(opened):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    if encoding:
        for stream in (sys.stdout, sys.stderr):
            assert isinstance(stream, io.TextIOWrapper)
            stream.reconfigure(encoding=encoding, errors=errors or None)
    sys.path[:] = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *sys.path]


def asked() -> dict[str, Any] | None:
    """In each forked process the request that it is for; in this one None, at the end."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            become(request)
            return request
        print(waited(child, request["seconds"]), flush=True)
    return None


def perform(words: list[str]) -> None:
    """What ``python`` does with these words."""
    sys.orig_argv = [sys.executable, *words]
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path.insert(0, "")
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), vars(main))
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file, which programs do not see
    import_ahead()
    print("ready", flush=True)
    program = asked()
    if program is not None:
        perform(program["words"])
