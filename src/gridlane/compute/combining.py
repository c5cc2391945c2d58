"""The text that adds what threads have, in one order."""

from __future__ import annotations

import numpy as np

from gridlane.compute.threads import Lines
from gridlane.compute.typing import NAMES
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen

WARP = 32


@frozen
class Way:
    """How threads divide the sums of an iteration.

    Attributes:
        is_lanes: they are along x, else along y.
        threads: how many share an iteration.
        across: iterations of a block.
        is_apart: blocks divide the loops too, and another kernel adds what each has.
        order: of tiles in shared memory, which loops are x, y and z.
    """

    is_lanes: bool
    threads: int
    across: int
    is_apart: bool = False
    order: tuple[int, ...] = ()

    @property
    def thread(self) -> str:
        """The text of a thread's number among those that share an iteration."""
        return "cuda.threadIdx.x" if self.is_lanes else "cuda.threadIdx.y"

    @property
    def iteration(self) -> str:
        """The text of an iteration's number in its block."""
        return "cuda.threadIdx.y" if self.is_lanes else "cuda.threadIdx.x"


class Combiner:
    """Adds what the threads of an iteration have.

    Attributes:
        head: texts of arrays in shared memory, by their names.
    """

    def __init__(self, lines: Lines, way: Way, prefix: str) -> None:
        self.lines, self.way, self.prefix = lines, way, prefix
        self.head: dict[str, str] = {}

    def add(self, name: str, kind: DType, operator: str) -> None:
        """Add the text after which a name is the sum of what all threads have by it."""
        lines, threads = self.lines, self.way.threads
        if not self.way.is_lanes or threads % WARP:
            self._through_memory(name, kind, operator, threads)
            return
        for step in [1 << n for n in reversed(range(5))]:
            other = _shuffled(f"cuda.shfl_xor_sync(0xffffffff, {{}}, {step})", name, kind)
            lines.add(f"{name} = {joined(operator, name, other, kind)}")
        if threads > WARP:
            place, test = f"// {WARP}", f"% {WARP} == 0"
            self._through_memory(name, kind, operator, threads // WARP, place, test)
        elif kind.is_float and operator in ("min", "max"):  # of NaN, lanes could have others
            lines.add(f"{name} = {_shuffled('cuda.shfl_sync(0xffffffff, {}, 0)', name, kind)}")

    def _through_memory(
        self, name: str, kind: DType, operator: str, count: int, place: str = "", test: str = ""
    ) -> None:
        lines, lanes = self.lines, self.way.is_lanes
        array, where = f"{self.prefix}_shared_{kind}", f"{self.way.thread} {place}".strip()
        own = "" if lanes else f", {self.way.iteration}"
        shape = f"({count},)" if lanes else f"({count}, {self.way.across})"
        self.head[array] = f"{array} = cuda.shared.array({shape}, {NAMES[str(kind)]})"
        with lines.block(*([f"if {self.way.thread} {test}:"] if test else [])):
            lines.add(f"{array}[{where}{own}] = {name}")
        lines.add("cuda.syncthreads()")
        if not lanes and count & (count - 1) == 0:
            half = count // 2
            while half:
                one, other = f"{array}[{where}{own}]", f"{array}[{where} + {half}{own}]"
                with lines.block(f"if {where} < {half}:"):
                    lines.add(f"{one} = {joined(operator, one, other, kind)}")
                lines.add("cuda.syncthreads()")
                half //= 2
            lines.add(f"{name} = {array}[0{own}]")
        else:
            lines.add(f"{name} = {array}[0{own}]")
            one = f"{array}[{self.prefix}_other{own}]"
            with lines.block(f"for {self.prefix}_other in range(1, {count}):"):
                lines.add(f"{name} = {joined(operator, name, one, kind)}")
        lines.add("cuda.syncthreads()")


def neutral(operator: str, kind: DType) -> str:
    """The text of the value that changes nothing."""
    name = NAMES[str(kind)]
    if operator in ("min", "max"):
        if kind.is_float:
            return f"{name}(float('{'' if operator == 'min' else '-'}inf'))"
        known = np.iinfo(f"{'int' if str(kind)[0] == 'i' else 'uint'}{kind.size * 8}")
        return f"{name}({known.max if operator == 'min' else known.min})"
    if operator == "&":
        return f"{name}({-1 if str(kind)[0] == 'i' else (1 << kind.size * 8) - 1})"
    return f"{name}({1 if operator == '*' else 0})"


def joined(operator: str, one: str, other: str, kind: DType) -> str:
    """The text of a reduction of two values."""
    if operator in ("min", "max"):
        return f"{NAMES[str(kind)]}({operator}({one}, {other}))"
    return f"{NAMES[str(kind)]}({one} {operator} {other})"


def _shuffled(call: str, name: str, kind: DType) -> str:
    """The text of another lane's value; warps shuffle 32 and 64 bits."""
    if kind.size >= 4:
        return call.format(name)
    wide = NAMES["f32"] if kind.is_float else NAMES["i32"]
    return f"{NAMES[str(kind)]}({call.format(f'{wide}({name})')})"
