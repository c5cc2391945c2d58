"""The methods of ``Runtime`` for checkpoints."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol, Self

from gridlane.actors.checkpoint.lattices import SavedLattice
from gridlane.actors.checkpoint.saving import put_back, read, save
from gridlane.actors.checkpoint.snapshot import SavedActor
from gridlane.actors.checkpoint.table import WRONG
from gridlane.actors.errors import CheckpointError
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.local.home import Home
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.launcher import Launcher
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.keys import Numbers


class Checkpoints(Protocol):
    """A runtime that can be saved and restored: the members that this requires, and the methods."""

    _home: Home
    _launcher: Launcher

    def __init__(self, device: str = "cpu", **options: Any) -> None: ...

    def _place_saved_lattice(
        self, lattice: Lattice, saved: SavedLattice, args: tuple[Any, ...]
    ) -> LatticeRef: ...

    def close(self) -> None:
        """End all."""
        ...

    def checkpoint(self, path: str | os.PathLike[str], timeout: float = 30.0) -> None:
        """Write all actors at one moment to a file: their states, arrays, messages in flight,
        clocks, names, numbers and counters, topics and subscriptions, dead letters; and lattices,
        after the steps and messages so far.

        Actors and senders stand still while they are read, and continue while the file is written.
        It is written whole or not at all, for this user alone. Actors of ``restart="checkpoint"``
        restart from it. A caller who waits for a reply is of this process: in the restored runtime
        the reply is a dead letter.

        Args:
            timeout: seconds to wait until no actor is in a step, or ends.

        Raises:
            OSError: the file cannot be written; an old one is unchanged.
            ActorError: an actor's step has not ended in time.
        """
        save(self._home, path, timeout)

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        device: str = "cpu",
        *,
        actors: Iterable[Actor],
        messages: Iterable[type] = (),
        lattices: Iterable[Lattice] = (),
        **options: Any,
    ) -> Self:
        """A runtime with the actors of a checkpoint, on a device of any kind. Those that were
        active run at once.

        Args:
            actors: the handlers; classes that have changed are an error.
            messages: classes of topics that no handler has.
            lattices: those of the checkpoint; ``runtime["name"]`` is a reference to each.
            options: those of ``Runtime``.

        Raises:
            OSError: there is no such file, or it may not be read.
            CheckpointError: it is no whole checkpoint, or a class is missing or has changed, with
                the field.
        """
        snapshot, given = read(path, actors, messages, lattices)
        runtime = cls(device, **options)
        try:
            put_back(
                snapshot,
                given,
                runtime._home,
                runtime._place_saved,
                runtime._place_saved_lattice,
            )
        except BaseException as error:
            runtime.close()
            if isinstance(error, WRONG):  # no valid checkpoint causes any of these
                raise CheckpointError(
                    f"{path} has the right checksum, and is no checkpoint of a runtime: "
                    f"{type(error).__name__}: {error}"
                ) from error
            raise
        runtime._home.numbers = Numbers(snapshot.next_number)
        return runtime

    def _place_saved(self, actor: Actor, saved: SavedActor, arrays: tuple[Any, ...]) -> Instance:
        queues, options = saved.queues, saved.options.holding(len(saved.queues.inbox))
        program = self._launcher.program(actor, options, arrays)
        what = saved.name, saved.number, options, saved.first
        return self._launcher.place(program, *what, arrays, len(queues.outputs))
