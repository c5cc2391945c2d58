"""A plugin of pytest: how a crashed worker of pytest-xdist has ended, and its stack.

Each worker writes the stacks of faults and of tests that hang to a file of its own. The summary at
the end of the output shows it. A process that the system has killed leaves none.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

FOLDER = Path(__file__).parents[2] / "build" / "crashes"
_PATH = "crashes"
_SHOWN = 150
"""Lines of a file that are shown: the thread that runs the test is the last of a hang's stacks."""
_SECONDS = 10
_ends: list[tuple[str, str, str]] = []


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Choose the file of a worker."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{os.getpid()}.{node.gateway.id}"
    node.workerinput[_PATH] = str(path)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Write to the worker's file instead of the shared stderr. It precedes the hook of
    tests/conftest.py, which chooses the threads."""
    path = getattr(config, "workerinput", {}).get(_PATH)
    if path is not None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, config.stash[fault_handler_stderr_fd_key])
        os.close(file)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Note how a worker has ended that was not asked to."""
    path = Path(node.workerinput[_PATH])
    if error:
        _ends.append((node.gateway.id, _end_of(node.gateway._io.popen), _text(path)))
    path.unlink(missing_ok=True)


def _end_of(process: Any) -> str:
    """How a process has ended."""
    try:
        code = process.wait(_SECONDS)
    except TimeoutExpired:
        return "has closed its channel, and runs on"
    if code >= 0:
        return f"exited with {code}: so does a test that hangs"
    return f"was ended by {signal.Signals(-code).name}"


def _text(path: Path) -> str:
    """The end of a worker's file."""
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return (
        "\n".join(lines[-_SHOWN:]) or "it has left no stack; SIGKILL also means too little memory"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the workers that have crashed."""
    for worker, end, text in _ends:
        terminalreporter.section(f"{worker} {end}")
        terminalreporter.line(text)
