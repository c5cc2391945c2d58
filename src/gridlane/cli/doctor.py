"""``gridlane doctor``: test this machine's devices, and advise on the failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import gridlane
from gridlane.backends import backend, names
from gridlane.cli import children
from gridlane.cli.facts import facts, short_facts
from gridlane.cli.failure import check_settings
from gridlane.cli.tables import console, table
from gridlane.cli.wording import plain
from gridlane.core.config import config
from gridlane.core.frozen import frozen
from gridlane.core.processors import available_processors

TIMEOUT_S = 120

# Step: its description, and the advice when it is the first that fails.
LADDER: dict[str, tuple[str, str]] = {
    "compiled": (
        "a kernel becomes code for the device",
        "reinstall gridlane and llvmlite (pip install --force-reinstall gridlane llvmlite); "
        "compilation needs nothing else of the machine",
    ),
    "available": (
        "the driver and the libraries that it stands on load",
        "the message names what is missing: install it, and look at its version above",
    ),
    "initialised": (
        "the device opens and gives memory",
        "free memory, and check the limits on threads and memory of this user or container "
        "(ulimit -a)",
    ),
    "executed": (
        "a kernel is launched and comes to its end",
        "GRIDLANE_TRACE=1 shows the launch, --device interp runs the same kernel without machine "
        "code; a processor without the instructions that it reports (some virtual machines) ends "
        "here with SIGILL",
    ),
    "verified": (
        "its result equals numpy's",
        "do not use this device here; report it with this output, and use another device",
    ),
}


@frozen
class Step:
    """A step that was tried, and its message."""

    name: str
    ok: bool
    detail: str


def show(verbose: bool = False) -> int:
    """Print a line for each device; return the exit status, 0 when the device in use is verified.

    Args:
        verbose: print the machine's facts, each step, and advice for each device that fails.
    """
    check_settings()
    out = console()
    used = config().device
    devices = list(dict.fromkeys((*names(), used)))  # of several of a kind, the one in use as well
    if verbose:
        out.print(_machine())
    with out.status(f"trying {', '.join(devices)}"):
        results = _climb_all(devices)
    if verbose:
        _show_all(out, results, used)
    else:
        _show_short(out, results, used)
    out.print("* the device in use; choose with GRIDLANE_DEVICE or gridlane run --device")
    return 0 if results[used][-1].ok else 1


def _climb_all(devices: list[str]) -> dict[str, list[Step]]:
    """The steps of each device; as many at a time as there are processors."""
    with ThreadPoolExecutor(available_processors()) as pool:
        return dict(zip(devices, pool.map(climb, devices), strict=True))


def _machine() -> Table:
    machine = table("", "", title=f"gridlane {gridlane.__version__}")
    machine.show_header = False
    for name, value in facts():
        machine.add_row(name, escape(value))
    return machine


def _show_all(out: Console, results: dict[str, list[Step]], used: str) -> None:
    ladder = table("device", *LADDER, "")
    for name, steps in results.items():
        cells = [_cell(steps, n) for n in range(len(LADDER))]
        ladder.add_row(f"{name} *" if name == used else name, *cells, _summary(steps))
    out.print(ladder)
    for name, steps in results.items():
        if not steps[-1].ok:
            out.print(_advice(name, steps[-1]))


def _show_short(out: Console, results: dict[str, list[Step]], used: str) -> None:
    """A line for each device, and the advice for the one in use."""
    out.print(f"gridlane {gridlane.__version__}: {', '.join(short_facts())}", soft_wrap=True)
    width = max(map(len, results))
    for name, steps in results.items():
        last = steps[-1]
        result = f"{'' if last.ok else 'not '}{last.name}".ljust(len("not initialised"))
        colour = "green" if last.ok else "red"
        detail = next((s.detail for s in steps if s.name == "initialised"), "")
        summary = detail if last.ok else _reason(last.detail)
        star = "*" if name == used else " "
        line = f"{star} {name:{width}}  [{colour}]{result}[/]  {escape(summary)}"
        out.print(line, soft_wrap=True)
    if not results[used][-1].ok:
        out.print(_advice(used, results[used][-1]))
    elif any(not steps[-1].ok for steps in results.values()):
        out.print("gridlane doctor --verbose: versions, each step, and what to do for the others")


def _reason(detail: str) -> str:
    """Why a step failed, in a line, without the exception's name.

    >>> _reason("DeviceError: X_NO_DEVICE (100): there is no such device on this machine: Y (Z)")
    'Y'
    """
    text = detail.partition("\n")[0].partition(": ")[2] or detail
    return plain(RuntimeError(text.rpartition("there is no such device on this machine: ")[2]))


def _cell(steps: list[Step], n: int) -> str:
    if n >= len(steps):
        return "-"
    return "[green]yes[/]" if steps[n].ok else "[red]NO[/]"


def _summary(steps: list[Step]) -> str:
    """What the device and its run reported of themselves."""
    details = {step.name: step.detail for step in steps if step.ok}
    return escape("; ".join(filter(None, map(details.get, ("initialised", "executed")))))


def _advice(device: str, step: Step) -> str:
    meaning, usual = LADDER[step.name]
    advice = backend(device.partition(":")[0]).advice.get(step.name, usual)
    detail = step.detail.replace("\n", "\n  ")
    return (
        f"[bold]{device} is not {step.name}[/] ({meaning}):\n"
        f"  {escape(detail)}\n  What to do: {escape(advice)}.\n"
    )


# --- trying ---


def climb(device: str) -> list[Step]:
    """The steps of a device up to the first that fails, tried in a process of its own."""
    # Without the cache, so that today's compiler is tested.
    ours = {"GRIDLANE_DEVICE": device, "GRIDLANE_TRACE": "0", "GRIDLANE_CACHE": "0"}
    # The file is of programs' errors; a device that this machine lacks is none.
    environment = {**os.environ, **ours, "GRIDLANE_ERRORS": ""}
    command = children.command("gridlane.cli.probe", device)
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as stopped:
        output, ending = stopped.stdout or "", f"no answer within {TIMEOUT_S} s"
        if isinstance(output, bytes):  # whatever text=True says
            output = output.decode()
    else:
        output, ending = done.stdout, _ending(done.returncode, done.stderr)
    steps = list(_steps(output))
    if len(steps) < len(LADDER) and (not steps or steps[-1].ok):
        steps.append(Step(list(LADDER)[len(steps)], False, ending))
    return steps


def _steps(output: str) -> Iterator[Step]:
    for line in output.splitlines():
        if line.startswith('{"step"'):
            record = json.loads(line)
            yield Step(record["step"], record["ok"], record["detail"])


def _ending(status: int, errors: str) -> str:
    """Why the process ended before its report."""
    last = errors.strip().splitlines()[-1:] or [""]
    if status >= 0:
        return f"the process ended with status {status}: {last[0]}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"the process was ended by {name}"
