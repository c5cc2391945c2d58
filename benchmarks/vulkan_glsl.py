"""Compare kernels on a Vulkan device with GLSL written by hand, and print one table.

Both go through the same driver, with the same arrays, grids and block shapes, and take turns. Times
are from the launch until the device is done, medians in milliseconds; results are checked against
numpy's. ``strict`` is the same kernel without ``fastmath=True``, which GLSL has no word for.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("GRIDLANE_DEVICE", "vulkan")  # read when gridlane.cuda is imported

import numpy as np

import kernels
import peers_glsl
import results
from cases import CASES
from gridlane import cuda
from gridlane.launch import current
from timing import interleaved


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=sorted(peers_glsl.PEERS))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--repeats", type=int, default=5, help="runs in each round")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the numbers here as well")
    results.option(parser)
    args = parser.parse_args()
    described = current.device().describe()
    print(f"{datetime.date.today()}, {described['name']}, {described['driver']}")
    print(f"{'milliseconds, medians':<24}{'ours':>9}{'strict':>9}{'GLSL':>9}{'ours/GLSL':>11}")
    rows = {}
    for name in args.only or peers_glsl.PEERS:
        ms = measured(name, args.rounds, args.repeats)
        rows[name] = ms
        ratio = ms["ours"] / ms["GLSL"]
        for who, value in ms.items():
            results.add(name, who, value, "ms")
        results.add(name, "ours/GLSL", ratio, "ratio")
        numbers = "".join(f"{ms[who]:>9.2f}" for who in ("ours", "strict", "GLSL"))
        print(f"{name:<24}{numbers}{ratio:>11.2f}", flush=True)
    results.write("vulkan_glsl", args.record, "vulkan")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


def measured(name: str, rounds: int, repeats: int) -> dict[str, float]:
    """The milliseconds of each way. All have the same arrays, since where an array lies may cost as
    much as what is done with it."""
    peer, inputs = peers_glsl.PEERS[name], CASES[kernel_of(name)].inputs()
    out = cuda.device_array(peer.shape, np.float32)
    arrays = [*map(cuda.to_device, inputs.values()), out]
    fast = getattr(kernels, kernel_of(name))
    runs = {
        "ours": launcher(fast, peer, arrays),
        "strict": launcher(cuda.jit(fast.py_func), peer, arrays),
        "GLSL": peers_glsl.launcher(current.device(), name, arrays),
    }
    wanted = expected(kernel_of(name), inputs)
    for who, run in runs.items():
        out.copy_to_device(np.full(peer.shape, np.nan, np.float32))
        run()
        got = out.copy_to_host()
        got = got.sum(keepdims=True) if name == "reduction" else got
        if not np.allclose(got, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max()):
            raise ArithmeticError(f"{name}, {who}: a wrong result")
    return interleaved(runs, rounds, repeats)


def launcher(kernel: Any, peer: peers_glsl.Peer, arrays: list[Any]) -> Callable[[], None]:
    """What launches our kernel as the peer is launched, and waits for it."""
    configured, n = kernel[peer.grid, peer.block], np.int32(peer.n)

    def run() -> None:
        configured(*arrays, n)
        cuda.synchronize()

    return run


def kernel_of(name: str) -> str:
    """The kernel that a line of the table compares."""
    return name.partition(",")[0]


def expected(name: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The result, by numpy."""
    if name == "vecadd":
        return inputs["a"] + inputs["b"]
    if name == "matmul":
        return inputs["a"] @ inputs["b"]
    if name == "reduction":
        return inputs["values"].sum(keepdims=True, dtype=np.float64)
    bodies = inputs["bodies"].astype(np.float64)
    out = np.zeros_like(bodies)
    for n, body in enumerate(bodies):
        d = bodies[:, :3] - body[:3]
        weights = bodies[:, 3] * ((d * d).sum(1) + 1e-3) ** -1.5
        out[n, :3] = weights @ d
    return out


if __name__ == "__main__":
    main()
