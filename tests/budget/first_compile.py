"""Compile a kernel as the first of a process, and print what that took as JSON.

test_first_compile.py runs it.
"""

from __future__ import annotations

import builtins
import json
import sys
from collections import Counter

import numpy  # noqa: F401  # not ours

ours = [0]
plain = exec


def counted(code, *arguments, **keywords):
    if sys._getframe(1).f_globals["__name__"].partition(".")[0] in ("gridlane", "dataclasses"):
        ours[0] += 1
    return plain(code, *arguments, **keywords)


builtins.exec = counted
others = set(sys.modules)

from gridlane import compiler, cuda  # noqa: E402
from gridlane.core.options import Target  # noqa: E402
from gridlane.cuda import float32, int64  # noqa: E402
from gridlane.launch.devices import get_device  # noqa: E402


@cuda.jit
def add(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


def compile_for(name: str) -> None:
    """From the function to the code."""
    types = (float32[::1], float32[::1], float32[::1], int64)
    module = compiler.translate(add.py_func, types, add.options)
    target = Target("cuda") if name == "cuda" else get_device(name).target((256, 1, 1))
    compiler.generate(module, target, add.options)


def calls_of(name: str) -> int:
    """Calls of gridlane's functions by a compilation that is not the first."""
    calls: Counter[str] = Counter()

    def count(frame, event, argument):
        if event == "call" and frame.f_globals.get("__name__", "").startswith("gridlane."):
            calls[frame.f_globals["__name__"]] += 1

    sys.setprofile(count)
    compile_for(name)
    sys.setprofile(None)
    return calls.total()


compile_for(sys.argv[1])
loaded = sorted(set(sys.modules) - others)
print(json.dumps({"modules": loaded, "compiled": ours[0], "calls": calls_of(sys.argv[1])}))
