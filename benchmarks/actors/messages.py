"""Latency and rate of actors' messages on a device, beside the floors in CUDA C++ on the same GPU:
``cluster_floor.cu`` and the program of ``--floor``.

python benchmarks/actors/messages.py --device cuda [--floor message_floor.cu] [--count 100000]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks import results

from gridlane import actors
from gridlane.cuda import float32, float64, int32, int64, uint32

FLOOR = re.compile(r"(\d+) bytes, sequence word in 16 bytes, ([^:]+): +one way ([\d.]+) us")
"""Lines of cluster_floor.cu."""


@actors.message
class Order:
    price: float64
    size: int64


@actors.message
class Fill:
    price: float64
    size: int64


@actors.state
class Book:
    best: float64
    seen: int64


@actors.kernel(state=Book, replies=Fill)
def book(ctx, state, order: Order):
    state.seen += 1
    ctx.reply(Fill(order.price, order.size - 1))


@actors.message
class Wide:
    number: int64
    values: actors.array(float32, 30)


@actors.state
class Sum:
    seen: int64
    last: int64


@actors.kernel(state=Sum)
def take(ctx, state, wide: Wide):
    state.seen += 1
    state.last = wide.number


@actors.kernel(state=Sum)
def take_order(ctx, state, order: Order):
    state.seen += 1
    state.last = order.size


@actors.message
class Go:
    target: int64
    number: int64


RUN = 32
"""Messages that a sender sends for one of the host's."""


@actors.kernel(state=Sum)
def flood(ctx, state, go: Go):
    """Send a run to another actor."""
    values = (float32(1.0),) * 30
    for _ in range(RUN):
        ctx.send_to(go.target, Wide(go.number, values))


@actors.message
class Ball:
    left: int32
    stamp: int32


@actors.kernel(state=Sum)
def ping(ctx, state, ball: Ball):
    state.seen += 1
    if ball.left > 0:
        ctx.send("pong", Ball(ball.left - 1, ball.stamp))


@actors.kernel(state=Sum)
def pong(ctx, state, ball: Ball):
    state.seen += 1
    if ball.left > 0:
        ctx.send("ping", Ball(ball.left - 1, ball.stamp))


def shown(what: str, nanoseconds: np.ndarray) -> None:
    """Print the percentiles of times."""
    p = np.percentile(nanoseconds, (50, 99, 99.9)) / 1000
    for of, value in zip(("p50", "p99", "p99.9"), p, strict=True):
        results.add(what, of, value, "us")
    print(f"{what:44s} p50 {p[0]:7.2f} p99 {p[1]:7.2f} p99.9 {p[2]:7.2f} us", flush=True)


def calls(runtime: actors.Runtime, count: int) -> None:
    """Acknowledged round trips from Python, a 16-byte payload."""
    ref = runtime.launch(book, name="book")
    ref.activate()
    order, call, clock = Order(1.0, 5), ref.call, time.perf_counter_ns
    for _ in range(2000):
        call(order)
    times = np.zeros(count)
    for n in range(count):
        begin = clock()
        call(order)
        times[n] = clock() - begin
    assert ref.read_state().seen >= count + 2000
    shown(f"call from Python, {ref.mode}", times)
    some = min(count, 5000)
    for pause in (1, 2, 5, 20):
        for n in range(some):
            begin = clock()
            while clock() - begin < 1000 * pause:
                pass
            begin = clock()
            call(order)
            times[n] = clock() - begin
        shown(f"call from Python, {pause} us after the last", times[:some])
    if ref.mode == "persistent":
        for pause in (0, 1, 3, 20):
            timed = runtime._home.engine.time_calls(ref._there, bytes(order), count, 1000 * pause)
            shown(f"call from C, {pause} us after the last", np.frombuffer(timed, np.uint64))
    ref.terminate()


