"""The code of several reductions of the same rows, and of what uses their results.

A part is a whole row. For each reduction its threads walk along the row, as they do in a kernel of
that reduction alone, so the results are the same to the bit; each thread then has the result. Last
the threads walk along the row once more for the elements that are stored.
"""

from __future__ import annotations

from gridlane.core.dtypes import i64
from gridlane.ir.ops.grid import Barrier
from gridlane.ir.values import Module, Value
from gridlane.xp.groups import Form
from gridlane.xp.kernels import THREADS, converted, name_of, part_of
from gridlane.xp.operations.record import Complex, Operand
from gridlane.xp.reductions.kernels import Folding
from gridlane.xp.reductions.kinds import KINDS, State
from gridlane.xp.reductions.record import Fold, Stages
from gridlane.xp.reductions.rows import scalars


def module_of(form: Form) -> Module:
    """The kernel of a form with ``stages``, for blocks of ``THREADS`` threads; its parameters are
    those of ``xp.kernels.module_of``."""
    return _Rows(form).module


class _Rows(Folding):
    """A kernel that reduces whole rows, several times."""

    def __init__(self, form: Form) -> None:
        assert form.stages is not None
        self._stages: Stages = form.stages
        kinds = [fold.kind for fold in self._stages.folds]
        super().__init__(form, "_".join([name_of(form), *kinds[:4]]), ())
        self._folded: list[Operand] = []
        for fold in self._stages.folds:
            self._folded.append(self._result(fold))
        self._store_elements()
        self._store_rows()
        self.finish()

    def _result(self, fold: Fold) -> Operand:
        """The result of a reduction, in all threads of the row."""
        b, w = self.b, self.w
        self.fold, self.kind = fold, KINDS[fold.kind]
        self.dtypes = self.kind.states(fold.accumulator)
        self._wanted = self._needed(fold.operands)
        number = len(self._folded)
        state = self.reduce()
        size = THREADS // fold.width
        part = part_of(fold.result)
        shared = [
            self.shared(f"result{number}_{each}", part, size)
            for each in range(2 if fold.result.kind == "c" else 1)
        ]
        place = b.div(self.thread, self.integer(fold.width))
        with b.if_(b.eq(self.lane, self.integer(0))):
            result = converted(w, self.kind.result(w, state, w.wrap(self.count)), fold.result)
            for array, each in zip(shared, scalars((result,)), strict=True):
                b.store(b.offset(array, place), each.value)
        b.emit(Barrier())
        parts = [w.wrap(b.load(b.offset(array, place))) for array in shared]
        return Complex(*parts) if len(parts) == 2 else parts[0]

    # --- values ---

    def _needed(self, positions: tuple[int, ...]) -> set[int]:
        """The positions of steps and of what they depend on, but for that of reductions."""
        needed: set[int] = set()
        stack = list(positions)
        while stack:
            position = stack.pop()
            if position in needed:
                continue
            needed.add(position)
            step = self.form.steps[position]
            if step[0] not in ("leaf", "number", "fold"):
                stack += step[3]
        return needed

    def value(self, step, parameters, strides, indices, values):  # type: ignore[no-untyped-def]
        if step[0] == "fold":
            return self._folded[step[2]]
        return super().value(step, parameters, strides, indices, values)

    def element(self, at: Value) -> State:
        return self.state_of(self.values(self.indices(at), self._wanted), at)

    # --- results ---

    def _store_elements(self) -> None:
        """Store the nodes that have an element for each one of the rows."""
        stored = self._stored(of_rows=False)
        if not stored:
            return
        wanted = self._needed(tuple([position for position, _ in stored]))

        def store(turn: int, at: Value) -> None:
            indices = self.indices(at)
            values = self.values(indices, wanted)
            linear = self.index(indices, self.target)
            for position, address in stored:
                self.store(address, linear, values[position])

        with self.b.if_(self.is_row):
            self.each(store)

    def _store_rows(self) -> None:
        """Store the nodes that have an element for each row."""
        stored, b = self._stored(of_rows=True), self.b
        if not stored:
            return
        wanted = self._needed(tuple([position for position, _ in stored]))
        with b.if_(b.and_(self.is_row, b.eq(self.lane, self.integer(0)))):
            values = self.values(self.indices(b.const(0, i64)), wanted)
            for position, address in stored:
                self.store(address, self.number, values[position])

    def _stored(self, of_rows: bool) -> list[tuple[int, Value]]:
        """The positions and addresses of stored nodes."""
        pairs = zip(self.form.stored, self.outputs, strict=True)
        chosen = self._stages.of_rows
        return [pair for place, pair in enumerate(pairs) if (place in chosen) == of_rows]
