"""Loads and stores of fragments: ldmatrix from shared memory where it applies, else by words."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require, special
from gridlane.codegen.llvm.gpu.nvptx.registers import (
    Register,
    first_register,
    packed,
    register_count,
    register_type,
    registers,
    tile_shape,
)
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.core.dtypes import DType, f32
from gridlane.core.frozen import frozen
from gridlane.ir.ops import matrix
from gridlane.ir.ops.matrix_instructions import FACTORS, first_capability
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import FragmentType, Role, Space
from gridlane.ir.values import Value

LEAST = 75
"""The compute capability from which tensor cores have the layout of this code."""
NEWER = 80
"""The compute capability from which tensor cores support bf16 and tf32."""


def fragment_type(value: Value) -> FragmentType:
    """The type of a fragment value."""
    assert isinstance(value.type, FragmentType)
    return value.type


def joined(state: Emission, type_: FragmentType, parts: list[str]) -> str:
    """The registers of a fragment joined as one value."""
    whole, element = state.register_name(type_), register_type(type_)
    fragment = "poison"
    for number, part in enumerate(parts):
        fragment = state.body.op(f"insertvalue {whole} {fragment}, {element} {part}, {number}")
    return fragment


def taken(state: Emission, value: Value) -> list[str]:
    """The registers of a fragment."""
    type_ = fragment_type(value)
    whole, name = state.register_name(type_), state.name(value)
    return [
        state.body.op(f"extractvalue {whole} {name}, {number}")
        for number in range(register_count(type_))
    ]


def require_factors(
    state: Emission, op: matrix.FragmentLoad | matrix.FragmentMma, element: DType
) -> None:
    """Refuse factors that the device's tensor cores do not support."""
    factor = FACTORS[element]
    what = {"f32": "tf32"}.get(element.name, element.name)
    require(state, first_capability(factor), op, f"{op.name} of {what} factors")


@frozen
class Lines:
    """A matrix in memory: ``pointer`` of LLVM type ``space`` to the lane's first element, and the
    stride of lines in bytes as an i64."""

    space: str
    pointer: str
    stride: str


def _lines(state: Emission, pointer: Value, stride: Value, line: str, item: str) -> Lines:
    """The matrix from ``line`` lines and ``item`` bytes on, both i32, as a lane sees it."""
    body = state.body
    space = state.register_name(pointer.type)
    size = pointer.type.element.size  # type: ignore[union-attr]  # a pointer
    distance = body.op(f"mul i64 {state.name(stride)}, {size}")
    down = body.op(f"mul i64 {body.op(f'zext i32 {line} to i64')}, {distance}")
    start = body.op(f"add i64 {down}, {body.op(f'zext i32 {item} to i64')}")
    first = body.op(f"getelementptr i8, {space} {state.name(pointer)}, i64 {start}")
    return Lines(space, first, distance)


def _at(state: Emission, lines: Lines, line: int, item: int) -> str:
    """A typed pointer plus some lines and bytes."""
    body = state.body
    offset = str(item)
    if line:
        down = body.op(f"mul i64 {lines.stride}, {line}")
        offset = body.op(f"add i64 {down}, {item}") if item else down
    where = lines.pointer
    if line or item:
        where = body.op(f"getelementptr i8, {lines.space} {where}, i64 {offset}")
    return f"{lines.space} {where}"


# ---- by words


def _own_lines(state: Emission, type_: FragmentType, pointer: Value, stride: Value, turned: bool):
    """The matrix from the lane's first element on."""
    body = state.body
    lane = special(body, "laneid")
    g, t = body.op(f"lshr i32 {lane}, 2"), body.op(f"and i32 {lane}, 3")
    step = 2 if type_.role is Role.ACC else packed(type_)
    along = body.op(f"mul i32 {t}, {step}")
    row, col = (along, g) if type_.role is Role.B else (g, along)
    line, item = (col, row) if turned else (row, col)
    return _lines(state, pointer, stride, line, body.op(f"mul i32 {item}, {type_.element.size}"))


def _is_contiguous(type_: FragmentType, by_columns: bool) -> bool:
    """Whether the elements of a word are adjacent in memory."""
    return by_columns == (type_.role is Role.B)


def _words(
    state: Emission, type_: FragmentType, lines: Lines, by_columns: bool
) -> Iterator[tuple[Register, list[str]]]:
    """Each register with pointers to its elements; only to the first where they are adjacent."""
    size = type_.element.size
    count = 1 if _is_contiguous(type_, by_columns) else packed(type_)
    for register in registers(type_):
        pointers: list[str] = []
        for number in range(count):
            row, col = register.row, register.col
            row, col = (row + number, col) if type_.role is Role.B else (row, col + number)
            line, item = (col, row) if by_columns else (row, col)
            pointers.append(_at(state, lines, line, item * size))
        yield register, pointers


