"""The code of a scan.

A block scans a part of a row in shared memory: each thread its neighbouring elements, then sixteen
threads the totals of sixteen threads each, then one thread theirs. A first kernel stores the totals
of parts, and their scan is what a second one starts its parts with. Where threads have rows of
their own each scans its elements in order. The order of combinations depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.core.dtypes import i32, i64
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import Axis, Barrier, ThreadIdx
from gridlane.ir.values import Module, Value, Var
from gridlane.xp.groups import Form
from gridlane.xp.kernels import THREADS, converted, name_of
from gridlane.xp.reductions.kinds import State
from gridlane.xp.reductions.record import WARP
from gridlane.xp.reductions.rows import Rows, scalars

_BITS = WARP.bit_length() - 1
_GROUP = 16
"""The threads whose totals one thread scans."""


def module_of(form: Form) -> Module:
    """The kernel of a form that ends in a scan, for blocks of ``THREADS`` threads.

    Its parameters are those of ``xp.kernels.module_of``. Behind the addresses of what is stored
    beside them come those of the totals of parts; or of the results, and of the scanned totals if a
    row has several parts.
    """
    return _Scan(form).module


class _Scan(Rows):
    """A kernel that scans parts of rows, or stores their totals."""

    def __init__(self, form: Form) -> None:
        fold = form.fold
        assert fold is not None
        self._is_total = fold.scan == "totals"
        results = (fold.result,) if fold.is_last else (fold.result, fold.accumulator)
        more = (fold.accumulator,) if self._is_total else results
        super().__init__(form, f"{name_of(form)}_scan_{fold.kind}", more)
        b = self.b
        self._own = b.value(ThreadIdx(Axis.X))
        self._end = self.count
        if not fold.is_last:
            end = b.add(self.start, self.integer(fold.span))
            self._end = self.least(end, self.count)
        if fold.in_step:
            self._walk()
        elif fold.in_series:
            with b.if_(self.is_row):
                self._walk_part()
        elif fold.width == 1:
            with b.if_(self.is_row):
                self._walk()
        else:
            self._scan_block()
        self.finish()

    # --- a thread's rows ---

    def _walk(self) -> None:
        b = self.b
        state = [b.variable("state", each.dtype) for each in scalars(self.identity())]
        place = b.variable("place", i64)
        b.write(place, self.start)
        self._set(state, self._carry())
        with b.loop():
            at = b.read(place)
            b.break_if(b.not_(b.lt(at, self._end)))
            with self.in_step():
                after = self.kind.combine(self.w, self._get(state), self.element(at))
                self._set(state, after)
                if not self._is_total:
                    self._put(at, after)
            b.write(place, b.add(at, self.integer(1)))
        if self._is_total:
            with b.if_(self.is_row):
                self.store(self.more[0], self.number, self._get(state)[0])

    def _walk_part(self) -> None:
        """Scan a block's part by one thread, which combines in the order of ``_scan_block``."""
        b = self.b
        each = self.fold.span // THREADS
        place = b.variable("place", i64)
        b.write(place, self.start)
        before, inner = self._states("before"), self._states("inner")
        self._set(before, self._carry())
        with b.loop():  # groups of threads
            b.break_if(b.not_(b.lt(b.read(place), self._end)))
            behind = self.least(b.add(b.read(place), self.integer(each * _GROUP)), self._end)
            self._set(inner, self.identity())
            with b.loop():
                at = b.read(place)
                following = b.add(at, self.integer(each))
                b.break_if(b.lt(behind, following))
                self._walk_thread(at, each, before, inner)
                b.write(place, following)
            with b.if_(b.lt(b.read(place), behind)):
                self._walk_rest(place, behind, before, inner)
            self._set(before, self.kind.combine(self.w, self._get(before), self._get(inner)))
        if self._is_total:
            self.store(self.more[0], self.number, self._get(before)[0])

    def _walk_thread(self, at: Value, each: int, before: list[Var], inner: list[Var]) -> None:
        """Scan the elements of a thread that has all of them."""
        w, combine = self.w, self.kind.combine
        start = combine(w, self._get(before), self._get(inner))
        own = self.identity()
        for number in range(each):
            place = self.b.add(at, self.integer(number))
            own = combine(w, own, self.element(place))
            if not self._is_total:
                self._put(place, combine(w, start, own))
        self._set(inner, combine(w, self._get(inner), own))

    def _walk_rest(self, place: Var, end: Value, before: list[Var], inner: list[Var]) -> None:
        """Scan the elements of a thread that has some of them, the last one of a row. Nothing is
        behind these: what they are in all is not used."""
        if self._is_total:
            self.b.write(place, end)
            return
        b, w, combine = self.b, self.w, self.kind.combine
        start = combine(w, self._get(before), self._get(inner))
        own = self._states("own")
        self._set(own, self.identity())
        with b.loop():
            at = b.read(place)
            b.break_if(b.not_(b.lt(at, end)))
            after = combine(w, self._get(own), self.element(at))
            self._set(own, after)
            self._put(at, combine(w, start, after))
            b.write(place, b.add(at, self.integer(1)))

    def _states(self, name: str) -> list[Var]:
        """Variables for a state."""
        return [self.b.variable(name, each.dtype) for each in scalars(self.identity())]

    def _carry(self) -> State:
        """What the elements before the part are in all."""
        b, fold = self.b, self.fold
        if self._is_total or fold.is_last:
            return self.identity()
        result = [b.variable("carry", each.dtype) for each in scalars(self.identity())]
        self._set(result, self.identity())
        is_behind = b.lt(self.integer(0), self.part)
        with b.if_(b.and_(self.is_row, is_behind) if fold.in_step else is_behind):
            distance = self.rows if fold.by_columns else self.integer(1)
            before = self.load(self.more[1], b.sub(self.number, distance), fold.accumulator)
            self._set(result, (before,))
        return self._get(result)

    def _put(self, at: Value, state: State) -> None:
        """Store the result of an element."""
        linear = self.index(self.indices(at), self.target)
        result = converted(self.w, state[0], self.fold.result)
        self.store(self.more[0], linear, result)

    # --- a block's part ---

    def _scan_block(self) -> None:
        b = self.b
        each = self.fold.span // THREADS
        parts = scalars(self.identity())
        # A hole behind 32 elements: a warp's threads are in different banks of a GPU's memory.
        size = self.fold.span + self.fold.span // WARP
        self._tiles = [self.shared(f"tile{i}", x.dtype, size) for i, x in enumerate(parts)]
        self._totals = [self.shared(f"totals{i}", x.dtype, THREADS) for i, x in enumerate(parts)]
        self._before = [self.shared(f"before{i}", x.dtype, THREADS) for i, x in enumerate(parts)]
        self._groups = [self.shared(f"groups{i}", x.dtype, _GROUP) for i, x in enumerate(parts)]
        self._load_block(each, [b.variable("own", each.dtype) for each in parts])
        b.emit(Barrier())
        first = b.mul(self._own, self._small(each))
        first = b.add(first, b.binary(arith.Shr, first, self._small(_BITS)))
        what = "" if self._is_total else "inclusive"
        total = self._scan(self._tiles, first, 1, each, self.identity(), what)
        self._write(self._totals, self._place_of_total(), total)
        b.emit(Barrier())
        with b.if_(b.lt(self._own, self._small(_GROUP))):
            total = self._scan(
                self._totals, self._own, _GROUP, _GROUP, self.identity(), "exclusive"
            )
            self._write(self._groups, self._own, total)
        b.emit(Barrier())
        with b.if_(b.eq(self._own, self._small(0))):
            total = self._scan(self._groups, self._small(0), 1, _GROUP, self._carry(), "exclusive")
            if self._is_total:
                with b.if_(self.is_row):
                    self.store(self.more[0], self.number, total[0])
        if not self._is_total:
            b.emit(Barrier())
            self._store_block(each)

    def _load_block(self, each: int, own: list[Var]) -> None:
        """Load the block's elements; those behind the last one are the identity."""
        b = self.b
        is_whole = self._is_whole()
        with b.if_(is_whole) as choice, self._turns(each) as turn:
            at, place = self._of_turn(turn)
            self._write(self._tiles, place, self.element(at))
        with b.inside(choice.orelse), self._turns(each) as turn:
            at, place = self._of_turn(turn)
            self._set(own, self.identity())
            with b.if_(b.and_(self.is_row, b.lt(at, self._end))):
                self._set(own, self.element(at))
            self._write(self._tiles, place, self._get(own))

    def _store_block(self, each: int) -> None:
        """Store the results of a block's part."""
        b = self.b
        group = b.binary(arith.Shr, self._own, self._small(_GROUP.bit_length() - 1))
        before = self._read(self._totals, self._place_of_total())
        before = self.kind.combine(self.w, self._read(self._groups, group), before)
        self._write(self._before, self._own, before)
        b.emit(Barrier())
        step = THREADS // each
        owner = b.binary(arith.Shr, self._own, self._small(each.bit_length() - 1))
        with b.if_(self._is_whole()) as choice, self._turns(each) as turn:
            self._store_turn(turn, b.add(b.mul(turn, self._small(step)), owner))
        with b.inside(choice.orelse), self._turns(each) as turn:
            at, _ = self._of_turn(turn)
            with b.if_(b.and_(self.is_row, b.lt(at, self._end))):
                self._store_turn(turn, b.add(b.mul(turn, self._small(step)), owner))

    def _store_turn(self, turn: Value, owner: Value) -> None:
        """Store the result of a thread's element; ``owner`` scanned it."""
        at, place = self._of_turn(turn)
        before = self._read(self._before, owner)
        self._put(at, self.kind.combine(self.w, before, self._read(self._tiles, place)))

    def _is_whole(self) -> Value:
        """Whether the part has all its elements, so that none of them needs a check."""
        b = self.b
        end = b.add(self.start, self.integer(self.fold.span))
        return b.and_(self.is_row, b.not_(b.lt(self.count, end)))

    def _place_of_total(self) -> Value:
        """The place of a thread's total; those that sixteen threads read at once are neighbours."""
        b, bits = self.b, self._small(_GROUP.bit_length() - 1)
        in_group = b.and_(self._own, self._small(_GROUP - 1))
        return b.add(b.mul(in_group, self._small(_GROUP)), b.binary(arith.Shr, self._own, bits))

    def _scan(
        self, arrays: list[Value], first: Value, step: int, count: int, start: State, what: str
    ) -> State:
        """Scan numbers in shared memory in place; return their total.

        Args:
            what: "inclusive" or "exclusive"; "" to compute the total only.
        """
        b = self.b
        total = [b.variable("total", each.dtype) for each in scalars(start)]
        self._set(total, start)
        with self._turns(count) as turn:
            at = b.add(first, b.mul(turn, self._small(step)))
            before = self._get(total)
            after = self.kind.combine(self.w, before, self._read(arrays, at))
            self._set(total, after)
            if what:
                self._write(arrays, at, before if what == "exclusive" else after)
        return self._get(total)

    @contextmanager
    def _turns(self, count: int) -> Generator[Value, None, None]:
        """A loop of so many turns, with their number."""
        b = self.b
        turn = b.variable("turn", i32)
        b.write(turn, self._small(0))
        with b.loop() as loop:
            number = b.read(turn)
            b.break_if(b.emit(arith.Ge(number, self._small(count))).results[0])
            yield number
        with b.inside(loop.step):
            b.write(turn, b.add(b.read(turn), self._small(1)))

    def _of_turn(self, turn: Value) -> tuple[Value, Value]:
        """The index of a thread's element in its row, and its place in the tile."""
        b = self.b
        at = b.add(b.mul(turn, self._small(THREADS)), self._own)
        warp = b.and_(self._own, self._small(-WARP))
        holes = b.binary(arith.Shr, warp, self._small(_BITS))
        place = b.add(b.mul(turn, self._small(THREADS + THREADS // WARP)), b.add(self._own, holes))
        return b.add(self.start, b.cast(at, i64)), place

    def _set(self, variables: list[Var], state: State) -> None:
        for var, each in zip(variables, scalars(state), strict=True):
            self.b.write(var, each.value)

    def _get(self, variables: list[Var]) -> State:
        return self.of([self.w.wrap(self.b.read(var)) for var in variables])

    def _small(self, number: int) -> Value:
        return self.w.const(number, i32).value

    def _read(self, arrays: list[Value], at: Value) -> State:
        b = self.b
        return self.of([self.w.wrap(b.load(b.offset(each, at))) for each in arrays])

    def _write(self, arrays: list[Value], at: Value, state: State) -> None:
        for array, each in zip(arrays, scalars(state), strict=True):
            self.b.store(self.b.offset(array, at), each.value)
