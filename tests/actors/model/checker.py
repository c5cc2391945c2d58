"""An exhaustive explicit-state checker of small concurrent programs, with weak memory.

A program is processes that share memory. A process is functions, its steps; each does one atomic
thing and returns the next step, ``None`` at its end, or ``BLOCKED`` where it cannot go on yet.
The checker visits every state that any interleaving leads to, and a crash at every step of the
processes that may crash.

Stores wait in a buffer of their process, and reach memory at any later time. The process itself
sees them at once; a fence and a read-modify-write wait until the buffer is empty.

``sc``: stores reach memory at once.
``tso``: a buffer is in order, as on x86-64.
``weak``: stores to different places reach memory in any order, but a release store after all stores
before it, as on Arm. Loads are in order, so that what the code's acquires are for is not modelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Memory = dict[str, Any]
Order = Literal["sc", "tso", "weak"]
Check = Callable[[Memory], "str | None"]


def BLOCKED(s: View) -> Any:
    """What a step returns that cannot go on yet; nothing that it has done counts."""
    raise AssertionError("this is no step")


def CRASHED(s: View) -> Any:
    """Where a process is after its crash."""
    return BLOCKED


Step = Callable[["View"], Any]


def step(where: str, does: str) -> Callable[[Step], Step]:
    """Name a step: the function of the engine, in its file, and what it does there."""

    def named(function: Step) -> Step:
        function.__doc__ = f"{does}  [{where}]"
        return function

    return named


@dataclass(frozen=True, slots=True)
class Process:
    """A process: where it begins, its own variables, and whether it may crash at any step."""

    name: str
    first: Step
    own: dict[str, Any] = field(default_factory=dict[str, Any])
    may_crash: bool = False


class View:
    """What a step sees: ``s["x"]`` are the process's own variables."""

    __slots__ = ("buffer", "memory", "order", "own")

    def __init__(self, memory: Memory, own: Memory, buffer: list[Any], order: Order) -> None:
        self.memory, self.own, self.buffer, self.order = memory, own, buffer, order

    def __getitem__(self, name: str) -> Any:
        return self.own[name]

    def __setitem__(self, name: str, value: Any) -> None:
        assert name in self.own, name
        self.own[name] = value

    def load(self, place: str) -> Any:
        for there, value, _ in reversed(self.buffer):
            if there == place:
                return value
        return self.memory[place]

    def store(self, place: str, value: Any, release: bool = False) -> None:
        assert place in self.memory, place
        if self.order == "sc":
            self.memory[place] = value
        else:
            self.buffer.append((place, value, release))

    def fence(self) -> None:
        for place, value, _ in self.buffer:
            self.memory[place] = value
        self.buffer.clear()

    def store_fenced(self, place: str, value: Any) -> None:
        """A sequentially consistent store, which is followed by a fence on x86-64."""
        self.store(place, value, release=True)
        self.fence()

    def add(self, place: str, number: int) -> Any:
        """An atomic addition; what was there."""
        self.fence()
        found = self.memory[place]
        self.memory[place] = found + number
        return found

    def swap(self, place: str, value: Any) -> Any:
        self.fence()
        found, self.memory[place] = self.memory[place], value
        return found

    def cas(self, place: str, expected: Any, value: Any) -> bool:
        self.fence()
        if self.memory[place] != expected:
            return False
        self.memory[place] = value
        return True

    # --- the model's own bookkeeping: no memory order, and no step of the engine

    def see(self, place: str) -> Any:
        return self.memory[place]

    def note(self, place: str, value: Any) -> None:
        assert place in self.memory, place
        self.memory[place] = value


