"""CUDA's runtime from C, on the CPU: what calls, launches and whole programs take.

    python benchmarks/api/run.py

Each figure is the least of seven runs, in nanoseconds; programs are timed from their start to their
end, with the cache cold and warm: vector_add.cu has calls that Python answers, whole.cu has none.
cudaProfilerStop is what an entry into Python takes, and cudaDriverGetVersion one with a result.
Then the launches in a second by threads with streams of their own. The programs with kernels need
nvcc.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import results

from gridlane.abi.library import installing

HERE = Path(__file__).parent
BARS = {
    "cudaGetLastError": 30,
    "cudaGetDevice": 30,
    "cudaMalloc+cudaFree": 1000,
    "cudaMemcpy-4-bytes": 1000,
    "cudaProfilerStop": 1000,
    "launch": 5000,
    "launch+synchronize": 10000,
}
NVCC = "nvcc", "-O2", "-arch=sm_80", "--compress-mode=none"
VECTOR_ADD = HERE.parents[1] / "tests" / "abi" / "programs" / "vector_add.cu"


def timed(program: Path, environment: dict[str, str]) -> float:
    """Seconds from a program's start to its end."""
    start = time.perf_counter()
    subprocess.run([str(program)], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    results.option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        prefix = Path(room) / "installed"
        installing.install(prefix, force=True)
        environment = {
            "LD_LIBRARY_PATH": str(prefix / "lib"),
            "GRIDLANE_CACHE_DIR": str(Path(room) / "cache"),
            "PATH": os.environ["PATH"],
        }
        calls = Path(room) / "calls"
        subprocess.run(
            [
                *("cc", "-O2", f"-I{prefix}/include", str(HERE / "calls.c"), "-o", str(calls)),
                *(f"-L{prefix}/lib", "-l:libcudart.so.13"),
            ],
            check=True,
        )
        lines = run(calls, environment)
        programs: list[str] = []
        by_threads: list[str] = []
        if shutil.which("nvcc"):
            launches, whole = Path(room) / "launches", Path(room) / "whole"
            streams = Path(room) / "streams"
            for source, made in (
                (HERE / "launches.cu", launches),
                (HERE / "streams.cu", streams),
                (VECTOR_ADD, whole),
            ):
                subprocess.run(
                    [
                        *(*NVCC, "-cudart", "shared"),
                        *(str(source), "-o", str(made)),
                    ],
                    check=True,
                )
            lines += run(launches, environment)
            by_threads = run(streams, environment)
            shutil.rmtree(Path(room) / "cache", ignore_errors=True)
            cold = timed(whole, environment)
            programs.append(program_row("vector_add, nothing cached", cold, 2))
            warm = min(timed(whole, environment) for _ in range(5))
            programs.append(program_row("vector_add, from the cache", warm, 2))
            programs += without_python(Path(room), environment)
        print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors\n")
        print("| call | ns | bar |\n|---|---|---|")
        for line in lines:
            name, value = line.split()
            results.add(name, "a call", float(value), "ns")
            print(f"| {name} | {float(value):,.0f} | {BARS.get(name, '')} |")
        if programs:
            print("\n| program | |\n|---|---|")
            print("\n".join(programs))
        if by_threads:
            print("\n| blocks of a launch | threads, each with a stream | launches in a second |")
            print("|--:|--:|--:|")
            for line in by_threads:
                blocks, threads, rate = line.split()
                results.add(f"{blocks} blocks", f"{threads} threads", float(rate), "launches/s")
                print(f"| {blocks} | {threads} | {rate} |")
    results.write("api_run", args.record)


def program_row(what: str, seconds: float, digits: int) -> str:
    """Note the seconds of a program; its row of the table."""
    results.add(what, "the program", seconds, "s")
    return f"| {what} | {seconds:.{digits}f} s |"


def without_python(room: Path, environment: dict[str, str]) -> list[str]:
    """A program all of whose calls C answers once its kernel was compiled."""
    made, source = room / "whole", HERE / "whole.cu"
    command = [*NVCC, "-cudart", "shared", str(source), "-o", str(made)]
    subprocess.run(command, check=True)
    shutil.rmtree(room / "cache", ignore_errors=True)
    cold = timed(made, environment)
    with_python = environment | {"GRIDLANE_NATIVE": "0"}
    times = [min(timed(made, each) for _ in range(7)) for each in (with_python, environment)]
    rows = [
        program_row("whole, nothing cached", cold, 2),
        program_row("whole, from the cache, with Python", times[0], 2),
        program_row("whole, from the cache, without Python", times[1], 3),
    ]
    for what, each in (("with", with_python), ("without", environment)):
        output = subprocess.run([str(made), "idle"], env=each, stdout=subprocess.PIPE, check=True)
        size = int(output.stdout) / 1024
        results.add(f"idle and initialised, {what} Python", "resident", size, "MiB")
        rows.append(f"| idle and initialised, {what} Python | {size:.1f} MiB resident |")
    return rows


def run(program: Path, environment: dict[str, str]) -> list[str]:
    """The lines that a program prints."""
    found = subprocess.run(
        [str(program)], env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=600
    )
    return found.stdout.splitlines()


if __name__ == "__main__":
    main()
