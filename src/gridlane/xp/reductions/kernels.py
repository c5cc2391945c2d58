"""The code of a reduction.

The tree of a row is the same on every device, for every layout of memory and for every expression:
a thread combines its elements in four states, in turns, and then these; the states of a part's
threads combine by eights and fours; the states of parts are the elements of a further row.
"""

from __future__ import annotations

from gridlane.core.dtypes import i64
from gridlane.ir.expressions import Expression
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import Axis, Barrier, BlockIdx, ThreadIdx
from gridlane.ir.ops.memory import GlobalAddress
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Module, Value, Var
from gridlane.xp.groups import Form
from gridlane.xp.kernels import THREADS, Emission, converted, name_of, part_of
from gridlane.xp.operations.record import Complex, Operand
from gridlane.xp.reductions.kinds import KINDS, State, is_true

WARP = 32
_TURNS = 4
"""The states of a thread while it combines elements."""
_FANS = {1: (), 32: (8, 4), 256: (8, 8, 4)}
"""How many states combine at each level of a part's tree, by its threads."""


def module_of(form: Form) -> Module:
    """The kernel of a form that ends in a reduction, for blocks of ``THREADS`` threads.

    Its parameters are those of ``xp.kernels.module_of``; the addresses of the results, or of the
    states of parts, are behind those of what is stored beside them. The last one is the number of a
    row's elements, where the results depend on it.
    """
    return _Reduction(form).module


