"""Write docs/performance.md, docs/figures.md and their plots from benchmarks/results/.

    python scripts/site/performance.py          write them
    python scripts/site/performance.py --check  exit with 1 where one is stale

performance.template.md has the text of docs/performance.md; ``{{name}}`` there is a table of
``TABLES`` or a plot of ``PLOTS``, and ``{{file[case | of]}}``
a figure of the last row that has it. docs/figures.md has every row of the data.
"""

from __future__ import annotations

import argparse
import html
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import plots
from benchmarks import results
from benchmarks.results import Row
from plots import Series

TEMPLATE = Path(__file__).with_name("performance.template.md")
PICTURES = "pictures/performance"

TITLES = {
    "cpu": "The CPU device beside other compilers",
    "grid_sync_cpu": "Barriers of a grid",
    "launch": "Launches, imports and first compiles",
    "checks": "Checks on the CPU",
    "programs": "Programs in CUDA C++",
    "ptx_speed": "Code from PTX",
    "api_run": "Calls of CUDA's runtime",
    "api_whole": "A program without Python",
    "api_streams": "Launches on streams of threads",
    "api_memory": "Memory of programs in C",
    "compile_times": "Compiling for shading languages",
    "literals": "Kernels that literals make float64",
    "shader_sizes": "Sizes of one-line kernels",
    "large_kernels": "Large kernels as one function and as several",
    "ptx": "Reading PTX",
    "cpp": "Compiling CUDA C++",
    "compile_memory": "Memory of compilations",
    "growth": "Growth of compilation and memory of arrays",
    "page": "Web pages",
    "simulator": "Beside numba's simulator",
    "nvidia": "NVIDIA GPUs",
    "nvidia_arrays": "Arrays on an NVIDIA GPU beside CuPy and torch",
    "nvidia_tiles": "Tile programs on an NVIDIA GPU beside torch and Triton",
    "every_float": "Functions of float32 over all floats",
    "scipy_data": "Special functions beside the data of SciPy's tests",
    "nvidia_sanitizer": "compute-sanitizer on the examples",
    "foreign_arrays": "Launches with arrays of other libraries",
    "dask": "Kernels in tasks of Dask",
    "ptx_ways": "PTX through the IR and by the driver",
    "pairs": "Two checkouts",
    "actors_messages": "Messages of actors on a GPU",
    "actors_load": "Actors under load",
    "actors_cpu": "Actors on the CPU",
    "actors_lattice_cuda": "Lattices on a GPU",
    "vulkan_cuda": "Vulkan and CUDA on one GPU",
    "nvidia_tiles_vulkan": "Products of tiles by Vulkan and CUDA on one GPU",
    "waiting_vulkan": "Waiting on Vulkan",
    "vulkan_glsl": "Vulkan in software beside GLSL",
    "shader_launch_webgpu": "Launches by WebGPU",
    "shader_launch_opengl": "Launches by OpenGL",
    "operations": "Errors of operations of arrays",
    "arrays": "Arrays beside NumPy",
    "tiles": "Tile programs on the CPU beside NumPy and torch",
    "tiles_interpreter": "Tile programs beside Triton's interpreter",
    "polybench": "PolyBench as loop nests beside gcc and numba",
    "compute_nvidia": "Loop nests on an NVIDIA GPU beside tile kernels and torch",
    "nests_nvidia": "Loop nests that memory binds on an NVIDIA GPU",
    "fusion": "Fused launches beside one kernel by hand",
    "tuner": "The tuner beside a search of all schedules",
    "kernelbench": "KernelBench's level 1 beside torch",
    "tileops": "TileOPs' workloads beside torch",
    "tests": "The tests",
}
"""The sections of docs/figures.md, in order; other files follow under their names."""

KERNELS = "vecadd", "nbody", "mandelbrot", "blackscholes", "matmul", "reduction", "histogram"
PEERS = "gcc", "pocl", "taichi", "warp", "numba"

Data = dict[str, list[Row]]


