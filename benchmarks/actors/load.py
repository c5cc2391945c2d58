"""Minutes of load on actors at 80 % of their peak rate: no loss, no growth, latencies that stay.

python benchmarks/actors/load.py --device cuda [--minutes 8] [--receivers 8]

Threads post messages of 128 bytes in batches, one thread a receiver, at 0.8 of the rate that they
reach without a pause. Beside them one thread calls another actor. Each minute has a line: the rate,
the latencies of those calls, the process's resident memory, and what is lost or dead.
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

import messages as samples  # has put the root into the path
import numpy as np
from benchmarks import results

from gridlane import actors

BATCH = 1024


def resident() -> float:
    """The process's memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


class Load:
    """Threads that post to actors."""

    def __init__(self, refs: list[actors.ActorRef]) -> None:
        self.refs, self.posted = refs, [0] * len(refs)
        self.batch = np.zeros(BATCH, samples.take.message.record.numpy)

    def run(self, seconds: float, rate: float | None) -> None:
        """Post for so long, at so many messages a second for each actor, or without a pause."""

        def post(n: int) -> None:
            begin, count = time.perf_counter(), 0
            while (now := time.perf_counter()) - begin < seconds:
                if rate is not None and count > rate * (now - begin):
                    time.sleep(0.0002)
                    continue
                self.refs[n].post_many(self.batch)
                count += BATCH
            self.posted[n] += count

        threads = [threading.Thread(target=post, args=(n,)) for n in range(len(self.refs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def wait(self) -> list[dict[str, int]]:
        """Wait until all is handled, or for 20 seconds; what the actors count."""
        until = time.perf_counter() + 20
        while time.perf_counter() < until:
            found = [ref.metrics() for ref in self.refs]
            if all(each["received"] == count for each, count in zip(found, self.posted)):
                break
            time.sleep(0.001)
        return [ref.metrics() for ref in self.refs]


def minute(load: Load, called: actors.ActorRef, rate: float) -> np.ndarray:
    """A minute of load; the latencies of calls meanwhile, in us."""
    thread = threading.Thread(target=load.run, args=(60.0, rate))
    order, times = samples.Order(1.0, 5), list[int]()
    thread.start()
    while thread.is_alive():
        begin = time.perf_counter_ns()
        called.call(order, timeout=20)
        times.append(time.perf_counter_ns() - begin)
        time.sleep(0.001)
    thread.join()
    return np.array(times) / 1000


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=int, default=8)
    parser.add_argument("--receivers", type=int, default=8)
    results.option(parser)
    given = parser.parse_args()
    with actors.Runtime(device=given.device) as runtime:
        refs = [
            runtime.launch(samples.take, name=f"take{n}", capacity=4096)
            for n in range(given.receivers)
        ]
        called = runtime.launch(samples.book, name="book")
        for ref in [*refs, called]:
            ref.activate()
        load = Load(refs)
        load.run(3.0, None)
        load.wait()
        before, begin = sum(load.posted), time.perf_counter()
        load.run(10.0, None)
        load.wait()
        peak = (sum(load.posted) - before) / (time.perf_counter() - begin)
        results.add("posted", "peak", peak / 1e6, "M/s")
        print(f"peak {peak / 1e6:.2f} M/s to {given.receivers} actors, {refs[0].mode}", flush=True)
        for number in range(1, given.minutes + 1):
            before, begin = sum(load.posted), time.perf_counter()
            times = minute(load, called, 0.8 * peak / given.receivers)
            found = load.wait()
            rate = (sum(load.posted) - before) / (time.perf_counter() - begin)
            p50, p99 = np.percentile(times, (50, 99))
            lost = sum(load.posted) - sum(each["received"] for each in found)
            wrong = sum(each["failed"] + each["dead"] for each in found)
            for case, value, unit in (
                ("posted", rate / 1e6, "M/s"),
                ("call, p50", p50, "us"),
                ("call, p99", p99, "us"),
                ("resident", resident(), "MB"),
                ("lost", lost, "messages"),
                ("dead", wrong, "messages"),
            ):
                results.add(case, f"minute {number}", value, unit)
            print(
                f"minute {number}: {rate / 1e6:.2f} M/s ({rate / peak:.0%}), call p50 {p50:.1f} "
                f"p99 {p99:.1f} us, resident {resident():.1f} MB, lost {lost}, dead {wrong}",
                flush=True,
            )
    results.write("actors_load", given.record, given.device)


if __name__ == "__main__":
    main()
