"""A stop of a launch, in native/leaving.c and records.c: whoever is in its kernel leaves it.

The kernel never ends by itself. A signal to a thread without a frame does nothing.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

THREADS = "launcher", "worker"


def _signal_all(s: View) -> None:
    """gl_signal_all: the records whose context is the launch's."""
    for name in THREADS:
        if s.load(f"context {name}") and s.load(f"frame {name}"):
            s.note(f"signal {name}", 1)


def thread(name: str, change: str) -> Process:
    """gl_run_blocks, of the launcher and of a worker that has joined its job."""
    is_launcher = name == "launcher"

    @step("records.c gl_run_blocks", "stores its context (release)")
    def context(s: View) -> Any:
        s.store(f"context {name}", 1, release=True)
        return frame

    @step("records.c gl_run_blocks", "stores its frame (sequentially consistent)")
    def frame(s: View) -> Any:
        if "frame without a fence" in change:
            s.store(f"frame {name}", 1, release=True)
        else:
            s.store_fenced(f"frame {name}", 1)
        return run if "no look at stop" in change else look

    @step("records.c gl_run_blocks", "loads stop (acquire)")
    def look(s: View) -> Any:
        return leave if s.load("stop") else run

    @step("stop.c on_signal", "runs its kernel until a signal")
    def run(s: View) -> Any:
        return leave if s.see(f"signal {name}") else BLOCKED

    @step("records.c gl_run_blocks", "clears its frame and its context (release)")
    def leave(s: View) -> Any:
        s.store(f"frame {name}", 0, release=True)
        s.store(f"context {name}", 0, release=True)
        return close if is_launcher else gone

    @step("pool.c worker [leave]", "leaves the job")
    def gone(s: View) -> Any:
        s.add("inside", -1)
        return None

    @step("pool.c close_job [empty]", "loads the state (acquire)")
    def close(s: View) -> Any:
        if not s.load("inside"):
            s.note("ended", True)
            return None
        return BLOCKED if "no second signal" in change else again

    @step("pool.c close_job", "signals those that are still in the launch")
    def again(s: View) -> Any:
        if s.load("stop"):
            _signal_all(s)
        return close

    return Process(name, context)


def stopper(change: str) -> Process:
    """gl_end_launch and gl_signal_all, of the watch or of a thread that fails."""

    @step("leaving.c gl_end_launch", "writes the reason by compare-and-swap")
    def end(s: View) -> Any:
        s.cas("stop", 0, 1)
        return None if "signals nobody" in change else tell

    @step("leaving.c gl_signal_all", "signals the threads of the launch")
    def tell(s: View) -> Any:
        _signal_all(s)
        return None

    return Process("stopper", end)


def stops(change: str = "", order: Order = "tso") -> Model:
    """A launch with one worker in its job, and a stop at any time."""

    def at_rest(memory: Memory) -> str | None:
        return None if memory["ended"] else "a stopped launch never ends"

    places = {f"{what} {name}": 0 for what in ("context", "frame", "signal") for name in THREADS}
    return Model(
        places | {"stop": 0, "inside": 1, "ended": False},
        [*(thread(name, change) for name in THREADS), stopper(change)],
        at_rest=at_rest,
        goal=lambda memory: memory["ended"],
        order=order,
    )
