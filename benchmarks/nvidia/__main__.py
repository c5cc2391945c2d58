"""Prints the tables: ``python -m benchmarks.nvidia [--section S] [--kernel K] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import date

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
    chosen = parser.parse_args()
    results: dict[str, object] = {"versions": versions()}
    print(", ".join(f"{key} {value}" for key, value in versions().items()), flush=True)
    for name in chosen.section or sections:
        print(f"\n{name}", flush=True)
        if name == "kernels":
            results[name] = kernels.section(tuple(chosen.kernel))
        else:
            results[name] = sections[name]()
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
