"""The range analysis: the bounds of each integer of a kernel.

Abstract interpretation over intervals (Cousot & Cousot, 1977) on structured control flow. A state
holds the intervals of variables and the facts that conditions establish about values. Loops are
iterated to a fixed point, with widening to a few thresholds and one narrowing step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gridlane.analysis.crossings import is_left_by
from gridlane.analysis.intervals import (
    Interval,
    clamp,
    full,
    hull,
    meet,
    transfer,
    widened,
)
from gridlane.core.dtypes import DType, b1
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Function, Region, Value, Var

_MOST_VISITS = 150_000
"""Ops visited before the analysis gives up; nested loops are visited repeatedly."""


class TooLarge(Exception):
    """The kernel takes too long to analyse."""


@dataclass(slots=True)
class State:
    """The facts known at a point of the program.

    Attributes:
        variables: intervals of the integer variables.
        facts: values that conditions bound more tightly than their definitions do.
        holds: the value that a variable is known to hold.
    """

    variables: dict[Var, Interval]
    facts: dict[Value, Interval] = field(default_factory=dict[Value, Interval])
    holds: dict[Var, Value] = field(default_factory=dict[Var, Value])

    def copy(self) -> State:
        """A state that is modified independently."""
        return State(dict(self.variables), dict(self.facts), dict(self.holds))


def joined(states: list[State | None]) -> State | None:
    """The facts that hold on every incoming path; None when there is no path."""
    known = [state for state in states if state is not None]
    if not known:
        return None
    first, *rest = known
    result = first.copy()
    for other in rest:
        for var, interval in other.variables.items():
            result.variables[var] = hull(result.variables[var], interval)
        facts = {v: i for v, i in result.facts.items() if v in other.facts}
        result.facts = {v: hull(i, other.facts[v]) for v, i in facts.items()}
        result.holds = {v: h for v, h in result.holds.items() if other.holds.get(v) is h}
    return result


class Ranges:
    """The intervals of a function.

    Attributes:
        of: for each integer value the interval at its definition.
        uses: for each op the intervals of its integer operands at that op.
        written: for each integer variable the hull of all values written to it.
    """

    def __init__(self, function: Function, given: dict[Value, Interval]) -> None:
        self.of: dict[Value, Interval] = dict(given)
        self.uses: dict[Op, dict[Value, Interval]] = {}
        self._visits = 0
        self._breaks: list[list[State | None]] = []
        self._continues: list[list[State | None]] = []
        self._leaves: list[tuple[control.ScopeOp, list[State | None]]] = []
        integers = [v for v in function.variables if _is_integer(v.type)]
        self._region(function.body, State({var: (0, 0) for var in integers}))
        self.written = {var: (0, 0) for var in integers}
        for op, operands in self.uses.items():
            if isinstance(op, memory.WriteVar) and op.var in self.written:
                held = operands.get(op.value, full(op.var.type))
                self.written[op.var] = hull(self.written[op.var], held)

    def at(self, op: Op, value: Value) -> Interval:
        """The interval of an operand at an op; its type's full interval where nothing is known."""
        return self.uses.get(op, {}).get(value) or full(value.type)

    # --- states ---

    def _known(self, state: State, value: Value) -> Interval:
        return state.facts.get(value) or self.of.get(value) or full(value.type)

    def _region(self, region: Region, state: State | None) -> State | None:
        """The state after a region; None when its end is unreachable."""
        for op in region.ops:
            if state is None:
                return None
            self._visits += 1
            if self._visits > _MOST_VISITS:
                raise TooLarge
            self.uses[op] = {
                value: self._known(state, value)
                for value in op.operands()
                if _is_integer(value.type)
            }
            state = self._op(op, state)
        return state

    def _op(self, op: Op, state: State) -> State | None:
        handler = self._HANDLERS.get(type(op))
        if handler is not None:
            return handler(self, op, state)
        if op.REGION_FIELDS:
            raise TooLarge  # control flow that the analysis does not support
        for result in op.results:
            state.facts.pop(result, None)
            if _is_integer(result.type):
                self.of[result] = transfer(op, result, lambda value: self._known(state, value))
        return state

    def _read(self, op: memory.ReadVar, state: State) -> State:
        result = op.results[0]
        state.facts.pop(result, None)
        if op.var in state.variables:
            self.of[result] = state.variables[op.var]
            state.holds[op.var] = result
        return state

    def _write(self, op: memory.WriteVar, state: State) -> State:
        if op.var in state.variables:
            state.variables[op.var] = self._known(state, op.value)
            state.holds[op.var] = op.value
        return state

    # --- control ---

    def _if(self, op: control.If, state: State) -> State | None:
        then = self._region(op.then, self._assume(state.copy(), op.condition, True))
        return joined([then, self._region(op.orelse, self._assume(state, op.condition, False))])

    def _scope(self, op: control.ScopeOp, state: State) -> State | None:
        leaves: list[State | None] = []
        self._leaves.append((op, leaves))
        end = self._region(op.body, state)
        self._leaves.pop()
        return joined([end, *leaves])

    def _loop(self, op: control.Loop, entry: State) -> State | None:
        head = entry
        for count in range(40):
            behind, again = self._iteration(op, head)
            following = joined([entry, again])
            assert following is not None
            if not _grew(head, following):
                return self._step_back(op, entry, head, following, behind)
            head = _widen(head, following) if count else following
        raise TooLarge

    def _step_back(
        self,
        op: control.Loop,
        entry: State,
        head: State,
        following: State,
        behind: State | None,
    ) -> State | None:
        """The state after a loop whose head is narrowed from the widened state to that state's
        successor. This is valid as long as an iteration from there stays within it."""
        if not _grew(following, head):  # nothing to narrow
            return behind
        closer, again = self._iteration(op, following)
        check = joined([entry, again])
        assert check is not None
        return self._iteration(op, head)[0] if _grew(following, check) else closer

    def _iteration(self, op: control.Loop, head: State) -> tuple[State | None, State | None]:
        """One iteration of a loop: the states after the loop and at the next iteration."""
        self._breaks.append([])
        self._continues.append([])
        end = self._region(op.body, head.copy())
        again = self._region(op.step, joined([end, *self._continues.pop()]))
        return joined(self._breaks.pop()), again

    def _break(self, op: control.Break, state: State) -> None:
        self._breaks[-1].append(state)

    def _continue(self, op: control.Continue, state: State) -> None:
        self._continues[-1].append(state)

    def _leave(self, op: control.Leave, state: State) -> None:
        around = reversed(self._leaves)
        next(leaves for scope, leaves in around if is_left_by(scope, op)).append(state)

    def _end(self, op: Op, state: State) -> None:
        return None

    # --- conditions ---

    def _assume(self, state: State | None, condition: Value, truth: bool) -> State | None:
        """The state given a condition's truth; None where that is impossible."""
        op = condition.op
        if state is None or op is None:
            return state
        if isinstance(op, arith.Not):
            return self._assume(state, op.value, not truth)
        if isinstance(op, arith.And if truth else arith.Or) and op.lhs.type is b1:
            return self._assume(self._assume(state, op.lhs, truth), op.rhs, truth)
        if isinstance(op, arith.Compare) and _is_integer(op.lhs.type):
            return self._bounded(state, op, truth)
        return state

    def _bounded(self, state: State, op: arith.Compare, truth: bool) -> State | None:
        left, right = self._known(state, op.lhs), self._known(state, op.rhs)
        bounds = clamp(op.name, truth, left, right)
        if bounds is None:
            return None
        for value, interval in zip((op.lhs, op.rhs), bounds):
            self._learn(state, value, interval)
        return state

    def _learn(self, state: State, value: Value, interval: Interval) -> None:
        state.facts[value] = interval
        for var, held in state.holds.items():
            if held is value:
                state.variables[var] = meet(state.variables[var], interval) or interval
        op = value.op
        if isinstance(op, arith.Cast) and _is_integer(op.value.type):
            source = self._known(state, op.value)
            target = full(value.type)
            if target[0] <= source[0] and source[1] <= target[1]:  # the cast keeps every value
                self._learn(state, op.value, meet(source, interval) or interval)

    _HANDLERS: ClassVar[dict[type[Op], Callable[[Ranges, Any, State], State | None]]] = {
        memory.ReadVar: _read,
        memory.WriteVar: _write,
        control.If: _if,
        control.Loop: _loop,
        control.ScopeOp: _scope,
        control.Break: _break,
        control.Continue: _continue,
        control.Leave: _leave,
        control.Return: _end,
        control.Raise: _end,
    }


def _is_integer(type_: object) -> bool:
    return isinstance(type_, DType) and type_.is_integer


def _grew(old: State, new: State) -> bool:
    """Whether a state admits values that another does not."""
    for var, (low, high) in new.variables.items():
        if low < old.variables[var][0] or high > old.variables[var][1]:
            return True
    if any(var not in new.holds or new.holds[var] is not held for var, held in old.holds.items()):
        return True
    for value, (low, high) in old.facts.items():
        fact = new.facts.get(value)
        if fact is None or fact[0] < low or fact[1] > high:
            return True
    return False


def _widen(old: State, new: State) -> State:
    """The next guess for a loop's head: an interval that grew is widened to a threshold."""
    variables = {
        var: widened(old.variables[var], interval, full(var.type))
        for var, interval in new.variables.items()
    }
    facts = {
        value: interval
        for value, interval in new.facts.items()
        if value in old.facts and old.facts[value] == interval
    }
    return State(variables, facts, new.holds)
