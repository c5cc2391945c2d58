"""A chain of ten launches in ``compute.fused()``, one kernel by hand, and the launches alone.
``captured``: the same as a graph of ``cuda.capture(fused=True)``, which is launched again.

``in place``: ten kernels that change one array. ``two arrays``: the kernels read one array and
write the other, in turn. ``ten arrays``: each kernel writes an array of its own, and so does the
kernel by hand. All results are compared bit for bit. Medians of interleaved rounds; the target is
1.1 times the kernel by hand.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # of a script it is the script's folder
    sys.path.append(str(ROOT))

from benchmarks import results, timing  # noqa: E402

THREADS = 256
CHAIN = 10
TARGET = 1.1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--elements", type=int, nargs="+", default=[1 << 20, 1 << 24])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    results.option(parser)
    args = parser.parse_args()
    os.environ["GRIDLANE_DEVICE"] = args.device  # before gridlane is imported
    titles = ("by hand", "fused", "captured", "alone", "fused/", "captured/")
    print(f"{'elements':>10} {'chain':<11}" + "".join(f"{each:>10}" for each in titles))
    for elements in args.elements:
        for name, runs in cases(elements).items():
            times = timing.interleaved(runs, args.rounds, args.repeats)
            case = f"{name}, {elements} elements"
            for of, value in times.items():
                results.add(case, of, value, "ms")
            ratios = [times[of] / times["by hand"] for of in ("fused", "captured")]
            results.add(case, "fused to by hand", ratios[0], "ratio")
            results.add(case, "captured to by hand", ratios[1], "ratio")
            shown = [times[of] for of in ("by hand", "fused", "captured", "alone")] + ratios
            print(f"{elements:>10} {name:<11}" + "".join(f"{each:>10.3f}" for each in shown))
    results.write("fusion", args.record, args.device)


def cases(elements: int) -> dict[str, dict[str, Callable[[], None]]]:
    """What is timed for each chain, checked against the launches alone."""
    import numpy as np

    from gridlane import cuda
    from gridlane.launch.fusion import fused

    start = np.random.default_rng(1).random(elements, np.float32)
    blocks = -(-elements // THREADS)
    step, hands = kernels()
    scales = [np.float32(1 + 1 / (k + 3)) for k in range(CHAIN)]

    def chain(arrays: list[object]) -> None:
        for k in range(CHAIN):
            step[blocks, THREADS](arrays[k], arrays[k + 1], scales[k], elements)

    def captured(arrays: list[object]) -> Callable[[], None]:
        stream = cuda.stream()
        cuda.synchronize()
        with cuda.capture(stream, fused=True) as graph:
            for k in range(CHAIN):
                step[blocks, THREADS, stream](arrays[k], arrays[k + 1], scales[k], elements)
        whole = graph.instantiate()
        return lambda: whole.launch(stream)

    def together(arrays: list[object]) -> None:
        with fused() as fusion:
            chain(arrays)
        if fusion.kernels != 1:
            sys.exit(fusion.explain())

    def by_hand(kernel: object, arrays: list[object]) -> None:
        distinct = list(dict.fromkeys(arrays))
        kernel[blocks, THREADS](*distinct, *scales, elements)  # type: ignore[index]  # a kernel

    found: dict[str, dict[str, Callable[[], None]]] = {}
    for name, count in (("in place", 1), ("two arrays", 2), ("ten arrays", CHAIN + 1)):
        own = [cuda.to_device(start) for _ in range(count)]
        arrays = [own[k % count] for k in range(CHAIN + 1)]
        runs: dict[str, Callable[[], object]] = {
            "by hand": lambda arrays=arrays, count=count: by_hand(hands[count], arrays),
            "fused": lambda arrays=arrays: together(arrays),
            "captured": captured(arrays),
            "alone": lambda arrays=arrays: chain(arrays),
        }
        outcomes = set()
        for run in runs.values():
            for each in own:
                each.copy_to_device(start)
            cuda.synchronize()
            run()
            cuda.synchronize()
            outcomes.add(b"".join(each.copy_to_host().tobytes() for each in own))
        if len(outcomes) != 1:
            sys.exit(f"{name}: the ways differ")
        found[name] = {of: waiting(run) for of, run in runs.items()}
    return found


def waiting(run: Callable[[], object]) -> Callable[[], None]:
    """A run with the wait for its end."""
    from gridlane import cuda

    def timed() -> None:
        run()
        cuda.synchronize()

    return timed


def kernels() -> tuple[object, dict[int, object]]:
    """The kernel of a link, and those by hand for each number of arrays."""
    import numpy as np

    from gridlane import cuda
    from gridlane.core.generated_text import function_of

    half = np.float32(0.5)

    @cuda.jit
    def step(x, y, by, n):
        i = cuda.grid(1)
        if i < n:
            y[i] = x[i] * by - half

    scales = ", ".join([f"s{k}" for k in range(CHAIN)])
    hands: dict[int, object] = {}
    for count in (1, 2, CHAIN + 1):
        names = ", ".join([f"a{k}" for k in range(count)])
        lines = [f"def hand({names}, {scales}, n):", "    i = cuda.grid(1)", "    if i < n:"]
        lines += ["        v = a0[i]"]
        for k in range(CHAIN):
            lines.append(f"        v = v * s{k} - half")
            if CHAIN - k <= count:
                lines.append(f"        a{(k + 1) % count}[i] = v")
        text = "\n".join([*lines, ""])
        hands[count] = cuda.jit(function_of(text, "hand", {"cuda": cuda, "half": half}))
    return step, hands


if __name__ == "__main__":
    main()
