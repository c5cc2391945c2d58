"""Runs the examples on a GPU under compute-sanitizer: ``python -m benchmarks.nvidia.sanitizer``.

memcheck finds accesses outside of allocations, racecheck races in shared memory. Prints a line for
each example and tool; exits with 1 unless all are clean.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import results

TOOLS = ("memcheck", "racecheck")
EXAMPLES = Path(__file__).parents[2] / "examples"
# Small sizes: a sanitised kernel runs tens of times slower.
ARGUMENTS = {
    "bitonic_sort": "--size 3000",
    "blackscholes": "--options 10001",
    "game_of_life": "--width 101 --height 67 --generations 5",
    "histogram": "--size 100003",
    "laplace2d": "--size 67 --sweeps 20",
    "mandelbrot": "--width 131 --height 77 --iterations 60",
    "matmul": "--rows 70 --inner 45 --columns 81",
    "montecarlo_pi": "--threads 500 --points 200",
    "nbody": "--bodies 700 --steps 3",
    "nqueens": "--queens 7",
    "raytracer": "--width 121 --height 75 --samples 2",
    "reduction": "--size 100003",
    "tensor_matmul": "--tiles 5",
    "warp_scan": "--size 70001",
}
"""Small sizes, as a sanitised kernel runs tens of times slower, and odd ones."""
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.*)")
_TIMEOUT_S = 300


def examples() -> list[Path]:
    """The programs."""
    return sorted(path for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text())


def run(tool: str, example: Path) -> tuple[bool, str]:
    """Whether an example is clean, and what the tool says last."""
    with tempfile.TemporaryDirectory() as folder:
        # Calls that the driver refuses are no defects: attributes that it does not know are asked
        # for as well.
        command = ["compute-sanitizer", f"--tool={tool}", "--error-exitcode=9"]
        command += ["--report-api-errors=no"] if tool == "memcheck" else []
        command += [sys.executable, "-m", "gridlane", "run", "--device", "cuda", str(example)]
        command += ARGUMENTS[example.stem].split()
        environment = os.environ | {"GRIDLANE_DEVICE": "cuda"}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return False, f"not done after {_TIMEOUT_S} s"
    said = _SUMMARY.findall(done.stdout + done.stderr)
    clean = done.returncode == 0 and bool(said)
    last = said[-1] if said else (done.stderr.strip().splitlines() or ["said nothing"])[-1]
    return clean, last


def main() -> None:
    """All examples under both tools, a few at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    results.option(parser)
    args = parser.parse_args()
    if shutil.which("compute-sanitizer") is None:
        sys.exit("compute-sanitizer is not on the PATH; it is part of the CUDA toolkit")
    jobs = [(tool, example) for tool in TOOLS for example in examples()]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda job: run(*job), jobs))
    for (tool, example), (clean, said) in zip(jobs, found, strict=True):
        print(f"{tool:10} {example.name:24} {'clean' if clean else 'NOT CLEAN'}  {said}")
        results.add(example.name, tool, int(not clean), "runs not clean")
    results.write("nvidia_sanitizer", args.record, "cuda")
    sys.exit(0 if all(clean for clean, _ in found) else 1)


if __name__ == "__main__":
    main()
