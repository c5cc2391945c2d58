"""Compares random kernels on devices with plain Python."""

from __future__ import annotations

import itertools
import linecache
import math
from typing import Any

import numpy as np
from tests import on_shaders
from tests.frontends.running import launch
from tests.property import python_oracle
from tests.property.python_functions import random_statements
from tests.property.python_kernels import BLOCK, INTEGERS, Program, random_kernel

from gridlane import cuda
from gridlane.backends import backend
from gridlane.core.options import KernelOptions

TYPES = (*INTEGERS, "float32", "float64")
KEPT = 3
"""How many of the types a kernel has."""
OPTIONS = ({}, {"debug": True}, {"opt": False})
"""Those of a kernel besides ``fma``: no operation rounds twice here."""
_files = itertools.count()


def without_float64(device: str) -> bool:
    """Whether a device has no float64 in its memory."""
    return device in (*on_shaders.KINDS, "metal")


def program_of(seed: int, device: str) -> Program:
    kinds = np.random.default_rng(seed).permutation(len(TYPES))
    types = [TYPES[n] for n in kinds]
    if without_float64(device):
        types.remove("float64")
    return random_kernel(seed, tuple(types[:KEPT]))


def loaded(program: Program, options: Any = OPTIONS[0]) -> Any:
    """The kernel, from a file that linecache knows."""
    name = f"<random kernel {next(_files)}>"
    text = "\n" + program.source.replace("cuda.jit(OPTIONS)", "cuda.jit(fma=False, **OPTIONS)")
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace = {"__name__": "random_kernel", "cuda": cuda, "np": np, "math": math}
    namespace["OPTIONS"] = options
    exec(compile(text, name, "exec"), namespace)
    return namespace["k"]


def check(seed: int, device: str) -> None:
    """Compare the kernel of a seed that computes with numbers of all types."""
    check_program(program_of(seed, device), seed, device)


def check_statements(seed: int, device: str, parts: int) -> None:
    """Compare that many random programs, in one kernel, that have statements of all kinds."""
    real = "float32" if without_float64(device) else "float64"
    program = random_statements(seed, parts, real, recursive=backend(device).stack != 0)
    check_program(program, seed, device, OPTIONS[seed % 3])


def check_program(program: Program, seed: int, device: str, options: Any = OPTIONS[0]) -> None:
    """Compare what a device, or the interpreter without the text of the IR, and Python give back.

    Raises:
        AssertionError: they differ; with the program.
        GridlaneError: the program is refused, which has no reason to be.
    """
    wanted, got = program.arrays(seed), program.arrays(seed)
    python_oracle.run(program.source, wanted, program.grid, BLOCK)
    kernel = loaded(program, options)
    if device == "interp":
        asked = KernelOptions(fma=False, **options)
        launch(kernel.py_func, program.grid, BLOCK, *got, options=asked)
    else:
        kernel[program.grid, BLOCK](*got)
    for number, (w, g) in enumerate(zip(wanted, got, strict=True)):
        w, g = w.reshape(-1), g.reshape(-1)
        different = np.flatnonzero(w.view(f"u{w.itemsize}") != g.view(f"u{g.itemsize}"))
        if len(different):
            at = different[0]
            raise AssertionError(
                f"seed {seed}: array {number}, element {at}: {g[at]!r}, not {w[at]!r}; "
                f"{len(different)} differ\n{program.source}"
            )
