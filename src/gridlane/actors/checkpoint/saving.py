"""Checkpoints of runtimes, from the runtime to the file and back."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gridlane.actors.checkpoint.cut import cut
from gridlane.actors.checkpoint.file import read_file, write_file
from gridlane.actors.checkpoint.restore import Given, put_back
from gridlane.actors.checkpoint.snapshot import Snapshot
from gridlane.actors.checkpoint.table import read_table, write_table
from gridlane.actors.checkpoint.take import take
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.local.home import Home
from gridlane.actors.values.actor import Actor

__all__ = ["put_back", "read", "save"]


def save(home: Home, path: str | os.PathLike[str], timeout: float) -> None:
    """Write a checkpoint; see ``Runtime.checkpoint``."""
    with cut(home, timeout) as instances:
        snapshot = take(home, instances, home.numbers.following)
    write_file(path, *write_table(snapshot))
    for instance, saved in zip(instances, snapshot.actors, strict=True):
        instance.last = saved.now


def read(
    path: str | os.PathLike[str],
    actors: Iterable[Actor],
    messages: Iterable[type],
    lattices: Iterable[Lattice],
) -> tuple[Snapshot, Given]:
    """A checkpoint, with the classes that it is restored with; see ``Runtime.restore``."""
    snapshot = read_table(path, *read_file(path))
    return snapshot, Given(snapshot, actors, messages, lattices)
