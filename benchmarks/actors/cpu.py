"""Messages of actors: one way, round trips, calls, and what idle actors take.

    python benchmarks/actors/cpu.py                    # the CPU device
    python benchmarks/actors/cpu.py --device vulkan    # messages a second by the size of a batch

Each figure is that of the best of several runs, and the median run beside it: other processes on
the machine only ever make one slower. What passes between two processors takes what a cache line
takes between them, 100 ns there and back on one die and 450 across, which hypervisors change while
it runs. `chrt -f 10` in front keeps other processes away.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin after each use

import numpy as np

from gridlane import actors
from gridlane.cuda import int64

sys.path.insert(0, str(Path(__file__).parents[1]))
import results
from timing import machine

MESSAGES = 100_000
QUANTILES = (0.5, 0.99, 0.999)


@actors.message
class Tick:
    value: int64


@actors.state
class Seen:
    now: int64
    count: int64


@actors.kernel(state=Seen)
def sink(ctx, state, tick: Tick):
    state.count += tick.value


@actors.kernel(replies=Tick)
def echo(ctx, state, tick: Tick):
    ctx.reply(tick)


@actors.kernel(state=Seen)
def ping(ctx, state, tick: Tick, times):
    if state.count > 0:
        times[state.count - 1] = ctx.now - state.now
    state.now = ctx.now
    state.count += 1
    if state.count <= times.size:
        ctx.send("pong", tick)


@actors.kernel
def pong(ctx, state, tick: Tick):
    ctx.send("ping", tick)


def one_way(runtime: actors.Runtime, runs: int, count: int, **launch: int) -> list[float]:
    """Messages a second from a thread to an actor on another, `count` of them at a time."""
    ref = runtime.launch(sink, emits=1, name="sink", **launch)
    ref.activate()
    ticks = np.ones(count, Tick.__gridlane_type__.numpy)
    rates = []
    for _ in range(runs):
        end = ref.metrics()["received"] + count
        begin = time.perf_counter()
        ref.post_many(ticks, alone=True)
        while ref.metrics()["received"] < end:
            pass
        rates.append(count / (time.perf_counter() - begin))
    ref.terminate()
    return rates


def round_trips(workers: int | None, runs: int) -> list[np.ndarray]:
    """Nanoseconds of each round trip between two actors."""
    found = []
    for _ in range(runs):
        with actors.Runtime(device="cpu", workers=workers, idle=1e-3) as runtime:
            there = runtime.launch(pong, name="pong")
            here = runtime.launch(ping, name="ping", args=(np.zeros(MESSAGES, np.int64),))
            there.activate()
            here.activate()
            here.send(Tick(0), replies=False)
            while here.metrics()["received"] <= MESSAGES:
                time.sleep(0.002)
            found.append(here.arrays[0].copy_to_host())
    return found


def calls(runtime: actors.Runtime, runs: int) -> list[np.ndarray]:
    """Nanoseconds of each call from Python."""
    ref = runtime.launch(echo)
    ref.activate()
    tick, clock, found = Tick(1), time.perf_counter_ns, []
    for _ in range(runs):
        times = np.empty(MESSAGES, np.int64)
        for n in range(MESSAGES):
            begin = clock()
            ref.call(tick)
            times[n] = clock() - begin
        found.append(times)
    return found


def idle(count: int, seconds: float) -> float:
    """The part of a core that idle actors take."""
    with actors.Runtime(device="cpu") as runtime:
        for _ in range(count):
            runtime.launch(sink, capacity=16, outbox=1, batch=1, emits=1).activate()
        time.sleep(1)  # the workers park
        begin, used = time.perf_counter(), time.process_time()
        time.sleep(seconds)
        return (time.process_time() - used) / (time.perf_counter() - begin)


def line(what: str, bar: str, *values: str) -> None:
    print(f"{what:44} {bar:>12}  " + "  ".join(f"{value:>12}" for value in values))


def rates(what: str, bar: str, found: list[float]) -> None:
    best, middle = max(found), statistics.median(found)
    results.add(what, "best run", best / 1e6, "M/s")
    results.add(what, "median run", middle / 1e6, "M/s")
    line(what, bar, _rate(best), _rate(middle))


def _rate(value: float) -> str:
    return f"{value / 1e6:.2f} M/s" if value > 1e6 else f"{value:,.0f} /s"


def times(what: str, bar: str, found: list[np.ndarray]) -> None:
    """Print the quantiles of the best run, and the median of the runs' own medians."""
    best = min(found, key=np.median)
    values = [f"{np.quantile(best, each) / 1e3:.2f} us" for each in QUANTILES]
    middle = statistics.median(float(np.median(each)) for each in found)
    for each in QUANTILES:
        results.add(what, f"p{100 * each:g}", np.quantile(best, each) / 1e3, "us")
    results.add(what, "median p50", middle / 1e3, "us")
    line(what, bar, *values, f"{middle / 1e3:.2f} us")


def on_cpu(runs: int, one_worker: bool) -> None:
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {MESSAGES:,} messages a run, {runs} runs\n")
    line("one way", "bar", "best run", "median run")
    for capacity, batch in ((256, 64), (1024, 256), (4096, 256)):
        with actors.Runtime(device="cpu", workers=1) as runtime:
            found = one_way(runtime, 2 * runs, 1_000_000, capacity=capacity, batch=batch)
        rates(f"thread to actor, {capacity} slots, batches of {batch}", ">= 20 M/s", found)
    print()
    line("round trips", "bar of p50", "p50", "p99", "p99.9", "median p50")
    if one_worker:
        times("two actors, one worker", "", round_trips(1, runs))
    times("two actors, a worker for each core", "< 1 us", round_trips(None, runs))
    with actors.Runtime(device="cpu", workers=1) as runtime:
        times("ref.call from Python", "< 5 us", calls(runtime, runs))
    print()
    line("idle", "bar", "of a core")
    share = 100 * idle(10_000, 5)
    results.add("10,000 actors, idle", "of a core", share, "%")
    line("10,000 actors, all active", "< 1 %", f"{share:.2f} %")


def on_device(device: str, runs: int) -> None:
    with actors.Runtime(device=device) as runtime:
        print(f"{runtime.device.name}; {machine()}; load {os.getloadavg()[0]:.1f}; {runs} runs\n")
        line("one way, by the size of a batch", "", "best run", "median run")
        for batch in (1, 4, 16, 64, 256, 1024):
            count = min(50 * batch, 20_000)
            found = one_way(runtime, runs, count, capacity=4096, batch=batch)
            rates(f"batches of {batch}", "", found)
        print()
        line("round trips", "", "p50", "p99", "p99.9", "median p50")
        times("ref.call from Python, 200 calls", "", [few_calls(runtime)])


def few_calls(runtime: actors.Runtime) -> np.ndarray:
    ref = runtime.launch(echo)
    ref.activate()
    found = []
    for _ in range(200):
        begin = time.perf_counter_ns()
        ref.call(Tick(1))
        found.append(time.perf_counter_ns() - begin)
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one-worker", action="store_true", help="also on one worker")
    results.option(parser)
    options = parser.parse_args()
    if options.device == "cpu":
        on_cpu(options.runs, options.one_worker)
    else:
        on_device(options.device, options.runs)
    results.write(f"actors_{options.device}", options.record, options.device)


if __name__ == "__main__":
    main()
