"""Compare the CPU device with gcc and with the peers that are installed, and print one table.

gridlane and gcc take turns in this process; every peer runs in a process of its own. Arrays are
already on the device. All times are medians, in milliseconds; every result is checked against C's.

A peer is any of: PoCL (pip install pyopencl, Debian package pocl-opencl-icd), taichi, warp-lang,
numba. They may live in another environment: give its interpreter with --peer-python.
"""

from __future__ import annotations

import argparse
import json
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
    parser.add_argument("--peer-python", default=sys.executable, metavar="PATH")
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

    console.print(table(report))
    for note in report.notes:
        console.print(f"[yellow]{note}[/]", highlight=False)
    if args.json:
        args.json.write_text(json.dumps(asdict(report), indent=1) + "\n")
    wrong = [f"{row.kernel} by {', '.join(row.wrong)}" for row in report.rows.values() if row.wrong]
    if wrong:
        sys.exit("wrong results: " + "; ".join(wrong))


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


def table(report: Report) -> Table:
    versions = ", ".join(
        text if name == "gcc" else f"{name} {text}" for name, text in report.versions.items()
    )
    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    out.title = f"milliseconds, medians. {report.machine}\n{versions}"
    out.title_justify = "left"
    columns = ["ours", "gcc", *PEERS]
    out.add_column("kernel", no_wrap=True)
    for column in (*columns, "ours/gcc", "target"):
        out.add_column(column, justify="right", no_wrap=True)
    for name, row in report.rows.items():
        cells = [cell(row, column) for column in columns]
        ratio, target = "", CASES[name].target
        if "ours" in row.ms:
            value = row.ms["ours"] / row.ms["gcc"]
            ratio = f"[{'green' if value <= target else 'red'}]{value:.2f}[/]"
        out.add_row(name, *cells, ratio, f"{target:g}")
    return out


def cell(row: Row, column: str) -> str:
    if column not in row.ms:
        return "-"
    text = f"{row.ms[column]:.2f}"
    return f"[red]{text} wrong[/]" if column in row.wrong else text


if __name__ == "__main__":
    main()
