"""Short vectors in aligned memory, by moves of up to 16 bytes: another thread sees all of a store's
parts or none.

GPUs access such a vector whole, and programs pass a value and the flag that it is there in one.
``ld.volatile`` and ``ld.relaxed`` are atomic here. A weak access is one instruction where the
processor has an atomic one for it; see ``Machine.moves_16_bytes``.

Lanes that do not run access a hole, memory of their function, so that no lane needs a branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform
from gridlane.codegen.llvm.text import Body, memory_name, widen
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import memory
from gridlane.ir.types import Space, StructType, Type, VectorType
from gridlane.ir.values import Value

MOST_IN_LINE = 32
"""The most calls of a function of moves that LLVM may inline."""

STRONG, WEAK, PLAIN = "monotonic", "unordered", ""


@frozen
class Moves:
    """How one vector is accessed: ``pieces`` moves, each of ``count`` elements that LLVM names
    ``held``, of ``size`` bytes at a multiple of them. ``order`` is LLVM's, or empty."""

    held: str
    count: int
    pieces: int
    size: int
    order: str

    @property
    def piece(self) -> str:
        """LLVM's type of what a move has."""
        return widen(self.held, self.count)

    @property
    def elements(self) -> int:
        """Elements of the vector."""
        return self.count * self.pieces

    @property
    def name(self) -> str:
        """The part of a function's name that distinguishes its moves from others."""
        return f"{self.pieces} x {self.piece} {self.order or 'plain'}"