def one_way(runtime: actors.Runtime, count: int, kernel, receivers: int) -> None:
    """Messages from the host, in batches: a thread for each receiver."""
    refs = [runtime.launch(kernel, name=f"take{n}", capacity=4096) for n in range(receivers)]
    for ref in refs:
        ref.activate()
    size = kernel.message.layout.size
    batch = np.zeros(1 << 14, kernel.message.record.numpy)
    rounds = max(1, count * 10 // len(batch))

    def wait(each: int) -> None:
        while any(ref.metrics()["received"] < each for ref in refs):
            time.sleep(0.0001)

    def post(ref: actors.ActorRef) -> None:
        for _ in range(rounds):
            ref.post_many(batch, alone=receivers == 1)

    for ref in refs:
        ref.post_many(batch)
    wait(len(batch))
    begin = time.perf_counter()
    threads = [threading.Thread(target=post, args=(ref,)) for ref in refs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait((rounds + 1) * len(batch))
    rate = receivers * rounds * len(batch) / (time.perf_counter() - begin) / 1e6
    results.add(f"host to device, {size} bytes", f"{receivers} actors", rate, "M/s")
    print(f"host to device, {size} bytes, {receivers} actors: {rate:.2f} M/s", flush=True)
    for ref in refs:
        ref.terminate()


def pairs(runtime: actors.Runtime, count: int, number: int) -> None:
    """From actor to actor, 128 bytes; the host says when to send a run."""
    sinks, floods, batches = [], [], []
    for n in range(number):
        sinks.append(runtime.launch(take, name=f"sink{n}", capacity=4096))
        sinks[-1].activate()
        floods.append(runtime.launch(flood, name=f"flood{n}", emits=RUN, capacity=2048))
        runtime.connect(floods[-1], sinks[-1])
        floods[-1].activate()
        batches.append(np.zeros(1024, flood.message.record.numpy))
        batches[-1]["target"] = sinks[-1].id

    def received() -> int:
        return sum(ref.metrics()["received"] for ref in sinks)

    for rounds in (1, max(1, count // (RUN * 1024))):
        before, begin = received(), time.perf_counter()
        for _ in range(rounds):
            for ref, batch in zip(floods, batches, strict=True):
                ref.post_many(batch)
        wanted = before + number * rounds * RUN * 1024
        while received() < wanted:
            time.sleep(0.0001)
        seconds = time.perf_counter() - begin
    rate = number * rounds * RUN * 1024 / seconds / 1e6
    results.add("device to device, 128 bytes", f"{number} pairs", rate, "M/s")
    print(f"device to device, 128 bytes, {number} pairs: {rate:.2f} M/s", flush=True)
    for ref in [*floods, *sinks]:
        ref.terminate()


@actors.message
class Pass:
    left: int32
    to: uint32
    back: uint32


@actors.kernel(state=Sum)
def player(ctx, state, ball: Pass):
    state.seen += 1
    if ball.left > 0:
        ctx.send_to(ball.to, Pass(ball.left - 1, ball.back, ball.to))


def hops(runtime: actors.Runtime, count: int) -> None:
    """From actor to actor and back, and the same between two of a cluster."""
    pair = [runtime.launch(ping, name="ping"), runtime.launch(pong, name="pong")]
    hop(runtime, pair, count, "actor to actor, one hop", lambda number: Ball(number, 0))
    pair = [runtime.launch(player) for _ in range(2)]
    hop(runtime, pair, count, "one hop by ctx.send_to", lambda number: passed(number, pair))
    cluster = runtime.launch_cluster(player, names=["first", "second"])
    there = cluster[0]._instance.residence
    clustered = there is not None and there.cluster is not None
    where = "in a cluster" if clustered else "of a device without clusters"
    what = f"one hop by ctx.send_to, {where}"
    hop(runtime, cluster, count, what, lambda number: passed(number, cluster))


def passed(number: int, pair: list[actors.ActorRef]) -> Pass:
    return Pass(number, pair[1].id, pair[0].id)


def hop(
    runtime: actors.Runtime,
    pair: list[actors.ActorRef],
    count: int,
    what: str,
    ball: Callable[[int], Any],
) -> None:
    """Two actors that send a ball to each other."""
    first, second = pair
    runtime.connect(first, second)
    runtime.connect(second, first)
    first.activate()
    second.activate()

    def seen() -> int:
        return first.metrics()["received"] + second.metrics()["received"]

    for number in (100, count):
        before, begin = seen(), time.perf_counter()
        first.send(ball(number), replies=False)
        while seen() < before + number + 1:
            time.sleep(0.001)
        seconds = time.perf_counter() - begin
    results.add(what, "mean", seconds / count * 1e6, "us")
    print(f"{what}: {seconds / count * 1e6:.3f} us", flush=True)
    first.terminate()
    second.terminate()


def floor(source: Path) -> None:
    """Compile and run the floor."""
    compiler = shutil.which("nvcc")
    if compiler is None:
        print("no nvcc: the floor is not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "floor"
        flags = ["-O3", "-arch=native", "-std=c++17", "-w", f"-I{actors.include_folder()}"]
        subprocess.run([compiler, *flags, "-o", str(program), str(source)], check=True)
        done = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=True)
        print(done.stdout, end="", flush=True)
    for size, where, value in FLOOR.findall(done.stdout):
        results.add(f"CUDA C++, {size} bytes", where, float(value), "us")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--floor", type=Path)
    parser.add_argument(
        "--batches", action="store_true", help="launches instead of kernels that stay"
    )
    results.option(parser)
    given = parser.parse_args()
    if given.floor is not None:
        floor(given.floor)
        floor(Path(__file__).with_name("cluster_floor.cu"))
    persistent = False if given.batches else None
    with actors.Runtime(device=given.device, persistent=persistent) as runtime:
        calls(runtime, given.count)
        hops(runtime, given.count)
        for kernel in (take_order, take):
            for receivers in (1, 8):
                one_way(runtime, given.count, kernel, receivers)
        for number in (1, 16, 60):
            pairs(runtime, 20 * given.count, number)
    results.write("actors_messages", given.record, given.device)


if __name__ == "__main__":
    main()
