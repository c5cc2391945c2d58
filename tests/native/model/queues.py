"""The queues of native/queue.c: callers append, wait, hold, capture and end; workers serve.

All state is under one lock, so that a step is what a thread does while it holds the lock once, or
what it does without. A thread that sleeps is in ``asleep`` until another wakes it. ``ran``,
``refused`` and ``wrong`` are the model's own. ``change`` names what a mutant leaves out.

Items are (kind, number, always, does): a "call" is Python's or C's work, which may break, or wait
for a queue; "pass" and "follow" have the number of a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.actors.model.checker import BLOCKED, Memory, Model, Process, View, step

NEVER = 99
Item = tuple[str, int, bool, Any]
Wait = tuple[str, int, int]
"""For "count" of a queue, or for a "mark" of a queue."""


class Queue(NamedTuple):
    """``struct gl_queue``; ``starts`` are threads that were started and do not serve yet."""

    items: tuple[Item, ...] = ()
    current: Item | None = None
    appended: int = 0
    done: int = 0
    wanted: int = NEVER
    has_worker: bool = False
    lingers: bool = False
    over: bool = False
    failed: bool = False
    held: bool = False
    captured: bool = False
    waits: Wait | None = None
    starts: int = 0

    @property
    def unfinished(self) -> int:
        return self.appended - self.done


class Mark(NamedTuple):
    """``struct gl_mark``."""

    queue: int | None = None
    passed: bool = False


def call(number: int, always: bool = False, does: Any = None) -> Item:
    """A piece of work; it does nothing, "breaks", or ("waits", queue)."""
    return "call", number, always, does


def passes(mark: int) -> Item:
    """The passing of a mark."""
    return "pass", mark, True, None


def follows(mark: int) -> Item:
    """A wait for a mark."""
    return "follow", mark, True, None


def _queue(s: View, q: int) -> Queue:
    return s.see(f"queue{q}")


def _set(s: View, q: int, **fields: Any) -> None:
    s.note(f"queue{q}", _queue(s, q)._replace(**fields))


def _mark(s: View, m: int) -> Mark:
    return s.see("marks")[m]


def _set_mark(s: View, m: int, mark: Mark) -> None:
    marks = s.see("marks")
    s.note("marks", (*marks[:m], mark, *marks[m + 1 :]))


def _sleep(s: View, name: str, q: int, what: str) -> None:
    s.note("asleep", s.see("asleep") | {(name, q, what)})


def _wake(s: View, q: int, what: str) -> None:
    s.note("asleep", frozenset(each for each in s.see("asleep") if each[1:] != (q, what)))


def _sleeps(s: View, name: str) -> bool:
    return any(each[0] == name for each in s.see("asleep"))


def _wrong(s: View, what: str) -> None:
    s.note("wrong", s.see("wrong") or what)


def _is_reached(s: View, wait: Wait) -> bool:
    what, q, number = wait
    return _mark(s, number).passed if what == "mark" else _queue(s, q).done >= number


def _leads_to(s: View, q: int | None, target: int) -> bool:
    while q is not None and q != target:
        wait = _queue(s, q).waits
        q = wait[1] if wait is not None and not _is_reached(s, wait) else None
    return q == target


def _put(s: View, q: int, item: Item) -> None:
    kind, number, _, _ = item
    if kind == "pass":
        _set_mark(s, number, Mark(q))
    state = _queue(s, q)
    _set(s, q, items=(*state.items, item), appended=state.appended + 1)


class Code:
    """What threads do, with what a mutant leaves out."""

    def __init__(self, change: str) -> None:
        self.change = change

    def count_done(self, s: View, q: int) -> None:
        state = _queue(s, q)
        done = state.done + 1
        _set(s, q, done=done)
        if done >= state.wanted and self.change != "finish wakes nobody":
            _set(s, q, wanted=NEVER)
            _wake(s, q, "finished")

    def pass_mark(self, s: View, item: Item | None, q: int) -> None:
        if item is not None and item[0] == "pass":
            _set_mark(s, item[1], Mark(None, True))
            if self.change != "a mark wakes nobody":
                _wake(s, q, "finished")

    def finish(self, s: View, q: int) -> None:
        """finish_current."""
        item = _queue(s, q).current
        if item is None:
            return
        _set(s, q, current=None)
        self.count_done(s, q)
        self.pass_mark(s, item, q)

    def has_item(self, s: View, q: int) -> bool:
        state = _queue(s, q)
        return bool(state.items) and (not state.held or self.change == "takes while held")

    def has_left(self, s: View) -> bool:
        """Whether pieces of launches that are over are left to Python."""
        return False

    def forget(self, s: View) -> None:
        """Forget these pieces."""

    def worker(self, q: int, n: int) -> Process:
        """A thread that serves a queue whenever one is started for it."""
        name, change = f"worker {q}.{n}", self.change

        @step("software_queue.py append", "starts")
        def idle(s: View) -> Any:
            if not _queue(s, q).starts:
                return BLOCKED
            _set(s, q, starts=_queue(s, q).starts - 1)
            return serve

        @step("queue.c gridlane_queue_serve [serve]", "becomes the worker")
        def serve(s: View) -> Any:
            if _queue(s, q).has_worker:
                return idle
            _set(s, q, has_worker=True)
            return following

        @step("queue.c gridlane_queue_next [finish] [take]", "finishes an item, takes the next")
        def following(s: View) -> Any:
            self.finish(s, q)
            return take(s)

        def take(s: View) -> Any:
            state = _queue(s, q)
            if not self.has_item(s, q):
                if self.has_left(s):
                    return forget
                if state.over and not state.held:
                    return leave
                if change == "sleeps without a look":
                    return park
                return park(s)
            item, *rest = state.items
            _set(s, q, items=tuple(rest), current=item)
            is_dropped = state.failed and not item[2] and change != "drops nothing"
            if item[0] == "follow":
                s["wait"] = ("mark", _mark(s, item[1]).queue, item[1])
                return wait
            if item[0] == "pass" and change == "a mark passes before its item is done":
                self.pass_mark(s, item, q)
            return following if is_dropped or item[0] == "pass" else run

        @step("queue_module.c next [forget]", "forgets pieces of launches that are over")
        def forget(s: View) -> Any:
            self.forget(s)
            return following

        @step("queue.c linger [linger]", "sleeps until there is an item")
        def park(s: View) -> Any:
            _set(s, q, lingers=True)
            _sleep(s, name, q, "work")
            return awake

        @step("queue.c linger [linger]", "wakes")
        def awake(s: View) -> Any:
            if _sleeps(s, name):
                return BLOCKED
            _set(s, q, lingers=False)
            return take(s)

        @step("queue.c do_current", "does the item, without the lock")
        def run(s: View) -> Any:
            _, number, _, does = _queue(s, q).current or call(0)
            s.note("ran", (*s.see("ran"), number))
            if _queue(s, q).held:
                _wrong(s, "an item runs while a caller has the queue")
            if does == "breaks":
                return fail if change != "notes the error last" else finish_first
            if does is not None:
                return more.get(does[0], begin_wait)
            return following

        @step("host_queue.py fail [fail]", "notes an error")
        def fail(s: View) -> Any:
            _set(s, q, failed=True)
            return following

        @step("queue.c gridlane_queue_next [finish]", "finishes the item before its error")
        def finish_first(s: View) -> Any:
            self.finish(s, q)
            return fail

        @step("host_queue.py _wait_for", "waits for the work of a queue so far")
        def begin_wait(s: View) -> Any:
            _, other = (_queue(s, q).current or call(0))[3]
            s["wait"] = ("count", other, _queue(s, other).appended)
            return wait

        @step("queue_waits.c gl_wait_locked [follow] [circle] [wait]", "looks, or sleeps")
        def wait(s: View) -> Any:
            target: Wait = s["wait"]
            over = more.get(s["then"], following)
            if _is_reached(s, target) or target[1] is None:
                _set(s, q, waits=None)
                return over
            if change != "looks for no circle" and _leads_to(s, target[1], q):
                _set(s, q, waits=None)
                s.note("refused", s.see("refused") + 1)
                return over
            _set(s, q, waits=target)
            _sleep_for(s, name, target)
            return awake_from_wait

        @step("queue_waits.c slept [sleep]", "wakes from a wait")
        def awake_from_wait(s: View) -> Any:
            return BLOCKED if _sleeps(s, name) else wait

        @step("queue.c gridlane_queue_leave [leave]", "is the worker no longer")
        def leave(s: View) -> Any:
            _set(s, q, has_worker=False)
            if _queue(s, q).unfinished and change != "leaves without a look":
                return serve
            return idle

        more = self.of_worker(name, q, following, wait)
        return Process(name, idle, {"wait": None, "then": None})

    def of_worker(
        self,
        name: str,
        q: int,
        following: Callable[[View], Any],
        wait: Callable[[View], Any],
    ) -> dict[str, Callable[[View], Any]]:
        """More steps of a worker, by the first words of what items do, and of "then"."""
        return {}

    def further(
        self,
        arguments: Callable[[View], tuple[Any, ...]],
        following: Callable[[View], Any],
        look: Any,
    ) -> dict[str, Callable[[View], Any]]:
        """More steps of callers, by their names."""
        return {}

    def caller(self, name: str, script: tuple[tuple[Any, ...], ...]) -> Process:
        """A thread that does the steps of a script: names of the steps below, and arguments."""
        change = self.change

        def following(s: View) -> Any:
            s["at"] += 1
            return begin if s["at"] < len(script) else None

        def arguments(s: View) -> tuple[Any, ...]:
            return script[s["at"]][1:]

        @step("callers", "begins a step")
        def begin(s: View) -> Any:
            return steps[script[s["at"]][0]](s)

        def append(s: View) -> Any:
            """gridlane_queue_append [append]."""
            q, item = arguments(s)
            _put(s, q, item)
            if _queue(s, q).lingers and change != "append wakes nobody":
                _wake(s, q, "work")
            return following(s) if _queue(s, q).has_worker else start

        def append_in_c(s: View) -> Any:
            """gl_put_item, by a queue that C may use; else Python appends."""
            q = arguments(s)[0]
            if change == "looks before the lock" and not s["looked"]:
                s["looked"] = True
                return begin if not (_queue(s, q).captured or s.see("captures")) else following(s)
            state = _queue(s, q)
            is_usable = not (state.failed or state.captured or s.see("captures"))
            if (is_usable or s["looked"]) and state.has_worker:
                if state.captured:
                    _wrong(s, "C appends to a stream that is captured")
                return append(s)
            return following(s)

        @step("software_queue.py append", "starts a thread")
        def start(s: View) -> Any:
            q = arguments(s)[0]
            _set(s, q, starts=_queue(s, q).starts + 1)
            return following(s)

        def wait(s: View) -> Any:
            (q,) = arguments(s)
            s["wait"] = ("count", q, _queue(s, q).appended)
            return look

        def wait_for_mark(s: View) -> Any:
            (m,) = arguments(s)
            s["wait"] = ("mark", _mark(s, m).queue, m)
            return following(s) if _mark(s, m).queue is None else look

        @step("queue_waits.c slept [look] [sleep]", "looks, or sleeps")
        def look(s: View) -> Any:
            if _is_reached(s, s["wait"]):
                return following(s)
            if change == "waits without a second look":
                return park
            return park(s)

        @step("queue_waits.c slept [sleep]", "sleeps")
        def park(s: View) -> Any:
            _sleep_for(s, name, s["wait"])
            return awake

        @step("queue_waits.c slept [sleep]", "wakes")
        def awake(s: View) -> Any:
            return BLOCKED if _sleeps(s, name) else look

        def over(s: View) -> Any:
            """gridlane_queue_set of GL_OVER_FLAG."""
            (q,) = arguments(s)
            _set(s, q, over=True)
            _wake(s, q, "work")
            return following(s)

        def drop(s: View) -> Any:
            """host_queue.py drop: the queue and those that it waits for fail."""
            q: int | None = arguments(s)[0]
            while q is not None:
                wait = _queue(s, q).waits
                _set(s, q, failed=True)
                q = wait[1] if wait is not None else None
            return following(s)

        def capture(s: View) -> Any:
            """gridlane_queues_capture and GL_CAPTURED_FLAG [capture]."""
            q, change_of_count = arguments(s)
            _set(s, q, captured=change_of_count > 0)
            s.note("captures", s.see("captures") + change_of_count)
            return following(s)

        def hold(s: View) -> Any:
            """gl_hold_queue [hold], of a queue without work."""
            q, number = arguments(s)
            if _queue(s, q).unfinished:
                return following(s)
            _set(s, q, held=True, appended=_queue(s, q).appended + 1)
            s.note("ran", (*s.see("ran"), number))
            return let_go

        @step("queue.c gl_let_go_of_queue [let go]", "lets go of the queue")
        def let_go(s: View) -> Any:
            q = arguments(s)[0]
            if _queue(s, q).current is not None:
                _wrong(s, "an item is in progress while a caller has the queue")
            _set(s, q, held=False)
            self.count_done(s, q)
            if _queue(s, q).lingers and change != "letting go wakes nobody":
                _wake(s, q, "work")
            return following(s)

        def expect(s: View) -> Any:
            what, given = arguments(s)
            if what == "ran" and given not in s.see("ran"):
                _wrong(s, f"a wait is over before item {given}")
            if what == "idle" and _queue(s, given).unfinished:
                _wrong(s, "a thread that waited for a mark finds its work unfinished")
            if what == "failed" and not _queue(s, given).failed:
                _wrong(s, "a wait is over before the error is noted")
            return following(s)

        steps = {
            "append": append,
            "append in C": append_in_c,
            "wait": wait,
            "wait for mark": wait_for_mark,
            "over": over,
            "drop": drop,
            "capture": capture,
            "hold": hold,
            "expect": expect,
        } | self.further(arguments, following, look)
        return Process(name, begin, {"at": 0, "wait": None, "looked": False})


def _sleep_for(s: View, name: str, wait: Wait) -> None:
    what, q, number = wait
    if what == "count":
        _set(s, q, wanted=min(_queue(s, q).wanted, number))
    _sleep(s, name, q, "finished")


def queues(
    scripts: tuple[tuple[tuple[Any, ...], ...], ...],
    change: str = "",
    count: int = 1,
    marks: int = 0,
    workers: int = 1,
    ran: tuple[int, ...] | None = None,
    kind: type[Code] = Code,
    further: dict[str, Any] | None = None,
    rests: Callable[[Memory], str | None] = lambda memory: None,
) -> Model:
    """Callers with their scripts, and threads for each queue; at rest just ``ran`` ran, in whatever
    order, if it is given. ``further`` is more state, of which ``rests`` finds what is wrong."""
    code = kind(change)

    def states(memory: Memory) -> list[Queue]:
        return [memory[f"queue{q}"] for q in range(count)]

    def never(memory: Memory) -> str | None:
        if len(set(memory["ran"])) != len(memory["ran"]):
            return "an item runs twice"
        # What a child of a fork finds: it passes the marks of the items that it loses.
        items = [each for state in states(memory) for each in (*state.items, state.current)]
        known = {each[1] for each in items if each is not None and each[0] == "pass"}
        for number, mark in enumerate(memory["marks"]):
            if mark.queue is not None and number not in known:
                return "a mark has no item, so that a child of a fork waits for ever"
        return memory["wrong"]

    def at_rest(memory: Memory) -> str | None:
        if any(each[2] == "finished" for each in memory["asleep"]):
            return "a wait never ends"
        if any(state.unfinished for state in states(memory)):
            return "work is never done"
        if ran is not None and sorted(memory["ran"]) != sorted(ran):
            return f"what ran is {memory['ran']}"
        return rests(memory)

    return Model(
        {f"queue{q}": Queue() for q in range(count)}
        | {"marks": (Mark(),) * marks, "asleep": frozenset(), "captures": 0}
        | {"ran": (), "refused": 0, "wrong": None}
        | (further or {}),
        [code.caller(f"caller {n}", script) for n, script in enumerate(scripts)]
        + [code.worker(q, n) for q in range(count) for n in range(workers)],
        never=never,
        at_rest=at_rest,
        order="sc",
    )


def appends(change: str = "") -> Model:
    """Two callers append and wait, while a third ends the queue: new threads start for the rest."""
    one = ("append", 0, call(1)), ("wait", 0), ("expect", "ran", 1)
    two = ("append", 0, call(2)), ("append", 0, call(3)), ("wait", 0), ("expect", "ran", 3)
    return queues((one, two, (("over", 0),)), change, workers=2, ran=(1, 2, 3))


def lingers(change: str = "") -> Model:
    """The worker sleeps between the items of a queue that does not end."""
    one = ("append", 0, call(1)), ("wait", 0), ("append", 0, call(2)), ("wait", 0)
    return queues((one, (("append", 0, call(3)), ("wait", 0))), change, ran=(1, 2, 3))


def across(change: str = "") -> Model:
    """A queue follows a mark of another; a caller waits for the mark."""
    one = (
        ("append", 0, call(1)),
        ("append", 0, passes(0)),
        ("append", 1, follows(0)),
        ("append", 1, call(2)),
        ("wait", 1),
        ("expect", "ran", 1),
        ("expect", "idle", 0),
    )
    two = (("wait for mark", 0),)
    return queues((one, two), change, count=2, marks=1, ran=(1, 2))


def marked(change: str = "") -> Model:
    """Who waited for a mark finds no work before it."""
    one = ("append", 0, passes(0)), ("wait for mark", 0), ("expect", "idle", 0)
    return queues((one, (("wait for mark", 0),)), change, marks=1)


def circle(change: str = "") -> Model:
    """Two workers wait for each other's queue, and callers for both."""
    one = ("append", 0, call(1, does=("waits", 1))), ("wait", 0)
    two = ("append", 1, call(2, does=("waits", 0))), ("wait", 1)
    return queues((one, two), change, count=2, ran=(1, 2))


