"""``gridlane doctor``: test this machine's devices, and advise on the failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from rich.markup import escape

import gridlane
from gridlane.backends import backend, names
from gridlane.cli import children
from gridlane.cli.facts import facts
from gridlane.cli.failure import check_settings
from gridlane.cli.tables import console, table
from gridlane.core.config import config

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


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was tried, and its message."""

    name: str
    ok: bool
    detail: str


def show() -> int:
    """Print everything; return the exit status, 0 when the device in use is verified."""
    check_settings()
    out = console()
    machine = table("", "", title=f"gridlane {gridlane.__version__}")
    machine.show_header = False
    for name, value in facts():
        machine.add_row(name, escape(value))
    out.print(machine)
    results: dict[str, list[Step]] = {}
    used = config().device
    for name in dict.fromkeys((*names(), used)):  # of several of a kind, the one in use as well
        with out.status(f"trying {name}"):
            results[name] = climb(name)
    ladder = table("device", *LADDER, "")
    for name, steps in results.items():
        cells = [_cell(steps, n) for n in range(len(LADDER))]
        ladder.add_row(f"{name} *" if name == used else name, *cells, _summary(steps))
    out.print(ladder)
    for name, steps in results.items():
        if not steps[-1].ok:
            out.print(_advice(name, steps[-1]))
    out.print("* the device in use; choose with GRIDLANE_DEVICE or gridlane run --device")
    return 0 if results[used][-1].ok else 1


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
    environment = {**os.environ, **ours}
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
            found = json.loads(line)
            yield Step(found["step"], found["ok"], found["detail"])


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
