"""Prints the tables: ``python -m benchmarks.nvidia [--section S] [--kernel K] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator
from datetime import date
from typing import Any

from benchmarks import results

os.environ.setdefault("GRIDLANE_DEVICE", "cuda")


def versions() -> dict[str, str]:
    """What was measured on, and with."""
    from importlib.metadata import PackageNotFoundError, version

    import gridlane
    from gridlane.launch.devices import get_device

    facts = get_device("cuda").describe()
    found = {
        "date": date.today().isoformat(),
        "gpu": str(facts["name"]),
        "cuda driver": str(facts["cuda_version"]),
        "python": platform.python_version(),
        "gridlane": gridlane.__version__,
    }
    packages = ("llvmlite", "numpy", "cuda-bindings", "cuda-core", "cupy-cuda13x", "numba")
    for package in (*packages, "numba-cuda", "triton", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def packages(versions: dict[str, str]) -> dict[str, str]:
    """The versions of peers that are installed."""
    own = "date", "gpu", "gridlane"
    return {k: v for k, v in versions.items() if k not in own and v != "not installed"}


def figures(found: dict[str, Any]) -> Iterator[tuple[str, str, str, float, str]]:
    """Section, case, of, value and unit of each number of the sections."""
    for row in found.get("launch", ()):
        if not isinstance(row["launch_us"], str):
            yield "launch", "launch", row["who"], row["launch_us"], "us"
            yield "launch", "and wait", row["who"], row["round_trip_us"], "us"
    for row in found.get("compile", ()):
        yield "compile", "first result", row["who"], row["ms"], "ms"
    for row in found.get("transfers", ()):
        if "copy" in row:
            yield "transfers", row["copy"], "measured", row["GB/s"], "GB/s"
        for what in ("copy", "kernel", "both"):
            if f"{what}_ms" in row:
                yield "transfers", "on two streams", what, row[f"{what}_ms"], "ms"
    for row in found.get("kernels", ()):
        yield "kernels", row["kernel"], "ours", row["ours_ms"], "ms"
        yield "kernels", row["kernel"], "NVRTC", row["nvrtc_ms"], "ms"
        yield "kernels", row["kernel"], "ours/NVRTC", row["ratio"], "ratio"
    for row in found.get("tensor", ()):
        for who in ("ours", "torch"):
            yield "tensor", row["elements"], who, row[f"{who} TFLOP/s"], "TFLOP/s"
    for row in found.get("gridsync", ()):
        yield "gridsync", f"{row['blocks']} blocks of {row['threads']}", "ours", row["us"], "us"


def main() -> None:
    """Run the sections that were asked for, all by default."""
    from benchmarks.nvidia import compiling, gridsync, kernels, launching, tensor, transfers

    sections = {
        "launch": launching.section,
        "compile": compiling.section,
        "transfers": transfers.section,
        "kernels": kernels.section,
        "tensor": tensor.section,
        "gridsync": gridsync.section,
    }
    parser = argparse.ArgumentParser(prog="benchmarks.nvidia")
    parser.add_argument("--section", choices=sections, action="append")
    parser.add_argument("--kernel", action="append", default=[])
    parser.add_argument("--json")
    results.option(parser)
    chosen = parser.parse_args()
    found: dict[str, Any] = {"versions": versions()}
    print(", ".join(f"{key} {value}" for key, value in versions().items()), flush=True)
    for name in chosen.section or sections:
        print(f"\n{name}", flush=True)
        if name == "kernels":
            found[name] = kernels.section(tuple(chosen.kernel))
        else:
            found[name] = sections[name]()
    for name, case, of, value, unit in figures(found):
        results.add(f"{name}, {case}", of, value, unit)
    results.write("nvidia", chosen.record, "cuda", packages(found["versions"]))
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
