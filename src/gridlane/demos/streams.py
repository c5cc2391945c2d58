"""Streams that run beside each other, and wait by events."""

# pyright: reportMissingParameterType=false

from __future__ import annotations

from argparse import Namespace

import numpy as np

from gridlane import cuda
from gridlane.demos.checking import check, run


@cuda.jit
def smooth(out, x):
    """The mean of an element and its neighbours."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3


@cuda.jit
def add(out, x, y):
    """The sum of two arrays."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def demo(options: Namespace) -> None:
    """Smooth two arrays in two streams; one of them waits for the other and adds both."""
    n, blocks = options.size, -(-options.size // 128)
    hosts = [np.random.default_rng(seed).random(n) for seed in (1, 2)]
    streams = [cuda.stream(), cuda.stream()]
    ends = [cuda.event(), cuda.event()]
    smoothed = [cuda.to_device(np.zeros(n)) for _ in hosts]
    for host, out, stream, end in zip(hosts, smoothed, streams, ends, strict=True):
        smooth[blocks, 128, stream](out, cuda.to_device(host, stream=stream))
        end.record(stream)
    ends[1].wait(streams[0])
    total = cuda.device_array(n)
    add[blocks, 128, streams[0]](total, *smoothed)
    got = total.copy_to_host(stream=streams[0])
    streams[0].synchronize()

    expected = np.zeros(n)
    for host in hosts:
        expected[1:-1] += (host[:-2] + host[1:-1] + host[2:]) / 3
    check("the sum of both streams", got, expected, 1e-15)


if __name__ == "__main__":
    run(demo, size=100_000)