class _Reduction(Emission):
    """A kernel that reduces parts of rows."""

    def __init__(self, form: Form) -> None:
        fold = form.fold
        assert fold is not None
        self._fold, self._kind = fold, KINDS[fold.kind]
        self._dtypes = self._kind.states(fold.accumulator)
        results = (fold.result,) if fold.is_last else self._dtypes
        super().__init__(form, f"{name_of(form)}_{fold.kind}", results)
        b = self.b
        self._length = (
            self.param(i64) if fold.is_last and self._kind.is_counting else self._number(0)
        )
        self._rows = self._product(self.extents[: fold.kept])
        self._count = self._product(self.extents[fold.kept :])
        self._place()
        self._states = self._variables()
        with b.if_(self._is_row):
            self._walk()
        state = self._combined_threads(self._read(self._states[0]))
        with b.if_(b.and_(self._is_row, b.eq(self._lane, self._number(0)))):
            self._put(state)
        self.finish()

    # --- integers ---

    def _number(self, number: int) -> Value:
        return self.w.const(number, i64).value

    def _product(self, extents: list[Value]) -> Value:
        total = self._number(1)
        for extent in extents:
            total = self.b.mul(total, extent)
        return total

    def _least(self, a: Value, b: Value) -> Value:
        return self.b.binary(arith.Min, a, b)

    # --- the thread's part ---

    def _place(self) -> None:
        """The row and the part of a thread, and its place there."""
        b, fold = self.b, self._fold
        block = b.cast(b.value(BlockIdx(Axis.X)), i64)
        self._thread = thread = b.cast(b.value(ThreadIdx(Axis.X)), i64)
        # In this form the CPU's vectoriser sees that a warp has one row, and neighbouring elements.
        self._warp = warp = b.and_(thread, self._number(-WARP))
        self._of_warp = b.sub(thread, warp)
        of_block = {
            1: thread,
            WARP: b.binary(arith.Shr, warp, self._number(WARP.bit_length() - 1)),
            THREADS: self._number(0),
        }[fold.width]
        number = b.add(b.mul(block, self._number(THREADS // fold.width)), of_block)
        self._lane = {1: self._number(0), WARP: self._of_warp, THREADS: thread}[fold.width]
        if fold.is_last:
            row, part, parts = number, self._number(0), self._number(1)
        else:
            span = self._number(fold.span)
            parts = b.div(b.add(self._count, self._number(fold.span - 1)), span)
            inner = self._rows if fold.by_columns else parts
            above = b.div(number, inner)
            below = b.sub(number, b.mul(above, inner))
            row, part = (below, above) if fold.by_columns else (above, below)
        self._is_row = b.lt(number, b.mul(self._rows, parts))
        self._number_of_part, self._row = number, row
        self._start = b.mul(part, self._number(fold.span))

    def _walk(self) -> None:
        """Combine the elements of a thread into the first of its states."""
        b, fold = self.b, self._fold
        end = self._least(b.add(self._start, self._number(fold.span)), self._count)
        start, stride, own = self._start, 1, self._number(0)
        if fold.width > 1:
            # Each warp has neighbouring elements, as many for each thread as the next one has.
            stride, own = WARP, self._of_warp
            of_warp = b.mul(self._per_thread(), self._number(WARP))
            if fold.width > WARP:
                start = b.add(start, b.mul(self._warp, self._per_thread()))
            end = self._least(end, b.add(start, of_warp))
        kept = self.parts(self._row, self.extents[: fold.kept]) if fold.kept else []
        place = b.variable("place", i64)
        b.write(place, start)
        with b.loop():
            at = b.read(place)
            following = b.add(at, self._number(_TURNS * stride))
            b.break_if(b.lt(end, following))
            for turn in range(_TURNS):
                self._take(turn, kept, b.add(b.add(at, self._number(turn * stride)), own))
            b.write(place, following)
        with b.loop(unroll=1):
            at = b.read(place)
            b.break_if(b.not_(b.lt(at, end)))
            mine = b.add(at, own)
            if stride == 1:
                self._take(0, kept, mine)
            else:
                with b.if_(b.lt(mine, end)):
                    self._take(0, kept, mine)
            b.write(place, b.add(at, self._number(stride)))
        states = [self._read(each) for each in self._states]
        self._write(self._states[0], self._tree(states))

    def _per_thread(self) -> Value:
        """How many elements a thread of a row has at most."""
        b, fold = self.b, self._fold
        longest = self._least(self._count, self._number(fold.span))
        return b.div(b.add(longest, self._number(fold.width - 1)), self._number(fold.width))

    def _take(self, turn: int, kept: list[Value], at: Value) -> None:
        """Combine an element into a state, and store what else is stored of it."""
        fold, w = self._fold, self.w
        along = self.parts(at, self.extents[fold.kept :]) if self.extents[fold.kept :] else []
        indices = [*kept, *along]
        values = self.values(indices)
        if self.outputs:
            linear = self.index(indices, self.target)
            for place, address in zip(self.form.stored, self.outputs, strict=True):
                self.store(address, linear, values[place])
        mine = self._read(self._states[turn])
        if not fold.is_first:
            state = tuple([values[place] for place in fold.operands])
        else:
            element = converted(w, values[fold.operands[0]], fold.accumulator)
            state = self._kind.element(w, element, w.wrap(at))
        if fold.is_masked:
            takes_part = is_true(values[fold.operands[1]])
            state = self._selected(takes_part, state, self._identity())
        self._write(self._states[turn], self._kind.combine(w, mine, state))

    # --- states ---

    def _identity(self) -> State:
        accumulator = self._fold.accumulator
        return self._kind.identity(self.w, accumulator, part_of(accumulator))

    def _selected(self, condition: Expression, a: State, b: State) -> State:
        chosen: list[Operand] = []
        for one, other in zip(a, b, strict=True):
            parts = [
                self.w.select(condition, x, y)
                for x, y in zip(scalars((one,)), scalars((other,)), strict=True)
            ]
            chosen.append(Complex(*parts) if len(parts) == 2 else parts[0])
        return tuple(chosen)

    def _tree(self, states: list[State]) -> State:
        """Combine neighbours until one is left."""
        while len(states) > 1:
            pairs = zip(states[::2], states[1::2], strict=True)
            states = [self._kind.combine(self.w, a, b) for a, b in pairs]
        return states[0]

    def _combined_threads(self, state: State) -> State:
        """The state of a part, in its first thread."""
        b, fold = self.b, self._fold
        if fold.width == 1:
            return state
        tiles = [self._tile(number, each) for number, each in enumerate(scalars(state))]
        for tile, each in zip(tiles, scalars(state), strict=True):
            b.store(b.offset(tile, self._thread), each.value)
        left = fold.width
        for fan in _FANS[fold.width]:
            b.emit(Barrier())
            left //= fan
            with b.if_(b.lt(self._lane, self._number(left))):
                states = [
                    self._of(
                        [
                            self.w.wrap(
                                b.load(
                                    b.offset(tile, b.add(self._thread, self._number(left * number)))
                                )
                            )
                            for tile in tiles
                        ]
                    )
                    for number in range(fan)
                ]
                state = self._tree(states)
                if left > 1:
                    for tile, each in zip(tiles, scalars(state), strict=True):
                        b.store(b.offset(tile, self._thread), each.value)
                else:
                    self._write(self._states[0], state)
        return self._read(self._states[0])

    def _tile(self, number: int, like: Expression) -> Value:
        """Shared memory for a number of each thread."""
        name = f"tile{number}"
        self.module.globals[name] = Global(name, like.dtype, THREADS, Space.SHARED)
        return self.b.value(GlobalAddress(name, pointer(like.dtype, Space.SHARED)))

    def _of(self, parts: list[Expression]) -> State:
        """A state from its scalars."""
        rest = iter(parts)
        return tuple(
            [
                Complex(next(rest), next(rest)) if dtype.kind == "c" else next(rest)
                for dtype in self._dtypes
            ]
        )

    def _variables(self) -> list[list[Var]]:
        """Variables for the states, which start as the identity."""
        start = scalars(self._identity())
        states = [[self.b.variable("state", each.dtype) for each in start] for _ in range(_TURNS)]
        for variables in states:
            self._write(variables, self._identity())
        return states

    def _read(self, variables: list[Var]) -> State:
        return self._of([self.w.wrap(self.b.read(var)) for var in variables])

    def _write(self, variables: list[Var], state: State) -> None:
        for var, each in zip(variables, scalars(state), strict=True):
            self.b.write(var, each.value)

    def _put(self, state: State) -> None:
        """Store the result of a row, or the state of its part."""
        fold = self._fold
        if fold.is_last:
            result = self._kind.result(self.w, state, self.w.wrap(self._length))
            self.store(self.more[0], self._number_of_part, converted(self.w, result, fold.result))
            return
        for address, each in zip(self.more, state, strict=True):
            self.store(address, self._number_of_part, each)


def scalars(state: State) -> list[Expression]:
    """The numbers of a state: both parts of a complex one."""
    parts: list[Expression] = []
    for each in state:
        parts += each if isinstance(each, Complex) else [each]
    return parts