def moves_of(type_: Type, aligned: bool) -> Moves | None:
    """How a vector in memory is accessed at least, by plain moves; None where its elements are
    accessed one by one."""
    if not aligned or not isinstance(type_, VectorType):
        return None
    count = type_.align // type_.element.size
    if count < 2:
        return None
    held, size = memory_name(type_.element), type_.align
    return Moves(held, count, type_.count // count, size, PLAIN)


def ordered(state: Emission, moves: Moves, op: memory.Load | memory.Store) -> Moves:
    """The same moves, in the order that the access needs."""
    space, order = memory.space_of(op.pointer), PLAIN
    if space not in (Space.LOCAL, Space.CONSTANT):
        if op.volatile:
            order = STRONG
        elif _may_be_taken_apart(state, op) and (moves.size <= 8 or state.machine.moves_16_bytes):
            order = WEAK
    return Moves(moves.held, moves.count, moves.pieces, moves.size, order)


def _may_be_taken_apart(state: Emission, op: memory.Load | memory.Store) -> bool:
    """Whether a plain access may become several, which another thread notices. LLVM takes a load
    of one vector for all lanes apart where that saves instructions, and loads each number for all
    lanes faster than it repeats what it has loaded. A block runs on one thread of the host."""
    if not isinstance(state.rep(op.pointer), Uniform):
        return False
    if isinstance(op, memory.Store):
        return True
    if memory.space_of(op.pointer) is Space.SHARED:
        return False
    root = parameter_of(op.pointer)
    return root is None or bool(state.stored & {root, None})


def parameter_of(pointer: Value) -> Value | None:
    """The parameter that an address is an offset of, if that is known."""
    while isinstance(pointer.op, memory.Offset | memory.FieldPointer | memory.Recast):
        pointer = pointer.op.pointer
    return pointer if pointer.op is None else None


def stored_vectors(ops: Iterable[Op]) -> frozenset[Value | None]:
    """The parameters whose memory a kernel stores vectors to; None: to others."""
    return frozenset(
        parameter_of(op.pointer)
        for op in ops
        if isinstance(op, memory.Store)
        and isinstance(op.value.type, VectorType | StructType)
        and memory.space_of(op.pointer) in (Space.GLOBAL, Space.GENERIC)
    )


# ---- one vector


def load_one(body: Body, address: str, moves: Moves) -> list[str]:
    """The pieces of the vector at an address. The last one is loaded first: it determines whether
    the others are valid."""
    pieces: list[str] = []
    for number in reversed(range(moves.pieces)):
        pieces.append(_load(body, _piece_of(body, address, number, moves), moves))
        if moves.order == STRONG and number:
            body.do("fence acquire")
    return pieces[::-1]


def store_one(body: Body, address: str, pieces: list[str], moves: Moves) -> None:
    """Write the pieces of a vector to an address, the last one last."""
    for number, piece in enumerate(pieces):
        if moves.order == STRONG and number:
            body.do("fence release")
        _store(body, _piece_of(body, address, number, moves), piece, moves)


def split(body: Body, pieces: list[str], moves: Moves) -> list[str]:
    """The elements of a vector."""
    return [
        body.op(f"extractelement {moves.piece} {piece}, i64 {place}")
        for piece in pieces
        for place in range(moves.count)
    ]


def joined(body: Body, elements: list[str], moves: Moves) -> list[str]:
    """The pieces of a vector with these elements."""
    pieces: list[str] = []
    for start in range(0, moves.elements, moves.count):
        piece = "poison"
        for place, element in enumerate(elements[start : start + moves.count]):
            inserted = f"{moves.piece} {piece}, {moves.held} {element}, i64 {place}"
            piece = body.op(f"insertelement {inserted}")
        pieces.append(piece)
    return pieces


def _piece_of(body: Body, address: str, number: int, moves: Moves) -> str:
    if not number:
        return address
    return body.op(f"getelementptr i8, ptr {address}, i64 {number * moves.size}")


def _load(body: Body, address: str, moves: Moves) -> str:
    if not moves.order:
        return body.op(f"load {moves.piece}, ptr {address}, align {moves.size}")
    word = f"i{8 * moves.size}"
    volatile = "volatile " if moves.order == STRONG else ""
    bits = body.op(f"load atomic {volatile}{word}, ptr {address} {moves.order}, align {moves.size}")
    return body.op(f"bitcast {word} {bits} to {moves.piece}")


def _store(body: Body, address: str, piece: str, moves: Moves) -> None:
    if not moves.order:
        body.do(f"store {moves.piece} {piece}, ptr {address}, align {moves.size}")
        return
    word = f"i{8 * moves.size}"
    bits = body.op(f"bitcast {moves.piece} {piece} to {word}")
    volatile = "volatile " if moves.order == STRONG else ""
    body.do(
        f"store atomic {volatile}{word} {bits}, ptr {address} {moves.order}, align {moves.size}"
    )


# ---- a vector for each lane


def load_each(state: Emission, addresses: str, moves: Moves) -> list[str]:
    """The elements of the vectors that the running lanes point to: for each element one vector of
    lanes."""
    result = _result(state.lanes, moves)
    name = f"gridlane.load {state.lanes} x {moves.name}{_masked(state)}"
    if name not in state.functions:
        state.functions[name] = _function(state, name, result, [], _loads(state, moves))
    _count(state, name)
    whole = state.body.op(f'call fastcc {result} @"{name}"({_arguments(state, addresses, [])})')
    return [
        state.body.op(f"extractvalue {result} {whole}, {place}") for place in range(moves.elements)
    ]


def store_each(state: Emission, addresses: str, elements: list[str], moves: Moves) -> None:
    """Write such vectors, the lowest lane's first."""
    vector = widen(moves.held, state.lanes)
    name = f"gridlane.store {state.lanes} x {moves.name}{_masked(state)}"
    typed = [f"{vector} {element}" for element in elements]
    if name not in state.functions:
        types = [vector] * moves.elements
        state.functions[name] = _function(state, name, "void", types, _stores(state, moves))
    _count(state, name)
    state.body.do(f'call fastcc void @"{name}"({_arguments(state, addresses, typed)})')


def _count(state: Emission, name: str) -> None:
    """Count a call. Copies of a function that is called often would be long code."""
    state.calls[name] = state.calls.get(name, 0) + 1
    if state.calls[name] == MOST_IN_LINE + 1:
        text = state.functions[name]
        state.functions[name] = text.replace(") #0 {", ") noinline #0 {", 1)


def _result(lanes: int, moves: Moves) -> str:
    return "{ " + ", ".join([widen(moves.held, lanes)] * moves.elements) + " }"


def _masked(state: Emission) -> str:
    return "" if state.mask is None else " masked"


def _arguments(state: Emission, addresses: str, elements: list[str]) -> str:
    mask = [] if state.mask is None else [f"{state.mask_type} {state.mask}"]
    return ", ".join([f"{widen('ptr', state.lanes)} {addresses}", *elements, *mask])


def _function(state: Emission, name: str, result: str, types: list[str], body: Body) -> str:
    """A definition whose parameters are the addresses, elements and, if any, the mask."""
    mask = [] if state.mask is None else [f"{state.mask_type} %mask"]
    elements = [f"{type_} %x{place}" for place, type_ in enumerate(types)]
    parameters = ", ".join([f"{widen('ptr', state.lanes)} %to", *elements, *mask])
    head = f'define internal fastcc {result} @"{name}"({parameters}) #0 {{'
    return "\n".join([head, "entry:", *body.allocas, *body.lines, "}"])


def _each_address(state: Emission, body: Body) -> list[str]:
    """Where each lane's vector is; a hole for lanes that do not run."""
    lanes, name = state.lanes, "%to"
    pointers = widen("ptr", lanes)
    if state.mask is not None:
        hole = body.alloca("[64 x i8]", align=64)
        first = body.op(f"insertelement {pointers} poison, ptr {hole}, i64 0")
        holes = shuffled(body, "ptr", lanes, first, "poison", [0] * lanes)
        name = body.op(f"select {state.mask_type} %mask, {pointers} {name}, {pointers} {holes}")
    return [body.op(f"extractelement {pointers} {name}, i64 {lane}") for lane in range(lanes)]


def _loads(state: Emission, moves: Moves) -> Body:
    """Load every lane's pieces, and sort them by element."""
    body = Body()
    loaded = [load_one(body, address, moves) for address in _each_address(state, body)]
    elements = [
        element
        for number in range(moves.pieces)
        for element in _by_element(body, [each[number] for each in loaded], moves)
    ]
    result, vector = _result(state.lanes, moves), widen(moves.held, state.lanes)
    whole = "poison"
    for place, element in enumerate(elements):
        whole = body.op(f"insertvalue {result} {whole}, {vector} {element}, {place}")
    body.do(f"ret {result} {whole}")
    return body


def _stores(state: Emission, moves: Moves) -> Body:
    """Sort the elements by lane, and store every lane's pieces."""
    body = Body()
    addresses = _each_address(state, body)
    by_piece = [
        _by_lane(body, state.lanes, [f"%x{start + place}" for place in range(moves.count)], moves)
        for start in range(0, moves.elements, moves.count)
    ]
    for lane, address in enumerate(addresses):
        store_one(body, address, [pieces[lane] for pieces in by_piece], moves)
    body.do("ret void")
    return body


# ---- transposition, in squares, for which processors have instructions


def _by_element(body: Body, pieces: list[str], moves: Moves) -> list[str]:
    """From a piece of each lane, for each of its elements a vector of lanes."""
    lanes, count = len(pieces), moves.count
    side = min(lanes, count)
    squares: list[list[str]] = []
    for start in range(0, lanes, side):
        row = together(body, moves.held, count, pieces[start : start + side])
        size = count * side
        squares.append(
            [
                shuffled(body, moves.held, size, row, "poison", range(place, size, count))
                for place in range(count)
            ]
        )
    return [
        together(body, moves.held, side, [square[place] for square in squares])
        for place in range(count)
    ]


def _by_lane(body: Body, lanes: int, elements: list[str], moves: Moves) -> list[str]:
    """From the elements of a piece, each a vector of lanes, the piece of each lane."""
    count = moves.count
    side = min(lanes, count)
    pieces: list[str] = []
    for start in range(0, lanes, side):
        cut = range(start, start + side)
        parts = [shuffled(body, moves.held, lanes, each, "poison", cut) for each in elements]
        row, size = together(body, moves.held, side, parts), side * count
        pieces += [
            shuffled(body, moves.held, size, row, "poison", range(lane, size, side))
            for lane in range(side)
        ]
    return pieces


def together(body: Body, held: str, count: int, vectors: list[str]) -> str:
    """Vectors of ``count`` elements, a power of two of them, as one."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [shuffled(body, held, count, a, b, range(2 * count)) for a, b in pairs]
        count *= 2
    return vectors[0]


def shuffled(body: Body, held: str, count: int, a: str, b: str, order: Sequence[int]) -> str:
    """A shuffle of two vectors of ``count`` elements."""
    type_ = widen(held, count)
    picks = ", ".join(f"i32 {number}" for number in order)
    return body.op(f"shufflevector {type_} {a}, {type_} {b}, <{len(order)} x i32> <{picks}>")