def errors(change: str = "") -> Model:
    """An item breaks: the next is dropped, one for always runs, and a wait sees the error."""
    one = (
        ("append", 0, call(1, does="breaks")),
        ("append", 0, call(2)),
        ("append", 0, call(3, always=True)),
        ("wait", 0),
        ("expect", "failed", 0),
        ("append in C", 0, call(4)),
    )
    two = ("append", 0, passes(0)), ("wait for mark", 0)
    return queues((one, two), change, marks=1, ran=(1, 3))


def waited_error(change: str = "") -> Model:
    """A wait for the item that breaks alone."""
    one = ("append", 0, call(1, does="breaks")), ("wait", 0), ("expect", "failed", 0)
    return queues((one,), change, ran=(1,))


def holds(change: str = "") -> Model:
    """A caller does the work of an idle queue itself; others append, wait, and end it."""
    one = ("append", 0, call(1)), ("wait", 0), ("hold", 0, 5)
    two = ("append", 0, call(2)), ("wait", 0), ("expect", "ran", 2), ("over", 0)
    return queues((one, two), change, workers=2)


def captures(change: str = "") -> Model:
    """Two streams are captured, and two callers append to them in C."""
    first = ("append", 0, call(1)), ("append in C", 0, call(2)), ("capture", 1, 1)
    second = ("append", 1, call(3)), ("append in C", 1, call(4)), ("capture", 0, 1)
    last = (("capture", 1, -1), ("append in C", 1, call(5)), ("wait", 1))
    return queues(((*first, *last), (*second, ("capture", 0, -1), ("wait", 0))), change, count=2)


def drops(change: str = "") -> Model:
    """A caller drops a queue that waits for another; a mark among the rest passes."""
    one = (
        ("append", 0, call(1)),
        ("append", 0, call(2)),
        ("append", 0, passes(0)),
        ("append", 1, follows(0)),
        ("append", 1, call(3)),
        ("drop", 1),
        ("wait", 1),
        ("wait", 0),
    )
    return queues((one,), change, count=2, marks=1)
