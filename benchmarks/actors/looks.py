"""What a handler's looks at requests cost an iteration, and what telemetry costs a call and a hop.

python benchmarks/actors/looks.py [--device cuda]
"""

from __future__ import annotations

import argparse
import statistics
import time

import messages
import numpy as np
from benchmarks import results

from gridlane import actors
from gridlane.actors.resident import residence
from gridlane.cuda import int64
from gridlane.frontends.python.kernel_source import PythonSource


@actors.message
class Number:
    value: int64


@actors.kernel(replies=Number)
def counted(ctx, state, number: Number):
    s = number.value
    for i in range(number.value):
        s = (s * 3) ^ i
    ctx.reply(Number(s))


@actors.kernel(replies=Number)
def conditional(ctx, state, number: Number):
    s = number.value
    k = number.value
    while k > 0 and s != 12345:
        s = (s * 3) ^ k
        k -= 1
    ctx.reply(Number(s))


@actors.kernel(replies=Number)
def table(ctx, state, number: Number, a):
    s = number.value
    for i in range(number.value):
        s = a[s & 1023] + i
    ctx.reply(Number(s))


@actors.kernel(replies=Number)
def nested(ctx, state, number: Number):
    s = number.value
    k = number.value & 15
    for i in range(number.value >> 4):
        for _ in range(k):
            s = (s * 3) ^ i
    ctx.reply(Number(s))


CASES = (
    (counted, (), 1_000_000),
    (conditional, (), 500_000),
    (table, (np.arange(1024),), 300_000),
    (nested, (), 1_000_009),
)


def looks(device: str) -> None:
    """Nanoseconds an iteration without looks and with them, in turns."""
    heeding = residence.HeedingSource
    for source in (PythonSource, heeding) * 2:
        residence.HeedingSource = source
        with actors.Runtime(device, persistent=True, watchdog=None) as runtime:
            for actor, args, count in CASES:
                ref = runtime.launch(actor, args=args)
                ref.activate()
                ref.call(Number(10), timeout=60)
                times = []
                for _ in range(7):
                    begin = time.perf_counter()
                    ref.call(Number(count), timeout=60)
                    times.append((time.perf_counter() - begin) / count * 1e9)
                how = "looks" if source is heeding else "no looks"
                results.add(f"{actor.name}, an iteration", how, statistics.median(times), "ns")
                print(f"{actor.name:12s} {how:8s} {statistics.median(times):7.2f} ns an iteration")
                ref.terminate()
    residence.HeedingSource = heeding


def telemetry(device: str, count: int) -> None:
    """A call and a hop without telemetry and with it, in turns."""
    for on in (False, True) * 2:
        with actors.Runtime(device, persistent=True, telemetry=on) as runtime:
            ref = runtime.launch(messages.book)
            ref.activate()
            order, times = messages.Order(1.0, 5), []
            for _ in range(count):
                begin = time.perf_counter()
                ref.call(order)
                times.append(time.perf_counter() - begin)
            results.add("call, p50", f"telemetry {on}", statistics.median(times) * 1e6, "us")
            print(f"telemetry {on}: call p50 {statistics.median(times) * 1e6:.2f} us")
            messages.hops(runtime, count)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--count", type=int, default=20_000)
    results.option(parser)
    given = parser.parse_args()
    looks(given.device)
    telemetry(given.device, given.count)
    results.write("actors_looks", given.record, given.device)


if __name__ == "__main__":
    main()
