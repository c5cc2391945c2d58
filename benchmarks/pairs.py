"""Compare two checkouts of gridlane, or this one with recorded rows.

    python benchmarks/pairs.py OLD NEW [--device cpu|cuda] [--pairs 11] [--record]
    python benchmarks/pairs.py --hold [NAME ...] [--tolerance 1.15]

The first measures launches and kernels of two checkouts in turns.

Each measurement is a process of its own that imports gridlane from one checkout's ``src``; the
kernels and the clocks are this checkout's. A row is the median of the ratios new/old of the pairs,
with their quartiles: what the machine does to one process it does to the next as well.

The second runs the commands of rows of benchmarks/results/ that have ratios and were recorded on
hardware like this, and prints which ratios held: are at most so many times the recorded ones. A
NAME is a file there. It exits with 1 where one did not hold or did not run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import hold
import results

HERE = Path(__file__).parent


def on_the_cpu() -> dict[str, float]:
    """Microseconds of a launch and milliseconds of the seven kernels."""
    import kernels
    from cases import CASES
    from launch import microseconds, our_launch
    from timing import milliseconds

    launch, finish = our_launch()
    found = {"launch, us": microseconds(launch, finish, 60)}
    for name, case in CASES.items():
        run, _ = kernels.prepare(name, case.inputs())
        run()
        found[f"{name}, ms"] = statistics.median(milliseconds(run, 9))
    return found


def on_a_gpu() -> dict[str, float]:
    """Microseconds of launches, on the host's clock, and milliseconds of kernels, on the GPU's."""
    sys.path.insert(0, str(HERE.parent))
    from benchmarks.nvidia.cases import cases

    from gridlane import cuda
    from gridlane.cli.gpu_bench.launching import pair
    from gridlane.cli.gpu_bench.timing import host_us, round_trip_us, timed

    launch, finish = pair()
    found = {"launch, us": host_us(launch, finish)}
    found["launch and wait, us"] = round_trip_us(launch, finish)
    for name, make in cases().items():
        case = make()
        arrays = [cuda.to_device(array) for array in case.arrays]
        configured = case.kernel[case.grid, case.block]

        def run(configured=configured, arrays=arrays, case=case) -> None:
            configured(*arrays, *case.scalars)

        run()
        cuda.synchronize()
        found[f"{name}, ms"] = timed(run)
    return found


def measured(checkout: Path, device: str) -> dict[str, float]:
    """The numbers of one checkout, from a new process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "GRIDLANE_DEVICE": device}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    command = [sys.executable, __file__, "--once", "--device", device, str(checkout)]
    done = subprocess.run(
        command, env=environment, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="*", type=Path, help="the old one and the new one")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--hold", nargs="*", metavar="NAME", help="compare with recorded rows")
    parser.add_argument("--tolerance", type=float, default=1.15)
    parser.add_argument("--limit", type=float, default=900, help="seconds for a benchmark")
    results.option(parser)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        import gridlane

        assert Path(gridlane.__file__).is_relative_to(args.checkouts[0]), gridlane.__file__
        print(json.dumps(on_the_cpu() if args.device == "cpu" else on_a_gpu()))
        return
    if args.hold is not None:
        sys.exit(hold.hold(args.hold, args.tolerance, args.limit))
    if len(args.checkouts) != 2:
        parser.error("name two checkouts, or use --hold")
    old, new = (path.resolve() for path in args.checkouts)
    compare(old, new, args)


def compare(old: Path, new: Path, args: argparse.Namespace) -> None:
    """Measure both in turns; print a row for each figure."""
    pairs = []
    for number in range(args.pairs):
        order = (old, new) if number % 2 == 0 else (new, old)
        numbers = {path: measured(path, args.device) for path in order}
        pairs.append((numbers[old], numbers[new]))
    print(f"{args.pairs} pairs on {args.device}, {platform.processor() or platform.machine()}")
    logs = []
    for row in pairs[0][0]:
        ratios = [after[row] / before[row] for before, after in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4)
        logs.append(math.log(middle))
        before, after = (statistics.median(pair[side][row] for pair in pairs) for side in (0, 1))
        case, _, unit = row.rpartition(", ")
        results.add(case, "old", before, unit)
        results.add(case, "new", after, unit)
        results.add(case, "new/old", middle, "ratio")
        print(f"{row:22} {before:10.4f} {after:10.4f}   {middle:.3f}  ({low:.3f} to {high:.3f})")
    print(f"geometric mean of the ratios: {math.exp(statistics.mean(logs)):.3f}")
    results.write("pairs", args.record, args.device)


if __name__ == "__main__":
    main()