def load() -> Data:
    """The rows of every file."""
    return {file.stem: results.read(file) for file in sorted(results.FOLDER.glob("*.json"))}


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Markdown, numbers to the right."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def shown(value: float) -> str:
    """A number to at most three digits behind the point, and four digits in all."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value >= 0.1 else f"{value:.2g}"


def where(row: Row) -> str:
    """When, on what and how a row was measured."""
    hardware = row.hardware
    facts = [row.date or "date unknown"]
    if hardware.processor or hardware.cores:
        kind = f" ({hardware.architecture})" if hardware.architecture else ""
        facts.append(f"{hardware.processor or 'processor unknown'}{kind}, {hardware.cores} cores")
    if hardware.gpu:
        facts.append(hardware.gpu)
    if row.driver:
        facts.append(f"driver {row.driver}")
    facts += [f"{name} {version}" for name, version in row.versions.items()]
    if row.commit:
        facts.append(f"commit {row.commit}")
    if row.conditions:
        facts.append(row.conditions)
    return "; ".join(facts)


def source(row: Row, versions: bool = False) -> str:
    """The line of a table."""
    shown = row if versions else replace(row, versions={})
    return f"`{row.command}`: {where(shown)}."


def figures(row: Row) -> str:
    """All figures of a row: cases downwards, what they are of to the right."""
    cases = list(dict.fromkeys(each.case for each in row.figures))
    columns = list(dict.fromkeys((each.of, each.unit) for each in row.figures))
    found = {(each.case, each.of, each.unit): each.value for each in row.figures}
    heads = ["", *(of if unit == "ratio" else f"{of}, {unit}" for of, unit in columns)]
    body = []
    for case in cases:
        values = [found.get((case, of, unit)) for of, unit in columns]
        body.append([cell(case), *("" if value is None else shown(value) for value in values)])
    return table(heads, body)


def cell(text: str) -> str:
    """The name of a case in Markdown; code where it would be read as a link or as emphasis."""
    text = text.replace("|", "\\|")
    return f"`{text}`" if set(text) & set("[]*<>") and "`" not in text else text


def cpu_table(data: Data) -> str:
    """Milliseconds of the kernels on the CPU by every compiler, and ratios on other machines."""
    peers = having(data["cpu"], "vecadd", "pocl")
    others = [row for row in data["cpu"] if row is not peers and of_all_kernels(row)]
    ratios = [(row, of) for row in others for of in ratios_of(row)]
    heads = ["ms", "gridlane", *PEERS, "gridlane/gcc", *(label(row, of) for row, of in ratios)]
    body = []
    for name in KERNELS:
        cells = [shown(peers.value(name, of)) for of in ("ours", *PEERS)]
        cells += [f"{row.value(name, of):.2f}" for row, of in [(peers, "ours/gcc"), *ratios]]
        body.append([name, *cells])
    sources = " Other ratios: " + " ".join(map(source, others)) if others else ""
    return table(heads, body) + "\n\n" + source(peers) + sources


def of_all_kernels(row: Row) -> bool:
    """Whether a run was of all kernels of the table."""
    return set(KERNELS) <= {each.case for each in row.figures}


def ratios_of(row: Row) -> list[str]:
    """The ratios to gcc's times: on all cores, and on few."""
    return list(dict.fromkeys(each.of for each in row.figures if each.unit == "ratio"))


def label(row: Row, of: str) -> str:
    """The head of a column of ratios on another machine."""
    processor = (row.hardware.processor or "").replace("(R)", "").removesuffix(" Processor")
    few = of.partition(", ")[2]
    return f"{of.partition(', ')[0]}, {processor}, {few or f'{row.hardware.cores} cores'}"


def cpu_plot(data: Data) -> str:
    """The same, divided by gcc's."""
    row = having(data["cpu"], "vecadd", "pocl")
    series = [
        Series(name, tuple(row.value(k, of) / row.value(k, "gcc") for k in KERNELS))
        for name, of in (("gridlane", "ours"), *((p, p) for p in PEERS if p != "gcc"))
    ]
    return plots.dots(
        "Time of kernels on the CPU, divided by gcc's", "time / gcc's", list(KERNELS), series, 1
    )


def programs_plot(data: Data) -> str:
    """Programs in CUDA C++ beside C and OpenCL."""
    row = having(data["programs"], "geometric mean", "gridlane/OpenCL")
    names = [each.case for each in row.figures if each.of == "gridlane"]
    series = [
        Series("gridlane", tuple(row.value(n, "gridlane/C") for n in names)),
        Series("PoCL", tuple(row.value(n, "OpenCL") / row.value(n, "C") for n in names)),
    ]
    title = "Time of programs in CUDA C++ on the CPU, divided by that of C with OpenMP"
    return plots.dots(title, "time / OpenMP C's", names, series, 1)


