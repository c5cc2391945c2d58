"""Products of matrices in memory: a function for each shape and type.

A panel is as many columns as two vectors hold. For each panel the rows are taken in groups whose
sums fill most of the registers; each step along the depth loads a row of the panel, and multiplies
it by an element of each row of the group. ``memory_product_steps`` has what a step is.
"""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.cpu.loops import Loop
from gridlane.codegen.llvm.cpu.memory_product_steps import Elements, Part, steps_of
from gridlane.codegen.llvm.cpu.mma_memory import first
from gridlane.codegen.llvm.cpu.prefetch import LINE, fetch_line
from gridlane.codegen.llvm.machine import X86, Machine
from gridlane.codegen.llvm.text import Body
from gridlane.core.decisions import decided
from gridlane.core.dtypes import DType
from gridlane.ir.ops.memory import element_of
from gridlane.ir.ops.memory_products import WarpProduct


@emits(WarpProduct)
def warp_product(state: Emission, op: WarpProduct) -> None:
    """Call the function of the shape."""
    decided(op.loc, "product", "of matrices in memory, by a function")
    element, factor = (element_of(op, each) for each in (op.sums, op.left))
    assert isinstance(element, DType) and isinstance(factor, DType)
    shape = op.rows, op.depth, op.columns
    turned = op.turned_left, op.turned_right
    ahead = op.counts, op.lines
    pitch = op.pitch or op.columns
    function = _Function(shape, element, factor, op.fused, turned, state.machine, ahead, pitch)
    if function.name not in state.functions:
        state.functions[function.name] = function.text(state.body.declared)
    given = (op.left, op.right, op.sums, *op.ahead)
    pointers = ", ".join(f"ptr {first(state, each)}" for each in given)
    state.body.do(f'call fastcc void @"{function.name}"({pointers})')


def _registers(machine: Machine) -> int:
    """The vector registers of a machine."""
    return 16 if machine.architecture == X86 and machine.vector_bytes < 64 else 32


