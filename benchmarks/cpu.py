"""Compare the CPU device with gcc and with the peers that are installed, and print one table.

gridlane and gcc take turns in this process; every peer runs in a process of its own. Arrays are
already on the device. All times are medians, in milliseconds; every result is checked against C's.
Where there are more cores than ``--few``, gridlane and gcc run on that many as well.

A peer is any of: PoCL (pip install pyopencl, Debian package pocl-opencl-icd), taichi, warp-lang,
numba. They may live in another environment: give its interpreter with --peer-python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import peers_c
import results
from cases import CASES
from timing import interleaved, machine

PEERS = ("pocl", "taichi", "warp", "numba")


@dataclass
class Row:
    kernel: str
    ms: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Report:
    machine: str
    rows: dict[str, Row]
    versions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    few: int | None = None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=sorted(CASES), metavar="KERNEL")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=5, help="runs in each round")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the numbers here as well")
    parser.add_argument("--peers-only", action="store_true", help="leave gridlane out")
    parser.add_argument("--no-peers", action="store_true", help="gridlane and gcc only")
    parser.add_argument("--few", type=int, default=2, help="cores of the columns for few")
    parser.add_argument("--peer-python", default=sys.executable, metavar="PATH")
    results.option(parser)
    args = parser.parse_args()

    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a file or a pipe: rich would assume 80
    names = [name for name in CASES if not args.only or name in args.only]
    report = Report(machine(), {name: Row(name) for name in names})
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task("compiling the C versions")
        peers_c.library()
        report.versions["gcc"] = peers_c.version()
        for name in names:
            progress.update(
                task, description=f"{name}: {'gcc' if args.peers_only else 'ours, gcc'}"
            )
            measure_ours(report.rows[name], Path(folder), args)
        for peer in () if args.no_peers else PEERS:
            progress.update(task, description=f"{peer}: loading")
            for line in peer_lines(peer, names, Path(folder), args):
                add_peer_line(report, peer, line)
                done = line.get("kernel")
                progress.update(task, description=f"{peer}: {done} done" if done else peer)

        if args.few < len(few_cores(args.few + 1)) and not args.peers_only:
            progress.update(task, description=f"on {args.few} cores: ours, gcc")
            measure_on_few(report, Path(folder), args)
    record(report)
    versions = report.versions | {"gcc": report.versions["gcc"].removeprefix("gcc ")}
    results.write("cpu", args.record, versions=versions)
    console.print(table(report))
    for note in report.notes:
        console.print(f"[yellow]{note}[/]", highlight=False)
    if args.json:
        args.json.write_text(json.dumps(asdict(report), indent=1) + "\n")
    wrong = [f"{row.kernel} by {', '.join(row.wrong)}" for row in report.rows.values() if row.wrong]
    if wrong:
        sys.exit("wrong results: " + "; ".join(wrong))


def few_cores(count: int) -> list[int]:
    """So many of the processors that this process may use, first those of different cores."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    later, chosen, taken = [], [], set[str]()
    for number in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        core = siblings.read_text() if siblings.exists() else str(number)
        (later if core in taken else chosen).append(number)
        taken.add(core)
    return (chosen + later)[:count]


def measure_on_few(report: Report, folder: Path, args: argparse.Namespace) -> None:
    """Measure gridlane and gcc in a process that has few cores."""
    out, chosen = folder / "few.json", few_cores(args.few)
    command = [sys.executable, __file__, "--no-peers", "--json", str(out)]
    command += ["--rounds", str(args.rounds), "--repeats", str(args.repeats)]
    command += [word for name in report.rows for word in ("--only", name)]
    subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, chosen),
    )
    report.few = args.few
    for name, row in json.loads(out.read_text())["rows"].items():
        for who, milliseconds in row["ms"].items():
            report.rows[name].ms[f"{who}, {args.few} cores"] = milliseconds