def launch_table(data: Data) -> str:
    """What a launch costs on the CPU."""
    row = having(data["launch"], "launch", "gridlane")
    launches = [(each.of, each.value) for each in row.figures if each.case == "launch"]
    waited = row.value("launch and synchronize", "gridlane")
    body = [[of, shown(value), shown(waited) if of == "gridlane" else ""] for of, value in launches]
    return table(["us", "launch", "and wait"], body) + "\n\n" + source(row)


def launches(data: Data) -> tuple[Row, list[str]]:
    """The row of NVIDIA GPUs, and who launches there."""
    row = having(data["nvidia"], "launch, launch", "gridlane")
    return row, [each.of for each in row.figures if each.case == "launch, launch"]


def nvidia_launch_plot(data: Data) -> str:
    """A launch on an NVIDIA GPU, by everyone."""
    row, names = launches(data)
    names = [name for name in names if name != "C loop, again"]
    series = [
        Series(name, tuple(row.value(case, of) for of in names))
        for name, case in (("launch", "launch, launch"), ("launch and wait", "launch, and wait"))
    ]
    return plots.dots(
        "Microseconds of a launch on an NVIDIA GPU", "microseconds of the host", names, series, None
    )


def nvidia_kernels(row: Row) -> list[str]:
    """Names of the kernels that were compared with NVRTC's."""
    cases = [each.case for each in row.figures if each.of == "ours/NVRTC"]
    return [case.removeprefix("kernels, ") for case in cases]


def nvidia_table(data: Data) -> str:
    """Kernels on an NVIDIA GPU beside NVRTC."""
    row = having(data["nvidia"], "kernels, matmul", "ours/NVRTC")
    body = []
    for name in nvidia_kernels(row):
        case = f"kernels, {name}"
        times = [f"{row.value(case, of):.4f}" for of in ("ours", "NVRTC")]
        body.append([name, *times, f"{row.value(case, 'ours/NVRTC'):.3f}"])
    return table(["ms", "gridlane", "NVRTC", "ratio"], body) + "\n\n" + source(row)


def nvidia_plot(data: Data) -> str:
    """Their ratios."""
    row = having(data["nvidia"], "kernels, matmul", "ours/NVRTC")
    names = nvidia_kernels(row)
    ratios = tuple(row.value(f"kernels, {name}", "ours/NVRTC") for name in names)
    title = "Time of kernels on an NVIDIA GPU, divided by that of NVRTC's code"
    return plots.dots(title, "time / NVRTC's", names, [Series("gridlane", ratios)], 1)


def actors_table(data: Data) -> str:
    """Messages of actors on a GPU."""
    rows = data["actors_messages"]
    quantiles = "p50", "p99", "p99.9"
    calls = (
        *("CUDA C++, host to GPU to host", "call from Python, persistent"),
        "call from C, 0 us after the last",
    )
    body = [[case, *(shown(one(rows, case, of)) for of in quantiles)] for case in calls]
    hops = (("CUDA C++, block to block, one way", "p50"), ("actor to actor, one hop", "mean"))
    body += [[f"{case}, {of}", shown(one(rows, case, of)), "", ""] for case, of in hops]
    return table(["us", *quantiles], body) + "\n\n" + source(having(rows, calls[1], "p50"))


def actors_cpu_table(data: Data) -> str:
    """Messages of actors on the CPU."""
    row = having(data["actors_cpu"], "ref.call from Python", "median p50")
    rates = [each for each in row.figures if each.of == "median run"]
    trips = [each for each in row.figures if each.of == "median p50"]
    body = [[each.case, f"{shown(each.value)} {each.unit}"] for each in rates + trips]
    return table(["", "median"], body) + "\n\n" + source(row)


def vulkan_table(data: Data) -> str:
    """Vulkan and CUDA on one GPU."""
    row = having(data["vulkan_cuda"], "matmul", "vulkan/cuda")
    body = [
        [
            f"{each.case}, {each.unit}",
            *(shown(row.value(each.case, of)) for of in ("cuda", "vulkan")),
            f"{row.value(each.case, 'vulkan/cuda'):.2f}",
        ]
        for each in row.figures
        if each.of == "cuda"
    ]
    return table(["", "CUDA", "Vulkan", "ratio"], body) + "\n\n" + source(row)