def _load_words(state: Emission, op: matrix.FragmentLoad) -> list[str]:
    body, type_ = state.body, op.type
    lines = _own_lines(state, type_, op.pointer, op.stride, op.by_columns)
    name, bits = register_type(type_), type_.element.bits
    parts: list[str] = []
    for _, pointers in _words(state, type_, lines, op.by_columns):
        if len(pointers) == 1:
            parts.append(body.op(f"load {name}, {pointers[0]}, align 4"))
            continue
        word = "0"
        for number, place in enumerate(pointers):
            element = body.op(f"load i{bits}, {place}, align {bits // 8}")
            wide = body.op(f"zext i{bits} {element} to i32")
            word = body.op(f"or i32 {word}, {body.op(f'shl i32 {wide}, {bits * number}')}")
        parts.append(word)
    return parts


# ---- eight by eight


def _takes_ldmatrix(op: matrix.FragmentLoad) -> bool:
    """Whether ldmatrix applies: factors in shared memory whose words are contiguous there, or of
    16-bit elements, which the instruction transposes."""
    if op.type.role is Role.ACC or space_of(op.pointer) is not Space.SHARED:
        return False
    return _is_contiguous(op.type, op.by_columns) or op.type.element.size == 2


def _load_matrices(state: Emission, op: matrix.FragmentLoad) -> list[str]:
    """Emit ldmatrix.x4: lane n supplies the address of line n % 8 of matrix n // 8; the matrices
    are the four words of a tile of a, or of two adjacent tiles of b."""
    body, type_ = state.body, op.type
    lane = special(body, "laneid")
    low, middle = body.op(f"and i32 {lane}, 7"), body.op(f"and i32 {lane}, 8")
    high = body.op(f"and i32 {lane}, 16")
    # Whether the second matrix is the next lines, or the next 16 bytes of the same lines.
    if op.by_columns:
        line = body.op(f"or i32 {low}, {body.op(f'lshr i32 {high}, 1')}")
        item = body.op(f"shl i32 {middle}, 1")
    else:
        line, item = body.op(f"or i32 {low}, {middle}"), high
    lines = _lines(state, op.pointer, op.stride, line, item)
    trans = "" if _is_contiguous(type_, op.by_columns) else ".trans"
    quad = "{ i32, i32, i32, i32 }"
    rows, cols = tile_shape(type_)
    cols = 16 if type_.role is Role.B else cols
    parts = ["poison"] * register_count(type_)
    for row in range(0, type_.rows, rows):
        for col in range(0, type_.cols, cols):
            down, along = (col, row) if op.by_columns else (row, col)
            place = _at(state, lines, down, along * type_.element.size)
            where = place.rpartition(" ")[2]
            name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{trans}.b16.p3"
            four = body.call(quad, name, [("ptr addrspace(3)", where)])
            first = first_register(type_, row // rows, col // tile_shape(type_)[1])
            for number in range(4):
                parts[first + number] = body.op(f"extractvalue {quad} {four}, {number}")
    return parts


@emits(matrix.FragmentLoad)
def load(state: Emission, op: matrix.FragmentLoad) -> None:
    """Load a fragment from memory."""
    type_, body = op.type, state.body
    if type_.role is Role.ACC:
        require(state, LEAST, op, op.name)
    else:
        require_factors(state, op, type_.element)
    with traced(state, op, op.pointer):
        parts = _load_matrices(state, op) if _takes_ldmatrix(op) else _load_words(state, op)
    if type_.role is not Role.ACC and type_.element is f32:
        floats = [body.op(f"bitcast i32 {part} to float") for part in parts]
        parts = [body.call("i32", "llvm.nvvm.f2tf32.rna", [("float", x)]) for x in floats]
    state.set(op.results[0], joined(state, type_, parts))


@emits(matrix.FragmentStore)
def store(state: Emission, op: matrix.FragmentStore) -> None:
    """Store an accumulator, by words, or by pairs of words that are adjacent."""
    body, type_ = state.body, fragment_type(op.fragment)
    parts = taken(state, op.fragment)
    name, bits = register_type(type_), type_.element.bits
    with traced(state, op, op.pointer):
        lines = _own_lines(state, type_, op.pointer, op.stride, op.by_columns)
        for register, pointers in _words(state, type_, lines, op.by_columns):
            part = parts[register.number]
            if packed(type_) == 1 and not op.by_columns:
                _store_pair(state, name, parts, register, pointers[0])
            elif len(pointers) == 1:
                body.do(f"store {name} {part}, {pointers[0]}, align 4")
            else:
                for number, place in enumerate(pointers):
                    moved = body.op(f"lshr i32 {part}, {bits * number}")
                    element = body.op(f"trunc i32 {moved} to i{bits}")
                    body.do(f"store i{bits} {element}, {place}, align {bits // 8}")


def _store_pair(
    state: Emission, name: str, parts: list[str], register: Register, place: str
) -> None:
    """Store registers 2n and 2n + 1, which are adjacent in a row, at once."""
    if register.number % 2:
        return
    body, pair = state.body, f"<2 x {name}>"
    both = body.op(f"insertelement {pair} poison, {name} {parts[register.number]}, i32 0")
    both = body.op(f"insertelement {pair} {both}, {name} {parts[register.number + 1]}, i32 1")
    body.do(f"store {pair} {both}, {place}, align 8")
