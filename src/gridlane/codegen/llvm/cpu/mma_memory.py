"""Registers of ``mma`` from and to memory: a function for each matrix, its order and a mask.

A kernel may have thousands of such accesses, of a dozen gathers each, so they are calls. Where the
lanes of four have adjacent bytes a row of them is one move, if all lanes run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Uniform
from gridlane.codegen.llvm.cpu.moves import shuffled, together
from gridlane.codegen.llvm.cpu.registers import registers_of
from gridlane.codegen.llvm.text import Body, mangle, scalar_name, vector_constant
from gridlane.core.decisions import decided
from gridlane.ir.ops.mma_memory import (
    MmaLoad,
    MmaStore,
    Place,
    in_register,
    lines,
    register_type,
    steps,
)
from gridlane.ir.values import Value

_LANES = 32
_ROWS = 8
"""The rows of a register, of four lanes each."""
_INDICES = "<32 x i32>"

_Register: TypeAlias = Callable[[list[Place], str], None]
"""Emits the access of a register, from its elements in lane 0 and its address."""


@emits(MmaLoad)
def load(state: Emission, op: MmaLoad) -> None:
    """Call the function that reads the matrix."""
    decided(op.loc, "load", "a matrix of the warp, by a function")
    function = _Function(op, state.mask is not None)
    if function.name not in state.functions:
        state.functions[function.name] = function.loads(state.body.declared)
    registers = registers_of(state)
    destination = registers.made(state, op)
    state.body.do(f'call fastcc void @"{function.name}"({_arguments(state, op, destination)})')
    registers.keep(state, op, destination)


@emits(MmaStore)
def store(state: Emission, op: MmaStore) -> None:
    """Call the function that writes the matrix."""
    decided(op.loc, "store", "a matrix of the warp, by a function")
    function = _Function(op, state.mask is not None)
    if function.name not in state.functions:
        state.functions[function.name] = function.stores(state.body.declared)
    (given,) = registers_of(state).given(state, op, op.values)
    state.body.do(f'call fastcc void @"{function.name}"({_arguments(state, op, given)})')


def _arguments(state: Emission, op: MmaLoad | MmaStore, registers: str) -> str:
    pointer, stride = first(state, op.pointer), first(state, op.stride)
    mask = "" if state.mask is None else f", <32 x i1> {state.mask}"
    return f"ptr {registers}, ptr {pointer}, i32 {stride}{mask}"


def first(state: Emission, value: Value) -> str:
    """The scalar of a value that is the same in all lanes: that of the first one that runs."""
    rep, body = state.rep(value), state.body
    if isinstance(rep, Uniform):
        return rep.name
    name = scalar_name(value.type)
    if state.mask is None:
        return rep.base if isinstance(rep, Linear) else state.extract(state.vector(value), name, 0)
    lane = state.first_lane(state.bits(state.mask))
    lane = body.op(f"and i32 {lane}, {_LANES - 1}")  # if no lane runs
    return state.extract(state.vector(value), name, lane)


class _Function:
    """The text of a function of the registers' address, the first element's address, the stride,
    and the mask unless all lanes run."""

    def __init__(self, op: MmaLoad | MmaStore, masked: bool) -> None:
        matrix = self.matrix = op.matrix
        self.masked, self.body = masked, Body()
        self.held = scalar_name(matrix.element)
        self.register = scalar_name(register_type(matrix))
        self.vector = f"<32 x {self.register}>"
        self.lines = lines(matrix, op.by_columns)
        order = "columns" if op.by_columns else "rows"
        self.name = f"gridlane.{op.name} {matrix} {order}{' masked' * masked}"
        group, thread = steps(matrix)
        if op.by_columns:
            group, thread = group[::-1], thread[::-1]
        self.group, self.thread = group, thread
        self.size, self.count = matrix.element.size, in_register(matrix)

    @property
    def is_word(self) -> bool:
        """Whether the elements of a register are adjacent in memory."""
        return self.count == 1 or self.lines[0][1][0] == self.lines[0][0][0]

    @property
    def in_rows(self) -> bool:
        """Whether the registers of four lanes are adjacent in memory."""
        return self.is_word and self.thread == (0, self.count)

    # ---- the two functions

    def loads(self, declared: dict[str, str]) -> str:
        """Read registers."""
        return self._text(self._load_rows, self._gather, declared)

    def stores(self, declared: dict[str, str]) -> str:
        """Write registers."""
        return self._text(self._store_rows, self._scatter, declared)

    def _text(self, rows: _Register, each: _Register, declared: dict[str, str]) -> str:
        """The definition; what it calls is declared with the module's."""
        body = self.body
        self._branch()
        if self.in_rows:
            for number, register in enumerate(self.lines):
                rows(register, self._place(number))
            body.do("ret void")
        if self.masked or not self.in_rows:
            self._gathering()
            for number, register in enumerate(self.lines):
                each(register, self._place(number))
            body.do("ret void")
        declared.update(body.declared)
        mask = ", <32 x i1> %mask" * self.masked
        parameters = f"ptr %registers, ptr %start, i32 %stride{mask}"
        head = f'define internal fastcc void @"{self.name}"({parameters}) noinline #0 {{'
        return "\n".join([head, "entry:", *body.lines, "}"])

    def _place(self, number: int) -> str:
        """The address of a register."""
        return self.body.op(f"getelementptr {self.vector}, ptr %registers, i64 {number}")

    def _branch(self) -> None:
        """Choose rows if all lanes run."""
        body = self.body
        self.stride = body.op("zext i32 %stride to i64")
        if not (self.masked and self.in_rows):
            return
        bits = body.op("bitcast <32 x i1> %mask to i32")
        body.branch_if(body.op(f"icmp eq i32 {bits}, -1"), "rows", "some")
        body.start("rows")

    def _gathering(self) -> None:
        """Compute the index of each lane's element from that of a register's first one."""
        body = self.body
        if self.masked and self.in_rows:
            body.start("some")
        down, along = (
            [
                self.group[axis] * (lane // 4) + self.thread[axis] * (lane % 4)
                for lane in range(_LANES)
            ]
            for axis in (0, 1)
        )
        first = body.op(f"insertelement {_INDICES} poison, i32 %stride, i64 0")
        every = shuffled(body, "i32", _LANES, first, "poison", [0] * _LANES)
        line = body.op(f"mul {_INDICES} {every}, {vector_constant(down, 'i32')}")
        index = body.op(f"add {_INDICES} {line}, {vector_constant(along, 'i32')}")
        self.index = body.op(f"sext {_INDICES} {index} to <32 x i64>")

    def _at(self, place: Place) -> str:
        """The address of an element of lane 0."""
        body = self.body
        line = body.op(f"mul i64 {self.stride}, {place[0]}")
        index = body.op(f"add i64 {line}, {place[1]}")
        bytes_ = body.op(f"mul i64 {index}, {self.size}")
        return body.op(f"getelementptr i8, ptr %start, i64 {bytes_}")

    # ---- rows

    def _row(self, place: Place, number: int) -> str:
        """The address of a row of four registers."""
        return self._at((place[0] + self.group[0] * number, place[1] + self.group[1] * number))

    def _load_rows(self, register: list[Place], to: str) -> None:
        row = f"<4 x {self.register}>"
        results = [
            self.body.op(f"load {row}, ptr {self._row(register[0], n)}, align {self.size}")
            for n in range(_ROWS)
        ]
        whole = together(self.body, self.register, 4, results)
        self.body.do(f"store {self.vector} {whole}, ptr {to}, align 64")

    def _store_rows(self, register: list[Place], place: str) -> None:
        value = self.body.op(f"load {self.vector}, ptr {place}, align 64")
        for number in range(_ROWS):
            lanes = range(4 * number, 4 * number + 4)
            row = shuffled(self.body, self.register, _LANES, value, "poison", lanes)
            where = self._row(register[0], number)
            self.body.do(f"store <4 x {self.register}> {row}, ptr {where}, align {self.size}")

    # ---- gathers

    def _access(self, place: Place) -> list[tuple[str, str]]:
        """The addresses of an element in all lanes, and the mask, as operands."""
        element, start = f"i{8 * self.size}", self._at(place)
        pointers = self.body.op(f"getelementptr {element}, ptr {start}, <32 x i64> {self.index}")
        mask = "%mask" if self.masked else "splat (i1 true)"
        return [(f"<32 x ptr> align {self.size}", pointers), ("<32 x i1>", mask)]

    def _gather(self, register: list[Place], to: str) -> None:
        """Read a register, by its whole or by its elements."""
        whole_row = self._whole(register)
        self.body.do(f"store {self.vector} {whole_row}, ptr {to}, align 64")

    def _whole(self, register: list[Place]) -> str:
        if self.is_word:
            return self._gathered(register[0], self.register)
        body, width, total = self.body, 8 * self.size, "zeroinitializer"
        for number, place in enumerate(register):
            element = self._gathered(place, f"i{width}")
            wide = body.op(f"zext <32 x i{width}> {element} to {_INDICES}")
            moved = body.op(f"shl {_INDICES} {wide}, splat (i32 {number * width})")
            total = body.op(f"or {_INDICES} {total}, {moved}")
        return total

    def _gathered(self, place: Place, held: str) -> str:
        vector = f"<32 x {held}>"
        name = f"llvm.masked.gather.{mangle(held, _LANES)}.{mangle('ptr', _LANES)}"
        operands = [*self._access(place), (vector, "zeroinitializer")]
        return self.body.call(vector, name, operands)

    def _scatter(self, register: list[Place], source: str) -> None:
        """Write a register, by its whole or by its elements."""
        value = self.body.op(f"load {self.vector}, ptr {source}, align 64")
        if self.is_word:
            self._scattered(register[0], self.register, value)
            return
        width = 8 * self.size
        for number, place in enumerate(register):
            moved = self.body.op(f"lshr {_INDICES} {value}, splat (i32 {number * width})")
            element = self.body.op(f"trunc {_INDICES} {moved} to <32 x i{width}>")
            self._scattered(place, f"i{width}", element)

    def _scattered(self, place: Place, held: str, value: str) -> None:
        name = f"llvm.masked.scatter.{mangle(held, _LANES)}.{mangle('ptr', _LANES)}"
        self.body.call("void", name, [(f"<32 x {held}>", value), *self._access(place)])
