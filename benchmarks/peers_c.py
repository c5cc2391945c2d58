"""The kernels in C: gcc -O3 -march=native -ffast-math, OpenMP. Its results are the reference."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from cases import BINS, BODIES, ITERATIONS, MATRIX, OPTIONS, PICTURE, VECTOR, Inputs, Prepared

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")


@cache
def library() -> ctypes.CDLL:
    """Compile peers_c.c and load it. The folder may go: the loaded file stays mapped."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "peers_c.so"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(["gcc", *FLAGS, str(source), "-o", str(target), "-lm"], check=True)
        return ctypes.CDLL(str(target))


def version() -> str:
    text = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True)
    return f"gcc {text.stdout.strip()}"


def prepare(name: str, inputs: Inputs) -> Prepared:
    outputs, sizes = _SHAPES[name]
    out = np.zeros(*outputs)
    ins = [_pointer(value) for value in inputs.values()]
    # Black-Scholes writes two arrays, which lie one after the other in `out`.
    outs = [_pointer(part) for part in out] if name == "blackscholes" else [_pointer(out)]
    arguments = (*ins, *outs, *(ctypes.c_int(size) for size in sizes))
    function: Callable[..., object] = getattr(library(), name)
    return lambda: function(*arguments), out.copy


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


# Output shape and dtype, then the integers that the function takes last.
_SHAPES: dict[str, tuple[tuple, tuple[int, ...]]] = {
    "vecadd": ((VECTOR, np.float32), (VECTOR,)),
    "nbody": (((BODIES, 4), np.float32), (BODIES,)),
    "mandelbrot": (((PICTURE, PICTURE), np.int32), (PICTURE, ITERATIONS)),
    "blackscholes": (((2, OPTIONS), np.float32), (OPTIONS,)),
    "matmul": (((MATRIX, MATRIX), np.float32), (MATRIX,)),
    "reduction": ((1, np.float32), (VECTOR,)),
    "histogram": ((BINS, np.int32), (VECTOR,)),
}
