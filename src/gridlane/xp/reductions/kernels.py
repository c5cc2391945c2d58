"""The code of a reduction.

The tree of a row is the same on every device, for every layout of memory and for every expression:
a thread combines its elements in four states, in turns, and then these; the states of a part's
threads combine by eights and fours; the states of parts are the elements of a further row.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import i32, i64
from gridlane.ir.expressions import Expression
from gridlane.ir.ops.grid import Barrier
from gridlane.ir.values import Module, Value, Var
from gridlane.xp.groups import Form
from gridlane.xp.kernels import THREADS, converted, name_of
from gridlane.xp.reductions.kinds import KINDS, State
from gridlane.xp.reductions.record import WARP
from gridlane.xp.reductions.rows import Rows, scalars

_TURNS = 4
"""The states of a thread while it combines elements."""
_MANY_TURNS = 4 * _TURNS
_FANS = {1: (), 32: (8, 4), 256: (8, 8, 4)}
"""How many states combine at each level of a part's tree, by its threads."""


def module_of(form: Form) -> Module:
    """The kernel of a form that ends in a reduction, for blocks of ``THREADS`` threads.

    Its parameters are those of ``xp.kernels.module_of``; the addresses of the results, or of the
    states of parts, are behind those of what is stored beside them. The last one is the number of a
    row's elements, where the results depend on it.
    """
    return _Reduction(form).module