def _split(count: int, most: int) -> list[tuple[int, int, int]]:
    """Groups of at most ``most`` rows and nearly one size: (first row, rows, groups).

    >>> _split(64, 6), _split(12, 6), _split(1, 6)
    ([(0, 6, 9), (54, 5, 2)], [(0, 6, 2)], [(0, 1, 1)])
    """
    groups = -(-count // most)
    small, larger = divmod(count, groups)
    parts = [(0, small + 1, larger), (larger * (small + 1), small, groups - larger)]
    return [part for part in parts if part[2]]


class _Function:
    """The text of a function of the three addresses."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        element: DType,
        factor: DType,
        fused: bool,
        turned: tuple[bool, bool],
        machine: Machine,
        ahead: tuple[tuple[int, ...], tuple[int, ...]],
        pitch: int,
    ) -> None:
        self.body, self.machine = Body(), machine
        self.counts, self.fetched = ahead
        self.places: list[str] = []
        self.pitch = pitch
        self.shape, self.element, self.factor = shape, element, factor
        self.lanes = machine.vector_bytes // element.size
        self.fused, self.turned = fused or element.is_integer, turned
        self.most = (_registers(machine) - (4 if self.fused else 6)) // 2
        kinds = f"{element}" if factor is element else f"{factor}.{element}"
        kinds += "" if self.fused else ".rounded"
        kinds += ".left" * turned[0] + ".right" * turned[1]
        self.name = f"gridlane.product.{kinds}.{'.'.join(map(str, shape))}"
        if pitch != shape[2]:
            self.name += f".pitch.{pitch}"
        if self.counts:
            self.name += f".ahead.{'.'.join(map(str, (*self.counts, *self.fetched)))}"

    def text(self, declared: dict[str, str]) -> str:
        """The definition; what it calls is declared with the module's."""
        body, wide = self.body, 2 * self.lanes
        types = self.element, self.factor, self.fused, *self.turned
        part = Part(body, *types, *self.shape, self.lanes, self.most)
        steps, plain = steps_of(part, self.machine), Elements(part)
        whole, rest = divmod(self.shape[2], wide)
        vectors = rest - rest % self.lanes
        if whole or vectors:
            steps.prepare()
        for _ in self.counts:
            self.places.append(body.alloca("i64"))
            body.do(f"store i64 0, ptr {self.places[-1]}")
        if whole:
            with_panels = Loop(body, whole, "panel")
            self._panel(steps, body.op(f"mul i64 {with_panels.counter}, {wide}"), wide)
            with_panels.end()
        start = whole * wide
        if vectors:
            self._panel(steps, str(start), vectors)
            start, rest = start + vectors, rest - vectors
        while rest:  # narrower panels, each of one shorter vector
            width = 1 << rest.bit_length() - 1
            self._panel(plain, str(start), width)
            start, rest = start + width, rest - width
        body.do("ret void")
        declared.update(body.declared)
        parameters = "ptr noalias %left, ptr noalias %right, ptr noalias %sums"
        parameters += "".join(f", ptr noalias %ahead{n}" for n in range(len(self.counts)))
        head = f'define internal fastcc void @"{self.name}"({parameters}) noinline #0 {{'
        return "\n".join([head, "entry:", *body.allocas, *body.lines, "}"])

    def _panel(self, steps: Elements, column: str, width: int) -> None:
        body, rows = self.body, self.shape[0]
        right, stride = steps.panel(column, width)
        for start, count, groups in _split(rows, self.most * 2 * self.lanes // max(width, 1)):
            each = Loop(body, groups, "group")
            row = body.op(f"add i64 {body.op(f'mul i64 {each.counter}, {count}')}, {start}")
            place = body.op(f"add i64 {body.op(f'mul i64 {row}, {self.pitch}')}, {column}")
            self._group(steps, row, (right, stride), steps.sum_at(place), count, width)
            each.end()

    def _group(
        self,
        steps: Elements,
        row: str,
        panel: tuple[str, int],
        sums: str,
        rows: int,
        width: int,
    ) -> None:
        """Add the products of some rows and a panel."""
        body = self.body
        vector, starts = steps.vectors(width)
        left = steps.rows_from(row, rows)
        index = [row * self.pitch + start for row in range(rows) for start in starts]
        first = steps.begin(vector, row, rows, len(starts))
        before = first or [steps.load_sum(vector, sums, place) for place in index]
        self._fetch()
        each = Loop(body, steps.count, "depth", [(vector, value) for value in before])
        line = steps.line_at(panel[0], body.op(f"mul i64 {each.counter}, {panel[1]}"))
        lines = [steps.load(vector, line, start) for start in starts]
        factors = [steps.repeated(vector, left, row, each.counter) for row in range(rows)]
        products = [(factor, line) for factor in factors for line in lines]
        after = [steps.added(vector, *p, t) for p, t in zip(products, each.values, strict=True)]
        each.end(after)
        for place, value in zip(index, after, strict=True):
            if first:
                old = steps.load_sum(vector, sums, place)
                value = body.op(f"add {vector} {old}, {value}")  # of integers
            steps.store_sum(vector, value, sums, place)

    def _groups(self) -> int:
        """About how many groups there are, with panels of two vectors."""
        rows, _, columns = self.shape
        return -(-columns // (2 * self.lanes)) * -(-rows // self.most)

    def _fetch(self) -> None:
        """Fetch a group's share of the lines that are needed next; behind the last ones nothing."""
        body = self.body
        arrays = zip(self.counts, self.places, self.fetched, strict=True)
        for n, (count, place, lines) in enumerate(arrays):
            for _ in range(-(-count // self._groups())):
                now = body.op(f"load i64, ptr {place}")
                at = body.op(f"getelementptr i64, ptr %ahead{n}, i64 {now}")
                line = body.op(f"inttoptr i64 {body.op(f'load i64, ptr {at}')} to ptr")
                for start in range(0, lines * LINE, LINE):
                    where = body.op(f"getelementptr i8, ptr {line}, i64 {start}")
                    fetch_line(body, where, 2)
                after = body.op(f"add i64 {now}, 1")
                is_last = body.op(f"icmp eq i64 {after}, {count}")
                last = body.op(f"select i1 {is_last}, i64 {now}, i64 {after}")
                body.do(f"store i64 {last}, ptr {place}")
