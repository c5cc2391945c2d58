"""Publish a runtime's actors, a few times a second."""

from __future__ import annotations

import itertools
import os
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from gridlane.actors._engine import Engine
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.local.home import Home
from gridlane.actors.processes.identity import start_of
from gridlane.actors.processes.user_folder import verified_folder
from gridlane.actors.telemetry.folder import VERSION, write_facts
from gridlane.actors.values.latencies import NAMES, read_latencies

INTERVAL = 0.25
"""Seconds between two publications; more where one takes long."""
SHARE = 0.02
"""The largest share of time that publications take."""
ACTORS = 256
"""The most published actors: those that have received the most messages."""

_numbers = itertools.count(1)


def publish(home: Home) -> None:
    """Start a thread that publishes a runtime until it ends.

    Raises:
        ActorError: there is no folder that is only this user's.
    """
    path = verified_folder() / f"{os.getpid()}-{next(_numbers)}.json"
    begin = time.time()
    write_facts(path, facts_of(home, begin))

    def go_on(reference: weakref.ref[Home], engine: Engine) -> None:
        ended, pause = home_ended, INTERVAL
        try:
            while not ended.wait(pause) and (there := reference()) is not None and not there.closed:
                started = time.monotonic()
                with suppress(OSError):  # such as a full disk: the next one may succeed
                    write_facts(path, facts_of(there, begin))
                pause = max(INTERVAL, (time.monotonic() - started) / SHARE)
                del there
        finally:
            _remove(path)

    home_ended = home.ended
    home.start_thread("gridlane actors' telemetry", go_on)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def facts_of(home: Home, begin: float) -> dict[str, Any]:
    """The published record of a runtime."""
    instances = home.directory.all()
    shown = sorted(instances, key=lambda each: -each.control.received)[:ACTORS]
    actors: list[dict[str, Any]] = []
    for each in shown:
        latencies = read_latencies(each.there.latencies)
        actors.append(
            {
                "name": each.name,
                "id": each.number,
                "state": str(each.state),
                **each.metrics(),
                "latencies": {
                    name: [found.count, found.p50, found.p99, found.p999]
                    for name, found in latencies.items()
                },
            }
        )
    lattices = home.lattices.all()
    actors += [_of_lattice(each) for each in lattices[:ACTORS]]
    return {
        "version": VERSION,
        "pid": os.getpid(),
        "started": start_of(os.getpid()),
        "program": Path(sys.argv[0]).name or "python",
        "device": home.device.name,
        "begin": begin,
        "time": time.time(),
        "facts": home.engine.facts(),
        "count": len(instances) + len(lattices),
        "actors": actors,
    }


def _of_lattice(ref: LatticeRef) -> dict[str, Any]:
    """The published record of a lattice: its steps in place of messages."""
    numbers = ref.metrics()
    return {
        "name": ref.name,
        "id": ref.id,
        "state": str(ref.state),
        **numbers,
        "received": numbers["steps"],
        "latencies": {name: [0, 0.0, 0.0, 0.0] for name in NAMES},
    }
