"""Products of matrices in memory: a function for each shape and type.

A panel is as many columns as two vectors hold. For each panel the rows are taken in groups whose
sums fill most of the registers; each step of the depth loads a row of the panel, and multiplies it
by an element of each row of the group.
"""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.cpu.mma_memory import first
from gridlane.codegen.llvm.machine import X86, Machine
from gridlane.codegen.llvm.text import Body, scalar_name, vector_constant
from gridlane.core.decisions import decided
from gridlane.core.dtypes import DType
from gridlane.ir.ops.memory import element_of
from gridlane.ir.ops.memory_products import WarpProduct

_FAR, _LONG = 512, 16
"""Bytes between rows, and rows, from which on a panel is copied: its rows would share a few sets of
the cache."""


@emits(WarpProduct)
def warp_product(state: Emission, op: WarpProduct) -> None:
    """Call the function of the shape."""
    decided(op.loc, "product", "of matrices in memory, by a function")
    function = _Function(op, state.machine)
    if function.name not in state.functions:
        state.functions[function.name] = function.text(state.body.declared)
    pointers = ", ".join(f"ptr {first(state, each)}" for each in (op.left, op.right, op.sums))
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

    def __init__(self, op: WarpProduct, machine: Machine) -> None:
        element = element_of(op, op.sums)
        assert isinstance(element, DType)
        self.op, self.body, self.element = op, Body(), scalar_name(element)
        self.size, self.is_integer = element.size, element.is_integer
        self.lanes = machine.vector_bytes // element.size
        self.most = (_registers(machine) - 4) // 2
        self.name = f"gridlane.product.{element}.{op.rows}.{op.depth}.{op.columns}"

    def text(self, declared: dict[str, str]) -> str:
        """The definition; what it calls is declared with the module's."""
        body, op, wide = self.body, self.op, 2 * self.lanes
        whole, rest = divmod(op.columns, wide)
        if whole:
            with_panels = Loop(body, whole, "panel")
            self._panel(body.op(f"mul i64 {with_panels.counter}, {wide}"), wide)
            with_panels.end()
        start = whole * wide
        while rest:  # narrower panels, each of whole vectors or one shorter vector
            width = rest - rest % self.lanes or 1 << rest.bit_length() - 1
            self._panel(str(start), width)
            start, rest = start + width, rest - width
        body.do("ret void")
        declared.update(body.declared)
        parameters = "ptr noalias %left, ptr noalias %right, ptr noalias %sums"
        head = f'define internal fastcc void @"{self.name}"({parameters}) noinline #0 {{'
        return "\n".join([head, "entry:", *body.allocas, *body.lines, "}"])

    def _at(self, pointer: str, index: str) -> str:
        return self.body.op(f"getelementptr {self.element}, ptr {pointer}, i64 {index}")

    def _panel(self, column: str, width: int) -> None:
        body, op = self.body, self.op
        right, stride = self._at("%right", column), op.columns
        if op.columns * self.size >= _FAR and op.depth >= _LONG and op.rows > self.most // 2:
            right, stride = self._copied(right, width), width
        for start, rows, groups in _split(op.rows, self.most * 2 * self.lanes // max(width, 1)):
            each = Loop(body, groups, "group")
            row = body.op(f"add i64 {body.op(f'mul i64 {each.counter}, {rows}')}, {start}")
            left = self._at("%left", body.op(f"mul i64 {row}, {op.depth}"))
            place = body.op(f"add i64 {body.op(f'mul i64 {row}, {op.columns}')}, {column}")
            self._group(left, right, stride, self._at("%sums", place), rows, width)
            each.end()

    def _vectors(self, width: int) -> tuple[str, list[int]]:
        """The type of a panel's vectors, and where they start."""
        lanes = min(width, self.lanes)
        return f"<{lanes} x {self.element}>", list(range(0, width, lanes))

    def _copied(self, right: str, width: int) -> str:
        """A panel whose rows are adjacent."""
        body, (vector, starts) = self.body, self._vectors(width)
        copy = body.alloca(self.element, self.op.depth * width, 64)
        each = Loop(body, self.op.depth, "copy")
        source = self._at(right, body.op(f"mul i64 {each.counter}, {self.op.columns}"))
        target = self._at(copy, body.op(f"mul i64 {each.counter}, {width}"))
        for start in starts:
            value = self._load(vector, source, start)
            self._store(vector, value, target, start)
        each.end()
        return copy

    def _load(self, vector: str, pointer: str, start: int | str) -> str:
        where = self._at(pointer, str(start))
        return self.body.op(f"load {vector}, ptr {where}, align {self.size}")

    def _store(self, vector: str, value: str, pointer: str, start: int) -> None:
        where = self._at(pointer, str(start))
        self.body.do(f"store {vector} {value}, ptr {where}, align {self.size}")

    def _group(self, left: str, right: str, stride: int, sums: str, rows: int, width: int) -> None:
        """Add the products of some rows and a panel."""
        body, op, (vector, starts) = self.body, self.op, self._vectors(width)
        places = [(row, start) for row in range(rows) for start in starts]
        index = [str(row * op.columns + start) for row, start in places]
        before = [self._load(vector, sums, place) for place in index]
        each = Loop(body, op.depth, "depth", [(vector, value) for value in before])
        line = self._at(right, body.op(f"mul i64 {each.counter}, {stride}"))
        columns = [self._load(vector, line, start) for start in starts]
        factors = [self._repeated(vector, left, row, each.counter) for row in range(rows)]
        products = [(factors[row], columns[starts.index(start)]) for row, start in places]
        after = [self._added(vector, *p, t) for p, t in zip(products, each.values, strict=True)]
        each.end(after)
        for place, value in zip(index, after, strict=True):
            self._store(vector, value, sums, int(place))

    def _repeated(self, vector: str, left: str, row: int, depth: str) -> str:
        """An element of a row in all lanes."""
        body = self.body
        where = self._at(left, body.op(f"add i64 {depth}, {row * self.op.depth}"))
        value = body.op(f"load {self.element}, ptr {where}, align {self.size}")
        one = body.op(f"insertelement {vector} poison, {self.element} {value}, i64 0")
        lanes = int(vector[1:].split(" ")[0])
        zeros = vector_constant([0] * lanes, "i32")
        return body.op(f"shufflevector {vector} {one}, {vector} poison, <{lanes} x i32> {zeros}")

    def _added(self, vector: str, first: str, second: str, total: str) -> str:
        body = self.body
        if self.is_integer:
            return body.op(f"add {vector} {total}, {body.op(f'mul {vector} {first}, {second}')}")
        lanes = int(vector[1:].split(" ")[0])
        return body.intrinsic("fmuladd", self.element, lanes, [first, second, total])


class Loop:
    """A loop of a known number of iterations, at least one, that carries values."""

    def __init__(
        self, body: Body, count: int, name: str, carried: list[tuple[str, str]] | None = None
    ) -> None:
        self.body, self.count, self.carried = body, count, carried or []
        before, self.label = body.block, body.label(name)
        body.branch(self.label)
        body.start(self.label)
        self.counter, self._next = body.fresh("n"), body.fresh("next")
        self.values = [body.fresh("sum") for _ in self.carried]
        self._before, self._phis = before, len(body.lines)

    def end(self, values: list[str] | None = None) -> None:
        """Close the loop, with what its values become."""
        body, last = self.body, self.body.block
        phis = [
            f"  {self.counter} = phi i64 [ 0, %{self._before} ], [ {self._next}, %{last} ]",
            *(
                f"  {name} = phi {type_} [ {value}, %{self._before} ], [ {after}, %{last} ]"
                for name, (type_, value), after in zip(
                    self.values, self.carried, values or [], strict=True
                )
            ),
        ]
        body.lines[self._phis : self._phis] = phis
        body.do(f"{self._next} = add i64 {self.counter}, 1")
        done, out = body.op(f"icmp eq i64 {self._next}, {self.count}"), body.label("out")
        body.branch_if(done, out, self.label)
        body.start(out)