def measure_ours(row: Row, folder: Path, args: argparse.Namespace) -> None:
    """Time gridlane and gcc in turns, and keep gcc's result as what all others must match."""
    case = CASES[row.kernel]
    inputs = case.inputs()
    runs, results = {}, {}
    runs["gcc"], results["gcc"] = peers_c.prepare(row.kernel, inputs)
    if not args.peers_only:
        import kernels  # loads gridlane, which --peers-only does without

        runs["ours"], results["ours"] = kernels.prepare(row.kernel, inputs)
    for run in runs.values():
        run()  # the first one compiles
    row.ms = interleaved(runs, args.rounds, args.repeats)
    want = results["gcc"]()
    np.save(folder / f"{row.kernel}.npy", want)
    if "ours" in results and not case.same(results["ours"](), want):
        row.wrong.append("ours")


def peer_lines(peer: str, names: list[str], folder: Path, args: argparse.Namespace):
    """Run a peer's process and yield what it reports, as it comes."""
    command = [
        *(args.peer_python, str(Path(__file__).with_name("peer_process.py"))),
        *(peer, *names, "--want", str(folder)),
        *("--rounds", str(args.rounds), "--repeats", str(args.repeats)),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("peer:"):
                yield json.loads(line.removeprefix("peer:"))
    if process.returncode:
        yield {"error": f"ended with status {process.returncode}"}


def add_peer_line(report: Report, peer: str, line: dict) -> None:
    if "version" in line:
        report.versions[peer] = line["version"]
    elif "error" in line:
        where = f", {line['kernel']}" if "kernel" in line else ""
        report.notes.append(f"{peer}{where}: {line['error'].splitlines()[0]}")
    else:
        row = report.rows[line["kernel"]]
        row.ms[peer] = line["ms"]
        if not line["ok"]:
            row.wrong.append(peer)


def record(report: Report) -> None:
    """Note the figures of right results."""
    for name, row in report.rows.items():
        right = {who: ms for who, ms in row.ms.items() if who not in row.wrong}
        for who, ms in right.items():
            results.add(name, who, ms, "ms")
        for where in ("", f", {report.few} cores"):
            ours, gcc = (right.get(f"{who}{where}") for who in ("ours", "gcc"))
            if ours and gcc:
                results.add(name, f"ours/gcc{where}", ours / gcc, "ratio")


def table(report: Report) -> Table:
    versions = ", ".join(
        text if name == "gcc" else f"{name} {text}" for name, text in report.versions.items()
    )
    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    out.title = f"milliseconds, medians. {report.machine}\n{versions}"
    out.title_justify = "left"
    columns = ["ours", "gcc", *(peer for peer in PEERS if peer in report.versions)]
    out.add_column("kernel", no_wrap=True)
    few = [] if report.few is None else [f"{who}, {report.few} cores" for who in ("ours", "gcc")]
    ratio_of_few = [f"ours/gcc, {report.few} cores"] if few else []
    for column in (*columns, "ours/gcc", *few, *ratio_of_few, "target"):
        out.add_column(column.replace(", ", "\n"), justify="right", no_wrap=True)
    for name, row in report.rows.items():
        target = CASES[name].target
        cells = [*(cell(row, column) for column in columns), ratio_cell(row, "ours", "gcc", target)]
        if few:
            cells += [*(cell(row, column) for column in few), ratio_cell(row, *few, target)]
        out.add_row(name, *cells, f"{target:g}")
    return out


def ratio_cell(row: Row, ours: str, theirs: str, target: float) -> str:
    if ours not in row.ms or theirs not in row.ms:
        return ""
    value = row.ms[ours] / row.ms[theirs]
    return f"[{'green' if value <= target else 'red'}]{value:.2f}[/]"


def cell(row: Row, column: str) -> str:
    if column not in row.ms:
        return "-"
    text = f"{row.ms[column]:.2f}"
    return f"[red]{text} wrong[/]" if column in row.wrong else text


if __name__ == "__main__":
    main()