def compile_table(data: Data) -> str:
    """What compiling costs, for each target."""
    first = "first launch of a process, 30-line kernel, no cache", "gridlane"
    other = "first launch of another 30-line kernel", "gridlane"
    launch = having(data["launch"], *first)
    shading = having(data["compile_times"], "matmul, matmul", "spirv, warm")
    nvidia = having(data["nvidia"], "compile, first result", "gridlane, no cache")
    body = [
        ["CPU, first kernel of a process, 30 lines", f"{launch.value(*first):.0f}"],
        ["CPU, another one", f"{launch.value(*other):.0f}"],
    ]
    for name in ("gridlane, no cache", "gridlane, from the disk cache", "NVRTC by CuPy, no cache"):
        value = nvidia.value("compile, first result", name)
        body.append([f"NVIDIA GPU, 5 lines: {name}", shown(value)])
    for language in ("spirv", "wgsl", "glsl", "msl"):
        times = [each.value for each in shading.figures if each.of == f"{language}, warm"]
        spread = f"{shown(statistics.median(times))} ({shown(min(times))} to {shown(max(times))})"
        body.append([f"{language}, {len(times)} kernels of the examples", spread])
    sources = " ".join(f"{source(row)}" for row in (launch, shading))
    return table(["ms", "median"], body) + "\n\n" + sources


TABLES: dict[str, Callable[[Data], str]] = {
    "cpu_table": cpu_table,
    "launch_table": launch_table,
    "nvidia_table": nvidia_table,
    "actors_table": actors_table,
    "actors_cpu_table": actors_cpu_table,
    "vulkan_table": vulkan_table,
    "compile_table": compile_table,
}
PLOTS: dict[str, Callable[[Data], str]] = {
    "cpu_plot": cpu_plot,
    "programs_plot": programs_plot,
    "nvidia_launch_plot": nvidia_launch_plot,
    "nvidia_plot": nvidia_plot,
}


def page(data: Data) -> str:
    """docs/performance.md."""

    def drawn(match: re.Match[str]) -> str:
        name = match[1]
        if name in PLOTS:
            (label,) = re.findall(r'aria-label="([^"]*)"', PLOTS[name](data))
            label = html.unescape(label)
            return f"![{label}]({PICTURES}/{name.removesuffix('_plot')}.svg)"
        return TABLES[name](data)

    def figure(match: re.Match[str]) -> str:
        return shown(one(data[match[1]], match[2], match[3]))

    text = re.sub(r"\{\{(\w+)\}\}", drawn, TEMPLATE.read_text())
    return re.sub(r"\{\{(\w+)\[(.+?) \| (.+?)\]\}\}", figure, text)


def one(rows: list[Row], case: str, of: str) -> float:
    """A figure of the last row that has it.

    Raises:
        KeyError: no row has it.
    """
    return having(rows, case, of).value(case, of)


def having(rows: list[Row], case: str, of: str) -> Row:
    """The last row that has a figure.

    Raises:
        KeyError: no row has it.
    """
    for row in reversed(rows):
        if any((each.case, each.of) == (case, of) for each in row.figures):
            return row
    raise KeyError(f"no figure of {case!r} by {of!r}")


def figures_page(data: Data) -> str:
    """docs/figures.md."""
    parts = [
        "# All figures\n\n`python scripts/site/performance.py` writes this page from "
        "`benchmarks/results/`. Each table has the command that measured it. "
        "[Performance](performance.md) has what matters to most users, and "
        "[notes on measurements](contributing/measurements.md) the causes.\n"
    ]
    titled = [name for name in TITLES if name in data]
    for name in [*titled, *(name for name in data if name not in TITLES)]:
        parts.append(f"\n## {TITLES.get(name, name)}\n")
        for row in data[name]:
            parts.append(f"\n{source(row, versions=True)}\n\n{figures(row)}\n")
    return "".join(parts)


def made() -> dict[Path, str]:
    """The files that this script writes, with their text."""
    data = load()
    files = {
        ROOT / "docs" / "performance.md": page(data),
        ROOT / "docs" / "figures.md": figures_page(data),
    }
    for name, draw in PLOTS.items():
        files[ROOT / "docs" / PICTURES / f"{name.removesuffix('_plot')}.svg"] = draw(data)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    files = made()
    stale = [p for p, text in files.items() if not p.exists() or p.read_text() != text]
    if args.check:
        sys.exit("stale: " + ", ".join(path.name for path in stale) if stale else 0)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])


if __name__ == "__main__":
    main()
