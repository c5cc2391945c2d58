"""What all programs of the corpus have: a name, and a function that launches and knows the answer.

The function gets what launches the kernel, and returns what came out, what numpy says, and how far
apart they may be (none: bit for bit).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from tests.peers.corpus.packages import Text, texts

from gridlane import cuda
from gridlane.core.errors import CompileError, GridlaneError
from gridlane.launch import current
from gridlane.launch.devices import get_device

Answer = tuple[Any, Any] | tuple[Any, Any, float]
Run = Callable[[Callable[..., None]], Answer]
DEVICES = "interp", "cpu"
WAITS = "has waited in this loop"
"""What the error of such a launch says."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program.

    Attributes:
        text: the name of the text that has its kernel.
        kernel: the kernel's name there; "" for the text's only one.
    """

    package: str
    name: str
    run: Run
    text: str
    kernel: str = ""


def collector(programs: list[Program]) -> Callable[..., Callable[[Run], Run]]:
    """A decorator ``(file, kernel="", name="")`` that keeps the program of a CUDA C++ kernel."""

    def of(text: str, kernel: str = "", name: str = "") -> Callable[[Run], Run]:
        def keep(run: Run) -> Run:
            own = name or run.__name__
            programs.append(Program("nvrtc", own, run, text, kernel or own))
            return run

        return keep

    return of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a program: ``right``, ``refused``, ``wrong``, ``ended`` by a fault, or ``waits``
    for what never comes on the device, which the launch reports."""

    kind: str
    reason: str = ""


def variants(program: Program) -> list[Text]:
    """The texts of a program, one for each generation."""
    return [each for each in texts(program.package) if each.name == program.text]


def judge(program: Program, text: Text, device: str) -> Outcome:
    """Run a program on a device, and compare its results with numpy's."""
    current.choose(get_device(device))
    np.random.seed(3)
    try:
        got, want, *near = program.run(launcher(text, program.kernel))
    except CompileError as error:
        return Outcome("refused", error.message)
    except GridlaneError as error:
        return Outcome("waits" if WAITS in str(error) else "ended", str(error))
    for one, other in pairs(got, want):
        if not same(np.asarray(one), np.asarray(other), near[0] if near else 0):
            return Outcome("wrong", f"{one} is not {other}")
    return Outcome("right")


@lru_cache(4)
def _module(ptx: str) -> cuda.RawModule:
    return cuda.RawModule(code=ptx)


def launcher(text: Text, name: str) -> Callable[..., Any]:
    """What a program launches its kernel by; see the programs of each package."""
    module = _module(text.ptx)
    if text.package == "tinygrad":
        from tests.peers.corpus.tinygrad_programs import scheduled

        return scheduled(text.meta, module)
    if text.package == "triton":
        from tests.peers.corpus.triton_programs import with_scratch

        return with_scratch(text.meta, module.get_function(text.meta["entry"]))
    return module.get_function(text.meta["names"].get(name, name))


def pairs(got: Any, want: Any) -> list[tuple[Any, Any]]:
    """Each result with the one that is expected."""
    if isinstance(got, tuple):
        return list(zip(got, want, strict=True))
    return [(got, want)]


def same(got: np.ndarray, want: np.ndarray, near: float) -> bool:
    """Whether results are equal, or as near as they may be."""
    if got.shape != want.shape:
        return False
    if not near:
        return bool(np.array_equal(got, want, equal_nan=got.dtype.kind == "f"))
    return bool(np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=near, atol=near))
