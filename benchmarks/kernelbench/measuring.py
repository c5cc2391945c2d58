"""One problem: our result beside that of torch's module, and the times of both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.kernelbench import split, suite
from benchmarks.kernelbench.table import FUNCTIONS

import gridlane

TOLERANCE = 1e-4
"""KernelBench's for float32, absolute and relative."""
COLD_BYTES = 256 << 20
"""What empties a GPU's second cache."""
AHEAD_CYCLES = 1_000_000
"""Half a millisecond in which the host submits a call."""


def measured(number: int, path: Path, factor: int, device: str, rounds: int) -> dict[str, Any]:
    """What is found of a problem: ``error``, or ``off``, the largest difference, ``parts``,
    whether products were three of tf32 each, and on a GPU ``ours`` and ``torch`` in milliseconds.
    """
    import torch

    place = "cpu" if device in ("cpu", "interp") else device
    start = time.perf_counter()
    torch.set_default_device(place)
    torch.manual_seed(number)
    with torch.no_grad(), gridlane.device(device):
        problem = suite.load(path, factor)
        model = problem.model(*problem.init_inputs())
        inputs = problem.inputs()
        run = FUNCTIONS[number]
        with _exactly():
            wanted = model(*inputs)
        split.calls.clear()
        made = run(model, *inputs)
        if made.shape != wanted.shape or made.dtype != wanted.dtype:
            return {"error": f"{made.dtype} {made.shape}, not {wanted.dtype} {wanted.shape}"}
        off = _difference(made, wanted)
        if not _is_close(made, wanted):
            return {"error": f"WRONG: off by {off:.3g}"}
        found: dict[str, Any] = {"off": off, "parts": bool(split.calls)}
        del made, wanted
        if rounds and place != "cpu":
            found |= times(lambda: run(model, *inputs), lambda: model(*inputs), rounds)
        return found | {"seconds": time.perf_counter() - start}


@contextmanager
def _exactly() -> Iterator[None]:
    """torch's convolutions in float32. By default they round factors to tf32 on a GPU, by more than
    the tolerance. They are timed by its default."""
    import torch

    known = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = known


def _parts(a: Any, b: Any) -> Any:
    """Pieces of two arrays, as whole ones and their difference may exceed a GPU's memory."""
    step = 1 << 28
    one, other = a.reshape(-1), b.reshape(-1)
    for at in range(0, one.numel(), step):
        yield one[at : at + step], other[at : at + step]


def _is_close(a: Any, b: Any) -> bool:
    import torch

    return all(torch.allclose(y, x, TOLERANCE, TOLERANCE) for x, y in _parts(a, b))


def _difference(a: Any, b: Any) -> float:
    return max(float((x.double() - y.double()).abs().max()) for x, y in _parts(a, b))


def times(ours: Any, theirs: Any, rounds: int) -> dict[str, float]:
    """The medians of both on the GPU, which take turns: ``ours`` and ``torch``, in milliseconds.

    In front of each the second cache is emptied, and the GPU waits until the host has submitted the
    call: as far as the call does not wait for the GPU, the host's time is not part of it.
    """
    import torch

    cold = torch.empty(COLD_BYTES, dtype=torch.int8)
    found: dict[str, list[float]] = {"ours": [], "torch": []}
    for number in range(rounds + 1):
        for name, run in (("ours", ours), ("torch", theirs)):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            cold.zero_()
            torch.cuda._sleep(AHEAD_CYCLES)
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            if number:
                found[name].append(start.elapsed_time(end))
    return {name: statistics.median(each) for name, each in found.items()}
