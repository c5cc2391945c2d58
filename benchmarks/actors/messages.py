"""Latency and rate of actors' messages on a device, beside the floor in CUDA C++ on the same GPU.

python benchmarks/actors/messages.py --device cuda [--floor message_floor.cu] [--count 100000]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gridlane import actors
from gridlane.cuda import float32, float64, int32, int64


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
    assert ref.read_state().seen == count + 2000
    shown(f"call from Python, {ref.mode}", times)
    timed = getattr(runtime._home.engine, "time_calls", None)
    if timed is not None and ref.mode == "persistent":
        shown("call from C", np.frombuffer(timed(ref._there, bytes(order), count), np.uint64))
    ref.terminate()


def one_way(runtime: actors.Runtime, count: int) -> None:
    """Messages of 128 bytes from the host, in batches."""
    ref = runtime.launch(take, name="take", capacity=4096)
    ref.activate()
    batch = np.zeros(1 << 14, np.dtype([("number", "i8"), ("values", "f4", (30,))]))
    rounds = max(1, count * 10 // len(batch))
    ref.post_many(batch)
    while ref.metrics()["received"] < len(batch):
        time.sleep(0.001)
    begin = time.perf_counter()
    for _ in range(rounds):
        ref.post_many(batch, alone=True)
    while ref.metrics()["received"] < (rounds + 1) * len(batch):
        time.sleep(0.0001)
    seconds = time.perf_counter() - begin
    print(f"host to device, 128 bytes, post_many: {rounds * len(batch) / seconds / 1e6:.2f} M/s")
    ref.terminate()


def hops(runtime: actors.Runtime, count: int) -> None:
    """From actor to actor and back."""
    first, second = runtime.launch(ping, name="ping"), runtime.launch(pong, name="pong")
    first.activate()
    second.activate()

    def seen() -> int:
        return first.metrics()["received"] + second.metrics()["received"]

    for number in (100, count):
        before, begin = seen(), time.perf_counter()
        first.send(Ball(number, 0), replies=False)
        while seen() < before + number + 1:
            time.sleep(0.001)
        seconds = time.perf_counter() - begin
    print(f"actor to actor, one hop: {seconds / count * 1e6:.3f} us")
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
        flags = ["-O3", "-arch=native", "-std=c++17", "-w", "-o", str(program), str(source)]
        subprocess.run([compiler, *flags], check=True)
        sys.stdout.flush()
        subprocess.run([str(program)], check=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--floor", type=Path)
    parser.add_argument(
        "--batches", action="store_true", help="launches instead of kernels that stay"
    )
    given = parser.parse_args()
    if given.floor is not None:
        floor(given.floor)
    persistent = False if given.batches else None
    with actors.Runtime(device=given.device, persistent=persistent) as runtime:
        calls(runtime, given.count)
        one_way(runtime, given.count)
        hops(runtime, given.count)


if __name__ == "__main__":
    main()
