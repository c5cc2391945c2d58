"""Kernels whose functions have no file: from exec, from a prompt, from code without its text."""

from __future__ import annotations

import importlib
import os
import pty
import select
import sys
import textwrap
import time

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.kernels import sources

TEXT = """
def add(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1
"""


def run(kernel, value=0):
    x = np.full(3, value, np.int32)
    kernel[1, 4](x)
    return x.tolist()


def test_functions_from_exec():
    text = TEXT.replace("def add", "@cuda.jit\ndef add")
    names = {"cuda": cuda}
    exec(text, names)
    assert run(names["add"]) == [1, 1, 1]


def test_functions_in_functions_from_exec():
    twice = "    def twice(n):\n        return 2 * n\n\n    i ="
    text = TEXT.replace("    i =", twice).replace("1\n", "twice((lambda n: n + 1)(2))\n")
    names = {"cuda": cuda}
    exec(text, names)
    assert run(cuda.jit(names["add"])) == [6, 6, 6]


def test_the_text_that_fits_is_taken():
    """Of two texts with the same function's name, and where one is only a part of another."""
    first, second = TEXT, TEXT.replace("+= 1", "+= 2")
    one, two = {"cuda": cuda}, {"cuda": cuda}
    exec(first, one)
    exec(second, two)
    assert run(cuda.jit(two["add"])) == [2, 2, 2]
    assert run(cuda.jit(one["add"])) == [1, 1, 1]


def made(amount):
    names = {"cuda": cuda}
    exec("".join((TEXT[:-2], str(amount), "\n")), names)
    return names["add"]


def test_a_text_that_nobody_has_any_more(monkeypatch):
    function = made(7)
    monkeypatch.setattr(sources, "_executed", {})  # where something has it watched
    with pytest.raises(UnsupportedError, match=r"@cuda\.jit\(source=text\)"):
        run(cuda.jit(function))
    assert run(cuda.jit(source=TEXT.replace("1\n", "7\n")[1:])(made(7))) == [7, 7, 7]


def test_a_text_of_another_function():
    with pytest.raises(ValueError, match="has no function add whose code is that of"):
        cuda.jit(source=TEXT.replace("+=", "-="))(made(1))
    for other in ("8", "7.0"):  # the same instructions, with another constant
        with pytest.raises(ValueError, match="has no function add"):
            cuda.jit(source=TEXT.replace("1\n", f"{other}\n"))(made(7))
    with pytest.raises(ValueError, match="has no function add"):
        cuda.jit(source="def add(x:")(made(1))
    with pytest.raises(TypeError, match="it is the text of the function"):
        cuda.jit(source=3)


def test_the_text_of_a_closure():
    text = """
    def scaled(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = i * factor
    """
    names = {"cuda": cuda}
    exec(f"def maker(factor):{text}return scaled", names)
    kernel = cuda.jit(source=text)(names["maker"](5))
    assert run(kernel) == [0, 5, 10]


def test_code_without_its_file():
    names = {"cuda": cuda}
    exec(compile(TEXT, "/nowhere/module.py", "exec"), names)
    with pytest.raises(UnsupportedError, match=r"a \.pyc without its \.py"):
        run(cuda.jit(names["add"]))
    kernel = cuda.jit(source=TEXT)(names["add"])
    assert run(kernel) == [1, 1, 1]


def test_errors_show_the_text():
    text = TEXT.replace("cuda.grid(1)", "cuda.gird(1)")
    names = {"cuda": cuda}
    exec(text, names)
    with pytest.raises(Exception, match=r"i = cuda\.gird"):
        run(cuda.jit(names["add"]))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the prompt keeps its lines itself")
def test_functions_typed_at_a_prompt():
    pytest.importorskip("readline")
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - the other process
        os.environ["TERM"] = "dumb"
        os.execv(sys.executable, [sys.executable, "-q"])
    lines = [
        "import numpy as np; from gridlane import cuda",
        "@cuda.jit",
        "def add(x):",
        "    x[cuda.grid(1)] += 41",
        "",
        "x = np.ones(1, np.int32); add[1, 1](x); print('the sum is', x[0])",
        "exit()",
    ]
    os.write(terminal, ("\n".join(lines) + "\n").encode())
    seen, until = b"", time.monotonic() + 60
    while b"the sum is 42" not in seen and time.monotonic() < until:
        if select.select([terminal], [], [], 1)[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                break
    os.close(terminal)
    os.waitpid(child, 0)
    assert b"the sum is 42" in seen, seen.decode(errors="replace")


def test_a_file_that_changes_while_the_program_runs(tmp_path, monkeypatch):
    """A function is compiled from the text that Python has imported, or not at all."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "changing_kernels.py"
    file.write_text(f"from gridlane import cuda\n{TEXT}")
    module = importlib.import_module("changing_kernels")
    file.write_text(f"from gridlane import cuda\n{TEXT.replace('+= 1', '+= 2')}")
    with pytest.raises(UnsupportedError, match="the file has changed since it was imported"):
        run(cuda.jit(module.add))
    assert run(cuda.jit(importlib.reload(module).add)) == [2, 2, 2]


def test_an_indented_program_of_the_command_line(monkeypatch):
    """Python 3.14 takes the indentation away that all lines of it have."""
    text = "\n    def made(x):\n        x[0] = 5\n"
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", text])
    space = {"__name__": "__main__"}
    exec(textwrap.dedent(text), space)
    del text
    function = sources.with_source(space["made"])
    assert function.__code__.co_filename.startswith("<string ")
    out = np.zeros(1)
    cuda.jit(function)[1, 1](out)
    assert out[0] == 5
