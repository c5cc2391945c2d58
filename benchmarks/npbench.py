"""npbench's versions of PolyBench's programs, of a copy of it, each in a process of its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import results

LIMIT_S = 60
"""The most seconds of one version: it compiles and runs twice in them."""

VERSIONS = {"numpy": ("numpy",), "numba": ("numba_npr", "numba_np", "numba_n")}
"""Endings of files by framework; the first that exists is run."""

MODULES = {"2mm": "k2mm", "3mm": "k3mm"}


def measure(suite: Path, sizes: dict[str, tuple[int, ...]]) -> None:
    """Print and add the time of each program's versions, at those sizes in the order of npbench's
    parameters."""
    print("npbench's versions, ms:")
    for name, each in sizes.items():
        module = MODULES.get(name, name.replace("-", "_"))
        text = f"{name:16}"
        for framework in VERSIONS:
            value = _run(suite, module, framework, each)
            text += f"{framework:>8} " + (value if isinstance(value, str) else f"{value:10.2f}")
            if not isinstance(value, str):
                results.add(name, f"npbench's {framework}", value, "ms")
        print(text, flush=True)


def _run(suite: Path, module: str, framework: str, sizes: tuple[int, ...]) -> float | str:
    """Milliseconds, or why there are none."""
    folder = suite / "npbench" / "benchmarks" / "polybench" / module
    files = [f"{module}_{ending}" for ending in VERSIONS[framework]]
    found = [each for each in files if (folder / f"{each}.py").is_file()]
    if not found:
        return "none"
    command = [sys.executable, "-m", "benchmarks.npbench", str(suite), module, found[0]]
    command += [str(size) for size in sizes]
    root = Path(__file__).parents[1]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT_S} s"
    if done.returncode:
        return f"fails: {(done.stderr.strip().splitlines() or ['?'])[-1][:60]}"
    return float(done.stdout.split()[-1])


def _once(suite: Path, module: str, version: str, sizes: list[int]) -> None:
    """Run one version twice, on arguments of npbench's own, and print the second's milliseconds."""
    sys.path.insert(0, str(suite))
    facts = json.loads((suite / "bench_info" / f"{module}.json").read_text())["benchmark"]
    values = dict(zip(facts["parameters"]["S"], sizes, strict=True))
    package = f"npbench.benchmarks.polybench.{module}"
    init, run = facts["init"], None
    make = getattr(importlib.import_module(f"{package}.{module}"), init["func_name"])
    kernel = getattr(importlib.import_module(f"{package}.{version}"), facts["func_name"])
    for _ in range(2):
        made = make(*[values[name] for name in init["input_args"]])
        names = init["output_args"]
        values.update(zip(names, made if len(names) > 1 else [made], strict=True))
        arguments = [values[name] for name in facts["input_args"]]
        start = time.perf_counter()
        kernel(*arguments)
        run = time.perf_counter() - start
    assert run is not None
    print(run * 1e3)


if __name__ == "__main__":
    _once(Path(sys.argv[1]), sys.argv[2], sys.argv[3], [int(each) for each in sys.argv[4:]])
