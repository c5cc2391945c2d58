"""The memory of a C program that makes a million calls, 10,000 modules and 1,000 contexts.

    python benchmarks/api/memory.py

Resident memory in MiB at a tenth, at a half and at the end of each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import results

from gridlane.abi.library import installing

HERE = Path(__file__).parent


def grown(
    room: Path, less: int = 1, prefix: Path | None = None
) -> list[tuple[str, int, int, int, int]]:
    """What was done, how often, and KiB at a tenth, a half and the end.

    Args:
        less: this part of the work alone.
        prefix: where the libraries are; None installs them in the room.
    """
    if prefix is None:
        prefix = room / "installed"
        installing.install(prefix, force=True)
    program = room / "memory"
    subprocess.run(
        [
            *("cc", "-O2", f"-I{prefix}/include", str(HERE / "memory.c"), "-o", str(program)),
            *(f"-L{prefix}/lib", "-l:libcuda.so.1"),
        ],
        check=True,
    )
    environment = {
        "LD_LIBRARY_PATH": str(prefix / "lib"),
        "GRIDLANE_CACHE_DIR": str(room / "cache"),
        "PATH": os.environ["PATH"],
    }
    found = subprocess.run(
        [str(program), str(less)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=7200,
    )
    if found.returncode:
        raise RuntimeError(found.stderr)
    rows = [line.split() for line in found.stdout.splitlines()]
    return [(name, *(int(each) for each in numbers)) for name, *numbers in rows]  # type: ignore[misc]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    results.option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        print(
            "| what | how often | MiB at a tenth | at a half | at the end |\n|---|--:|--:|--:|--:|"
        )
        for name, count, *kib in grown(Path(room)):
            cells = " | ".join(f"{each / 1024:.1f}" for each in kib)
            print(f"| {name} | {count:,} | {cells} |", flush=True)
            for of, each in zip(("at a tenth", "at a half", "at the end"), kib, strict=True):
                results.add(f"{name}, {count:,}", of, each / 1024, "MiB")
    results.write("api_memory", args.record)


if __name__ == "__main__":
    main()
