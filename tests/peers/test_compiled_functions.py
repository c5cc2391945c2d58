"""numba-cuda's device functions and gridlane's: the same types, calling conventions and results.

numba compiles without a GPU, in a process of its own. What both compile is linked with a kernel of
gridlane's and runs on the CPU.
"""

from __future__ import annotations

import json
import linecache
import math
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cuda import types
from gridlane.cuda.types import Signature
from gridlane.launch import current
from gridlane.launch.devices import get_device

# The body of a function, the types of its arguments, and how a kernel calls it.
FUNCTIONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "mixed": ("x * y + y / x", ("float32", "float32"), "x[i] + 1, y[i]"),
    "quotient": ("x / y", ("int32", "int64"), "x[i], y[i] + 1"),
    "rotated": ("x * y + 1", ("complex64", "complex128"), "x[i] + 2j, y[i]"),
    "three": ("(x * 2, y + 1, x < y)", ("float32", "int16"), "x[i], y[i]"),
    "small": ("(x, y, x)", ("int8", "float64"), "x[i], y[i]"),
    "inverse": ("not x", ("boolean",), "x[i] > 3"),
    "sum": ("x[y] * x.shape[0] + x[0]", ("float32[:]", "int32"), "x, i"),
    "sine": ("math.sin(x) + math.exp(-x)", ("float64",), "x[i] * 1e6"),
}

_COMPILE = """
import json, linecache, math, re, sys, warnings
from types import SimpleNamespace
import numba.cuda
from numba import types

warnings.simplefilter("ignore")
device = SimpleNamespace(compute_capability=(8, 0))
numba.cuda.dispatcher.get_current_device = lambda: device
made = {}
for name, (body, kinds, _) in json.loads(sys.argv[1]).items():
    text = f"def {name}({', '.join('xy'[: len(kinds)])}):\\n    return {body}\\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"math": math}
    exec(compile(text, name, "exec"), space)
    given = tuple(eval(kind, vars(types)) for kind in kinds)
    made[name] = [
        (text, re.sub(r"UniTuple.int64 x 2.", "Tuple(int64, int64)", str(result)))
        for text, result in (
            numba.cuda.compile_ptx(space[name], given, device=True, cc=(8, 0), abi=abi)
            for abi in ("c", "numba")
        )
    ]
print(json.dumps(made))
"""


@cache
def by_numba() -> dict[str, Any]:
    pytest.importorskip("numba_cuda")
    command = [sys.executable, "-c", _COMPILE, json.dumps(FUNCTIONS)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def function_of(name: str, text: str, space: dict[str, Any]) -> Any:
    file = f"<compiled {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), space)
    return space[name]


def head(text: str) -> list[str]:
    """What the function returns and takes, without names."""
    found = re.findall(r"\.visible\s+\.func\s*\(([^)]*)\)\s*(\w+)\s*\(([^)]*)\)", text)[-1]
    parts = [found[0], *found[2].split(",")]
    kinds = [re.search(r"\.param\s+((?:\.align \d+ )?\.b\d+)", part) for part in parts]
    sizes = [re.search(r"\[\d+\]", part) for part in parts]
    return [
        kind[1] + (size[0] if size else "") for kind, size in zip(kinds, sizes, strict=True) if kind
    ]


@pytest.mark.parametrize("abi", ["c", "numba"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name, abi):
    current.choose(get_device("cpu"))
    body, kinds, arguments = FUNCTIONS[name]

    definition = f"def {name}({', '.join('xy'[: len(kinds)])}):\n    return {body}\n"
    function = function_of(name, definition, {"math": math})
    given = tuple(eval(kind, dict(types.SIGNATURE_NAMES)) for kind in kinds)
    own, result = cuda.compile(function, given, abi=abi)
    theirs, their_result = by_numba()[name][abi == "numba"]
    assert str(result) == their_result
    assert head(own) == head(theirs)
    found = [_run(text, Signature(result, given), abi, arguments) for text in (own, theirs)]
    assert np.allclose(*found, rtol=1e-6, equal_nan=True) and found[0].any()


def _run(text: str, signature: Signature, abi: str, arguments: str) -> np.ndarray:
    symbol = re.findall(r"\.visible\s+\.func\s*\([^)]*\)\s*(\w+)\s*\(", text)[-1]
    call = cuda.declare_device(symbol, signature, cuda.PTXSource(text), abi=abi)
    is_tuple = isinstance(signature.return_type, types.BaseTuple)
    if is_tuple:
        count = len(signature.return_type.items)  # type: ignore[union-attr]
        parts = "".join(f"\n    put(r, i, {n}, z[{n}])" for n in range(count))
    else:
        parts = "\n    put(r, i, 0, z)"
    source = f"def kernel(r, x, y):\n    i = cuda.grid(1)\n    z = call({arguments}){parts}\n"

    @cuda.jit(device=True)
    def put(r, i, n, value):
        r[i, n] = value

    kernel: Any = cuda.jit(function_of("kernel", source, {"cuda": cuda, "call": call, "put": put}))
    made = np.zeros((8, 3), np.complex128)
    x = np.repeat(np.arange(8, dtype=np.float32), 2)[::2]
    kernel[1, 8](made, x, np.arange(8, dtype=np.float32) * 3 - 7)
    return made