class Folding(Rows):
    """A kernel whose threads reduce parts of rows."""

    def reduce(self) -> State:
        """The state of a part, in its first thread. A barrier is needed before the next one: they
        share memory."""
        is_real = self.fold.accumulator.kind != "c"
        self._advance = self.kind.advance if self.fold.is_first and is_real else None
        self._states, b = self._variables(), self.b
        near = None
        if self._advance is not None:
            near = b.variable("near", i32)
            b.write(near, self.w.const(i32.max, i32).value)
        if self.fold.in_step:
            self._walk(near)
        else:
            with b.if_(self.is_row):
                self._walk(near)
        state = self._combined_threads(self._read(self._states[0]))
        if near is None:
            return state
        index = state[1]
        assert isinstance(index, Expression)
        return state[0], self.w.wrap(b.add(self.start, b.cast(index.value, i64)))

    def each(self, take: Callable[[int, Value], None], near: Var | None = None) -> None:
        """Do something for each element of a thread.

        Args:
            take: does it, with a number of the turn, and the element's index.
            near: gets the index behind the part's first element of the first one.
        """
        b, fold = self.b, self.fold
        end = self.least(b.add(self.start, self.integer(fold.span)), self.count)
        start, stride, own = self.start, 1, self.integer(0)
        if fold.width > 1:
            # Each warp has neighbouring elements, as many for each thread as the next one has.
            stride, own = WARP, self.of_warp
            of_warp = b.mul(self._per_thread(), self.integer(WARP))
            if fold.width > WARP:
                start = b.add(start, b.mul(self.warp, self._per_thread()))
            end = self.least(end, b.add(start, of_warp))
        if near is not None:
            b.write(near, b.cast(b.sub(b.add(start, own), self.start), i32))
        place = b.variable("place", i64)
        b.write(place, start)
        # States of parts have few blocks, each of whose threads then waits for one load less often.
        for turns in (_TURNS,) if fold.is_first else (_MANY_TURNS, _TURNS):
            with b.loop():
                at = b.read(place)
                following = b.add(at, self.integer(turns * stride))
                b.break_if(b.lt(end, following))
                with self.in_step():
                    for turn in range(turns):
                        take(turn, b.add(b.add(at, self.integer(turn * stride)), own))
                b.write(place, following)
        with b.loop(unroll=1):
            at = b.read(place)
            b.break_if(b.not_(b.lt(at, end)))
            mine = b.add(at, own)
            if stride == 1:
                with self.in_step():
                    take(0, mine)
            else:
                with b.if_(b.lt(mine, end)):
                    take(0, mine)
            b.write(place, b.add(at, self.integer(stride)))

    def _walk(self, near: Var | None) -> None:
        """Combine the elements of a thread into the first of its states.

        Args:
            near: the index of that state behind the part's first, for kinds that ``advance``.
        """
        self.each(lambda turn, place: self._take(turn % len(self._states), near, place), near)
        if near is not None:
            self._states = [[self._states[0][0], near]]
        states = [self._read(each) for each in self._states]
        self._write(self._states[0], self._tree(states))

    def _per_thread(self) -> Value:
        """How many elements a thread of a row has at most."""
        b, fold = self.b, self.fold
        longest = self.least(self.count, self.integer(fold.span))
        return b.div(b.add(longest, self.integer(fold.width - 1)), self.integer(fold.width))

    def _take(self, turn: int, near: Var | None, at: Value) -> None:
        """Combine an element into a state. An index is that behind the part's first, in 32 bits, of
        which a vector holds as many as of floats."""
        w, b, variables = self.w, self.b, self._states[turn]
        state = self.element(at)
        if self._advance is None or near is None:
            self._write(variables, self.kind.combine(w, self._read(variables), state))
            return
        before = w.wrap(b.read(variables[0])), w.wrap(b.read(near))
        index = w.wrap(b.cast(b.sub(at, self.start), i32))
        value, index = self._advance(w, before, (state[0], index))
        assert isinstance(value, Expression) and isinstance(index, Expression)
        b.write(variables[0], value.value)
        b.write(near, index.value)

    # --- states ---

    def _tree(self, states: list[State]) -> State:
        """Combine neighbours until one is left."""
        while len(states) > 1:
            pairs = zip(states[::2], states[1::2], strict=True)
            states = [self.kind.combine(self.w, a, b) for a, b in pairs]
        return states[0]

    def _combined_threads(self, state: State) -> State:
        """The state of a part, in its first thread."""
        b, fold = self.b, self.fold
        if fold.width == 1:
            return state
        tiles = [
            self.shared(f"tile{number}_{each.dtype}", each.dtype, THREADS)
            for number, each in enumerate(scalars(state))
        ]
        for tile, each in zip(tiles, scalars(state), strict=True):
            b.store(b.offset(tile, self.thread), each.value)
        left = fold.width
        for fan in _FANS[fold.width]:
            b.emit(Barrier())
            left //= fan
            with b.if_(b.lt(self.lane, self.integer(left))):
                states = [
                    self.of(
                        [
                            self.w.wrap(
                                b.load(
                                    b.offset(tile, b.add(self.thread, self.integer(left * number)))
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
                        b.store(b.offset(tile, self.thread), each.value)
                else:
                    self._write(self._states[0], state)
        return self._read(self._states[0])

    def _variables(self) -> list[list[Var]]:
        """Variables for the states, which start as the identity."""
        start = scalars(self.identity())
        # Where the order changes no result, one state leaves more registers.
        is_exact = not (start[0].dtype.is_float and self.kind.is_ordered)
        states = [
            [self.b.variable("state", each.dtype) for each in start]
            for _ in range(1 if is_exact else _TURNS)
        ]
        for variables in states:
            self._write(variables, self.identity())
        return states

    def _read(self, variables: list[Var]) -> State:
        return self.of([self.w.wrap(self.b.read(var)) for var in variables])

    def _write(self, variables: list[Var], state: State) -> None:
        for var, each in zip(variables, scalars(state), strict=True):
            self.b.write(var, each.value)


class _Reduction(Folding):
    """A kernel that reduces parts of rows."""

    def __init__(self, form: Form) -> None:
        fold = form.fold
        assert fold is not None
        results = (fold.result,) if fold.is_last else KINDS[fold.kind].states(fold.accumulator)
        super().__init__(form, f"{name_of(form)}_{fold.kind}", results)
        b = self.b
        is_counting = fold.is_last and self.kind.is_counting
        self._length = self.param(i64) if is_counting else self.integer(0)
        state = self.reduce()
        with b.if_(b.and_(self.is_row, b.eq(self.lane, self.integer(0)))):
            self._put(state)
        self.finish()

    def _put(self, state: State) -> None:
        """Store the result of a row, or the state of its part."""
        fold = self.fold
        if fold.is_last:
            result = self.kind.result(self.w, state, self.w.wrap(self._length))
            self.store(self.more[0], self.number, converted(self.w, result, fold.result))
            return
        for address, each in zip(self.more, state, strict=True):
            self.store(address, self.number, each)
