"""Random kernels whose grid meets in loops and branches: in parts, and by the interpreter.

Those whose threads part are compared with a model in Python as well: a generator for each thread,
which yields at each barrier.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import KernelError

BLOCKS, THREADS = 3, 32
QUICK = 2, 4, 7
SEEDS = [*QUICK, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(100, 140))]


PARTING = 21, 5, 13, 22
PARTING_SEEDS = [*PARTING, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(200, 300))]


class Program:
    """The text of a kernel.

    Args:
        parts: whether threads may end, or pass barriers; elsewhere conditions around barriers are
            the same for all threads.
    """

    def __init__(self, seed: int, parts: bool = False) -> None:
        self.random, self.parts = random.Random(seed), parts
        self.lines: list[str] = []
        self.loops = 0
        self.block(1, 3, in_loop=False)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def uniform(self) -> str:
        counters = [f"k{n}" for n in range(self.loops)] or ["n"]
        return f"({self.random.choice(counters)} + n + u) % {self.random.randint(2, 3)} == 0"

    def value(self) -> str:
        name, other = self.random.choices("abcu", k=2)
        return self.random.choice([f"{name} + {other}", f"{name} * 3 - i", f"{name} ^ shared[own]"])

    def block(self, depth: int, budget: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(2, 3)):
            self.statement(depth, budget, in_loop)

    def statement(self, depth: int, budget: int, in_loop: bool) -> None:
        kinds = ["set", "own", "meet", "meet", "array"]
        if budget:
            kinds += ["loop", "loop", "if", "while"]
        if in_loop:
            kinds.append("jump")
        if self.parts:
            kinds += ["end", *(["parting"] if budget else []), *(["skip"] if in_loop else [])]
        getattr(self, f"_{self.random.choice(kinds)}")(depth, budget, in_loop)

    def _set(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"{self.random.choice('abc')} = ({self.value()}) & 0xFFFF")

    def _own(self, depth: int, budget: int, in_loop: bool) -> None:
        """Threads diverge, and do not meet."""
        self.line(depth, f"if (i + a) % {self.random.randint(2, 4)}:")
        self._set(depth + 1, 0, False)
        self.line(depth + 1, "shared[own] += b & 7")

    def _array(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, "local[a & 3] += c")
        self.line(depth, "b = (b + local[i & 3]) & 0xFFFF")

    def _meet(self, depth: int, budget: int, in_loop: bool) -> None:
        name = self.random.choice("abc")
        self.line(depth, f"x[i] = {name}")
        self.line(depth, "grid.sync()")
        far, mirrored = self.random.randint(1, 95), "shared[31 - own]"
        self.line(depth, f"c = (c + x[(i + {far}) % x.size] + {mirrored}) & 0xFFFF")
        self.line(depth, "grid.sync()")

    def _loop(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"for k{self.loops} in range({self.random.choice(['n', '2', '3'])}):")
        self.loops += 1
        self.block(depth + 1, budget - 1, in_loop=True)
        self.loops -= 1

    def _while(self, depth: int, budget: int, in_loop: bool) -> None:
        """How often is computed from memory that all threads see alike."""
        name = f"w{depth}_{len(self.lines)}"
        self.line(depth, f"{name} = u + limit[0]")
        self.line(depth, f"while {name} > 0:")
        self.line(depth + 1, f"{name} -= 2")
        self.line(depth + 1, "u = (u + 1) % 3")
        self.block(depth + 1, budget - 1, in_loop=False)

    def _if(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.uniform()}:")
        self.block(depth + 1, budget - 1, in_loop)
        self.line(depth, "else:")
        self.line(depth + 1, "u += 1")
        self.block(depth + 1, budget - 1, in_loop)

    def _jump(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.uniform()}:")
        self.line(depth + 1, self.random.choice(["break", "continue"]))

    def own_condition(self) -> str:
        return f"(i * 5 + {self.random.choice('abcu')}) % {self.random.randint(4, 9)} == 1"

    def _end(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.own_condition()}:")
        self.line(depth + 1, f"out[i] = {self.random.choice('abc')} + {len(self.lines)}")
        self.line(depth + 1, "shared[own] = a & 63")
        self.line(depth + 1, "return")

    def _skip(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.own_condition()}:")
        self.line(depth + 1, self.random.choice(["break", "continue"]))

    def _parting(self, depth: int, budget: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.own_condition()}:")
        self.block(depth + 1, budget - 1, in_loop)

    @property
    def text(self) -> str:
        """The function."""
        head = (
            "def kernel(x, out, limit, n):",
            "    i, own, grid = cuda.grid(1), cuda.threadIdx.x, cuda.cg.this_grid()",
            f"    shared = cuda.shared.array({THREADS}, cuda.int32)",
            "    local = cuda.local.array(4, cuda.int32)",
            "    a, b, c, u = i * 7, i ^ 21, 5, 1",
            "    shared[own] = i",
            "    for k in range(4):",
            "        local[k] = k + i",
            "    grid.sync()",
        )
        tail = "    out[i] = (((a * 31 + b) * 31 + c) * 31 + shared[own]) * 31 + local[1] + u"
        return "\n".join((*head, *self.lines, tail)) + "\n"


def kernel_of(seed: int, parts: bool = False):
    """The kernel, whose text linecache has."""
    text, name = Program(seed, parts).text, f"<grid parts {seed} {parts}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    made: dict[str, Any] = {"cuda": cuda}
    exec(compile(text, name, "exec"), made)
    return cuda.jit(made["kernel"])


def outcome(kernel, device: str) -> np.ndarray:
    x = np.zeros(BLOCKS * THREADS, np.int32)
    out = np.zeros(x.size, np.int64)
    with gridlane.device(device):
        kernel[BLOCKS, THREADS](x, out, np.array([3], np.int32), 2)
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels_in_parts(seed):
    kernel = kernel_of(seed)
    others = [each for each in DEVICES if each not in ("cpu", "cuda")]
    wanted = outcome(kernel, "interp")
    for device in ("cpu", *(others if seed == QUICK[0] else ())):
        np.testing.assert_array_equal(outcome(kernel, device), wanted, err_msg=device)


def model(seed: int) -> np.ndarray | None:
    """What a kernel whose threads part stores; None if they come to several barriers."""
    x, out, limit = Numbers([0] * BLOCKS * THREADS), [0] * BLOCKS * THREADS, [3]
    text = "\n".join(
        line.replace("grid.sync()", f"yield {number}")
        for number, line in enumerate(Program(seed, parts=True).text.splitlines())
    )
    shared = [[0] * THREADS for _ in range(BLOCKS)]
    threads: list[Generator[int]] = []
    for i in range(BLOCKS * THREADS):
        names: dict[str, Any] = {"cuda": _cuda_of(i, shared[i // THREADS])}
        exec(text, names)
        threads.append(names["kernel"](x, out, limit, 2))
    while threads:
        came = [(thread, place) for thread in threads if (place := next(thread, -1)) >= 0]
        if len({place for _, place in came}) > 1:
            return None
        threads = [thread for thread, _ in came]
    return np.array(out)


class Numbers(list[int]):
    """An array of the model."""

    @property
    def size(self) -> int:
        """As numpy's."""
        return len(self)


def _cuda_of(i: int, shared: list[int]) -> SimpleNamespace:
    """The names that a thread of the model uses."""
    return SimpleNamespace(
        grid=lambda axes: i,
        threadIdx=SimpleNamespace(x=i % THREADS),
        cg=SimpleNamespace(this_grid=lambda: None),
        shared=SimpleNamespace(array=lambda count, type_: shared),
        local=SimpleNamespace(array=lambda count, type_: [0] * count),
        int32=int,
    )


def test_the_model_sees_both():
    """Some kernels of the quick seeds run to their end, and some are refused."""
    made = [model(seed) for seed in PARTING]
    assert sum(each is None for each in made) == 2


@pytest.mark.parametrize("seed", PARTING_SEEDS)
def test_random_kernels_whose_threads_part(seed):
    kernel, wanted = kernel_of(seed, parts=True), model(seed)
    others = [each for each in DEVICES if each not in ("cpu", "cuda")]
    for device in ("interp", "cpu", *(others if seed == PARTING[0] else ())):
        if wanted is None:
            with pytest.raises(KernelError, match=r"this barrier|same barrier"):
                outcome(kernel, device)
        else:
            np.testing.assert_array_equal(outcome(kernel, device), wanted, err_msg=device)
