"""The state word of native/pool.c: launchers and workers open, join, leave and close jobs; parking.

The word is an int: bit 0 a job is open, then 2 for each worker in it, then NUMBER for each job.
``blocks``, ``ended`` and ``wrong`` are the model's own. ``change`` names what a mutant leaves out.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

OPEN, WORKER, NUMBER = 1, 2, 64
BLOCKS = 2


def _run_block(s: View, job: int) -> None:
    """A thread runs a block of a launch; a launch that has ended has no arrays any more."""
    blocks = list(s.see("blocks"))
    blocks[job] += 1
    s.note("blocks", tuple(blocks))
    if s.see("ended")[job]:
        s.note("wrong", "a worker runs a block of a launch that has ended")


def _end(s: View, job: int) -> None:
    ended = list(s.see("ended"))
    ended[job] = True
    s.note("ended", tuple(ended))


def launcher(name: int, jobs: tuple[int, ...], change: str, needs_help: bool) -> Process:
    """gridlane_launch, one launch after the other. One that needs help has blocks that wait for
    each other, so that a worker must run one of them."""

    def job(s: View) -> int:
        return jobs[s["at"]]

    def over(s: View) -> Any:
        _end(s, job(s))
        s["at"] += 1
        return lock if s["at"] < len(jobs) else None

    @step("pool.c run_grid [lock]", "exchanges the lock (acquire)")
    def lock(s: View) -> Any:
        return beside if s.swap("lock", 1) else divide

    @step("pool.c run_grid", "counts itself beside the job")
    def beside(s: View) -> Any:
        s.add("beside", 1)
        return alone

    @step("pool.c run_grid", "runs its grid itself")
    def alone(s: View) -> Any:
        for _ in range(BLOCKS):
            _run_block(s, job(s))
        return no_longer_beside

    @step("pool.c run_grid", "is no longer beside the job")
    def no_longer_beside(s: View) -> Any:
        s.add("beside", -1)
        return over(s)

    @step("shares.c gl_divide", "divides the blocks")
    def divide(s: View) -> Any:
        s.store("left", BLOCKS)
        return fields

    @step("pool.c open_job", "writes the fields of the job")
    def fields(s: View) -> Any:
        s.store("job", job(s))
        return open_it

    @step("pool.c open_job [open]", "stores the state (sequentially consistent)")
    def open_it(s: View) -> Any:
        state = s.load("state") // NUMBER * NUMBER + NUMBER + OPEN
        if change == "opens without a fence":
            s.store("state", state, release=True)
        elif change == "opens by a relaxed store":
            s.store("state", state)
        else:
            s.store_fenced("state", state)
        return any_parked

    @step("pool.c open_job [any parked]", "loads the number of parked workers")
    def any_parked(s: View) -> Any:
        return mutex if s.load("parked") and change != "wakes nobody" else take

    @step("pool.c open_job", "locks the mutex")
    def mutex(s: View) -> Any:
        return wake if s.cas("mutex", 0, 1) else BLOCKED

    @step("pool.c open_job [wake]", "wakes the workers and unlocks the mutex")
    def wake(s: View) -> Any:
        s.fence()
        s.note("asleep", 0)
        s.note("mutex", 0)
        return take

    @step("shares.c take", "takes a block by compare-and-swap")
    def take(s: View) -> Any:
        left = s.load("left")
        if not left:
            return close
        if s.cas("left", left, left - 1):
            _run_block(s, job(s))
            return meet if needs_help else take
        return take

    @step("records.c run", "waits in its block for the others")
    def meet(s: View) -> Any:
        return take if s.see("blocks")[job(s)] == BLOCKS else BLOCKED

    @step("pool.c close_job [close]", "closes the job")
    def close(s: View) -> Any:
        s.add("state", -OPEN)
        return unlock if change == "waits for no worker" else empty

    @step("pool.c close_job [empty]", "loads the state until no worker is in the job (acquire)")
    def empty(s: View) -> Any:
        return BLOCKED if s.load("state") % NUMBER else unlock

    @step("pool.c run_grid [unlock]", "stores the lock (release)")
    def unlock(s: View) -> Any:
        s.store("lock", 0, release=True)
        return over(s)

    return Process(f"launcher {name}", lock, {"at": 0})


def worker(workers: int, change: str) -> Process:
    """worker: it joins each job that it sees and that has room, and parks when there is none."""

    @step("pool.c join [spin]", "loads the state (acquire)")
    def spin(s: View) -> Any:
        state = s["state"] = s.load("state")
        if state & OPEN and state // NUMBER != s["seen"]:
            return room
        return lock_mutex  # it has spun for long

    @step("pool.c join", "loads the number of launches beside the job")
    def room(s: View) -> Any:
        if s["state"] % NUMBER // WORKER + s.load("beside") >= workers:
            s["seen"] = s["state"] // NUMBER
            return spin
        return join

    @step("pool.c join [join]", "joins by compare-and-swap of the state")
    def join(s: View) -> Any:
        if change == "joins without compare-and-swap":
            s.add("state", WORKER)
        elif not s.cas("state", s["state"], s["state"] + WORKER):
            return spin
        s["seen"] = s["state"] // NUMBER
        return read

    @step("pool.c worker [work]", "reads the fields of the job")
    def read(s: View) -> Any:
        s["job"] = s.load("job")
        if s["job"] is None:
            s.note("wrong", "a worker reads fields that nobody has written")
            return None
        return take

    @step("shares.c take", "takes a block by compare-and-swap")
    def take(s: View) -> Any:
        left = s.load("left")
        if not left:
            return leave
        if s.cas("left", left, left - 1):
            _run_block(s, s["job"])
        return take

    @step("pool.c worker [leave]", "leaves the job")
    def leave(s: View) -> Any:
        s.add("state", -WORKER)
        return spin

    @step("pool.c park", "locks the mutex")
    def lock_mutex(s: View) -> Any:
        return park if s.cas("mutex", 0, 1) else BLOCKED

    @step("pool.c park [park]", "counts itself as parked")
    def park(s: View) -> Any:
        if change == "parks without a fence":
            s.store("parked", s.load("parked") + 1)
        else:
            s.add("parked", 1)
        return sleep if change == "parks without a second look" else look

    @step("pool.c park [look]", "loads the state")
    def look(s: View) -> Any:
        state = s.load("state")
        return rise if state & OPEN and state // NUMBER != s["seen"] else sleep

    @step("pool.c park [sleep]", "unlocks the mutex and sleeps")
    def sleep(s: View) -> Any:
        s.note("asleep", 1)
        if change == "parks without a fence":
            s.store("mutex", 0)  # else its lock would be the fence
        else:
            s.fence()
            s.note("mutex", 0)
        return asleep

    @step("pool.c park [sleep]", "wakes, and locks the mutex")
    def asleep(s: View) -> Any:
        if s.see("asleep") or not s.cas("mutex", 0, 1):
            return BLOCKED
        return look

    @step("pool.c park [rise]", "is no longer parked, and unlocks the mutex")
    def rise(s: View) -> Any:
        s.add("parked", -1)
        s.note("mutex", 0)
        return spin

    return Process("worker", spin, {"seen": 0, "state": 0, "job": None})


def jobs(
    launches: tuple[tuple[int, ...], ...] = ((0, 1), (2,)),
    change: str = "",
    order: Order = "tso",
    needs_help: bool = False,
) -> Model:
    """A worker, and launchers with the numbers of their launches."""
    count = sum(map(len, launches))

    def never(memory: Memory) -> str | None:
        if any(blocks > BLOCKS for blocks in memory["blocks"]):
            return "a block runs twice"
        for ended, blocks in zip(memory["ended"], memory["blocks"], strict=True):
            if ended and blocks != BLOCKS:
                return "a launch ends before its blocks"
        return memory["wrong"]

    def at_rest(memory: Memory) -> str | None:
        return None if all(memory["ended"]) else "a launch never ends"

    return Model(
        {"state": 0, "lock": 0, "beside": 0, "left": 0, "job": None, "parked": 0, "mutex": 0}
        | {"asleep": 0, "blocks": (0,) * count, "ended": (False,) * count, "wrong": None},
        [launcher(n, own, change, needs_help) for n, own in enumerate(launches)]
        + [worker(1, change)],
        never=never,
        at_rest=at_rest,
        goal=lambda memory: all(memory["ended"]),
        order=order,
    )
