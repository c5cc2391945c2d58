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
from pathlib import Path
from typing import Any

os.environ.setdefault("GRIDLANE_DEVICE", "vulkan")  # read when gridlane.cuda is imported

import numpy as np

import kernels
import peers_glsl
from cases import CASES
from gridlane import cuda
from gridlane.cuda import active
from timing import interleaved


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=sorted(peers_glsl.PEERS))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--repeats", type=int, default=5, help="runs in each round")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the numbers here as well")
    args = parser.parse_args()
    described = active.device().describe()
    print(f"{datetime.date.today()}, {described['name']}, {described['driver']}")
    print(f"{'milliseconds, medians':<24}{'ours':>9}{'strict':>9}{'GLSL':>9}{'ours/GLSL':>11}")
    rows = {}
    for name in args.only or peers_glsl.PEERS:
        ms = measured(name, args.rounds, args.repeats)
        rows[name] = ms
        ratio = ms["ours"] / ms["GLSL"]
        numbers = "".join(f"{ms[who]:>9.2f}" for who in ("ours", "strict", "GLSL"))
        print(f"{name:<24}{numbers}{ratio:>11.2f}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


def measured(name: str, rounds: int, repeats: int) -> dict[str, float]:
    """The milliseconds of each way."""
    inputs = CASES[kernel_of(name)].inputs()
    wanted = expected(kernel_of(name), inputs)
    runs = {}
    for who in ("ours", "strict", "GLSL"):
        runs[who], result = prepared(who, name, inputs)
        runs[who]()
        if not np.allclose(result(), wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max()):
            raise ArithmeticError(f"{name}, {who}: a wrong result")
    return interleaved(runs, rounds, repeats)


def prepared(who: str, name: str, inputs: dict[str, np.ndarray]) -> Any:
    """(what runs the kernel, what fetches its result)."""
    if who == "GLSL":
        out = cuda.device_array(peers_glsl.PEERS[name].shape, np.float32)
        arrays = [*map(cuda.to_device, inputs.values()), out]
        run = peers_glsl.launcher(active.device(), name, arrays)

        def fetch(arrays: list[Any] = arrays) -> np.ndarray:  # which keeps them as well
            return summed(name, arrays[-1].copy_to_host())

        return run, fetch
    name = kernel_of(name)
    original = getattr(kernels, name)
    if who == "strict":
        setattr(kernels, name, cuda.jit(original.py_func))
    try:
        return kernels.prepare(name, inputs)
    finally:
        setattr(kernels, name, original)


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


def summed(name: str, result: np.ndarray) -> np.ndarray:
    """The sums of blocks as one, as ``kernels`` has it."""
    return result.sum(keepdims=True) if name == "reduction" else result


if __name__ == "__main__":
    main()