@dataclass(frozen=True, slots=True)
class Model:
    """A program and what must hold.

    Attributes:
        never: is asked in each state; the text of what is wrong there, or None.
        at_rest: is asked where no process can go on.
        goal: from each state without a crash a state where this holds can be reached.
    """

    memory: Memory
    processes: list[Process]
    never: Check = lambda memory: None
    at_rest: Check = lambda memory: None
    goal: Callable[[Memory], bool] | None = None
    order: Order = "tso"


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found.

    Attributes:
        states: how many there are.
        wrong: what does not hold, and None where all does.
        trace: the shortest way there, one step a line.
    """

    states: int
    wrong: str | None
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = "nothing is wrong" if self.wrong is None else f"{self.wrong}, after these steps:"
        return "\n".join([f"{head} ({self.states} states)", *self.trace])


# A state is memory, and of each process its next step, its own variables, and its buffer.
Part = tuple[Any, tuple[Any, ...], tuple[Any, ...]]
State = tuple[tuple[Hashable, ...], tuple[Part, ...]]


class _Search:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.places = list(model.memory)
        self.own = [list(each.own) for each in model.processes]
        first = tuple((each.first, tuple(each.own.values()), ()) for each in model.processes)
        self.first: State = (tuple(model.memory.values()), first)

    def memory(self, state: State) -> Memory:
        return dict(zip(self.places, state[0], strict=True))

    def next(self, state: State) -> Iterator[tuple[int, str, State]]:
        """The number of a process, what it does, and the state after that."""
        for n, (at, own, buffer) in enumerate(state[1]):
            for place in self._drains(buffer):
                yield n, "a store reaches memory", self._drained(state, n, place)
            if at is None or at is CRASHED:
                continue
            view = View(
                self.memory(state),
                dict(zip(self.own[n], own, strict=True)),
                list(buffer),
                self.model.order,
            )
            after = at(view)
            if after is not BLOCKED:
                part: Part = (after, tuple(view.own.values()), tuple(view.buffer))
                made = (tuple(view.memory.values()), _with(state[1], n, part))
                if made != state:
                    yield n, at.__doc__ or at.__name__, made
            if self.model.processes[n].may_crash:
                yield n, "crashes", (state[0], _with(state[1], n, (CRASHED, own, buffer)))

    def _drains(self, buffer: tuple[Any, ...]) -> Iterator[int]:
        for number, (place, _, release) in enumerate(buffer):
            if number == 0:
                yield 0
            elif self.model.order == "weak" and not release:
                if all(place != there for there, _, _ in buffer[:number]):
                    yield number

    def _drained(self, state: State, n: int, number: int) -> State:
        at, own, buffer = state[1][n]
        place, value, _ = buffer[number]
        memory = list(state[0])
        memory[self.places.index(place)] = value
        left = buffer[:number] + buffer[number + 1 :]
        return tuple(memory), _with(state[1], n, (at, own, left))


def _with(parts: tuple[Part, ...], n: int, part: Part) -> tuple[Part, ...]:
    return (*parts[:n], part, *parts[n + 1 :])


def check(model: Model) -> Result:
    """Visit every state, nearest first; the result has the shortest way to what is wrong."""
    search = _Search(model)
    came: dict[State, tuple[State, int, str] | None] = {search.first: None}
    before: dict[State, list[State]] = {}
    waiting, goals = deque([search.first]), list[State]()
    while waiting:
        state = waiting.popleft()
        memory = search.memory(state)
        wrong, moves = model.never(memory), 0
        for n, does, after in search.next(state):
            moves += does != "crashes"
            if model.goal is not None:
                before.setdefault(after, []).append(state)
            if after not in came:
                came[after] = (state, n, does)
                waiting.append(after)
        if wrong is None and not moves:
            wrong = model.at_rest(memory)
        if wrong is not None:
            return Result(len(came), wrong, _trace(search, came, state))
        if model.goal is not None and model.goal(memory):
            goals.append(state)
    if model.goal is not None:
        stuck = _cannot_reach(came, before, goals)
        if stuck is not None:
            wrong = "the goal cannot be reached any more"
            return Result(len(came), wrong, _trace(search, came, stuck))
    return Result(len(came), None)


def _cannot_reach(
    came: dict[State, Any], before: dict[State, list[State]], goals: list[State]
) -> State | None:
    """The first state found, without a crash, from which no goal can be reached."""
    reach, todo = set(goals), list(goals)
    while todo:
        for state in before.get(todo.pop(), ()):
            if state not in reach:
                reach.add(state)
                todo.append(state)
    for state in came:
        if state not in reach and not any(at is CRASHED for at, _, _ in state[1]):
            return state
    return None


def _trace(search: _Search, came: dict[State, Any], state: State) -> tuple[str, ...]:
    lines: list[str] = []
    while (found := came[state]) is not None:
        old, n, does = found
        changes = [
            f"{place} = {new}"
            for place, was, new in zip(search.places, old[0], state[0], strict=True)
            if was != new
        ]
        kept = state[1][n][2]
        if len(kept) > len(old[1][n][2]):
            changes += [f"{place} = {value} waits in its buffer" for place, value, _ in kept[-1:]]
        name = search.model.processes[n].name
        lines.append(f"  {name:12} {does}" + (f": {', '.join(changes)}" if changes else ""))
        state = old
    return tuple(reversed(lines))
