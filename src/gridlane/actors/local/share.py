"""``ActorRef.share``: allow other processes of the user to post to an actor."""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from contextlib import suppress
from typing import Any

from gridlane.actors._engine import Gate
from gridlane.actors.errors import ActorError
from gridlane.actors.local.instance import Instance
from gridlane.actors.processes.inboxes import (
    Entry,
    Folder,
    own_entries,
    own_space,
    require_shared_memory,
    verify_name,
)

SPINS = 200
"""Polls of the reader before it sleeps: some microseconds."""
LEASE = 1.0
"""Seconds for which a live peer may hold a slot that others wait for."""
PEERS = 64
MOST_PEERS = 1024


class Share:
    """An inbox of an actor that other processes of the user post to; ``ActorRef.share`` makes one.

    It ends with the actor, or by ``close``. It is a context manager. In the child of a fork it is
    closed; the parent's stays open.

    Attributes:
        name: by which others connect.
        token: 64 bits that each message must present. ``connect`` reads it from the memory, which
            only processes of this user can open, unless it is passed there: a peer with a token
            posts to this inbox, and to no later one of the same name. The mode of the files
            excludes other users. A hostile program of the same user is not excluded: it could stop
            this process as well.
    """

    def __init__(
        self,
        instance: Instance,
        name: str,
        token: int,
        memory: int,
        gate: Gate,
        entry: Entry,
    ) -> None:
        self.name, self.token = name, token
        self._instance, self._memory, self._gate, self._entry = instance, memory, gate, entry
        self._once = threading.Lock()  # the receiver closes the memory
        instance.shares.append(self)

    def __repr__(self) -> str:
        return f"<shared inbox {self.name} of {self._instance.name}>"

    def __enter__(self) -> Share:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def metrics(self) -> dict[str, int]:
        """Messages received for the actor, refused, abandoned by their senders, garbled by them;
        and the seats that peers have."""
        return self._gate.facts()

    def close(self) -> None:
        """Accept no more messages. Those that have not reached the actor are dead letters."""
        if not self._once.acquire(blocking=False):
            return
        if self in self._instance.shares:
            self._instance.shares.remove(self)
        own_entries.discard(self._entry)
        self._gate.close()
        os.close(self._memory)
        # Where other processes lock the folder, the file stays, and no process can connect by it.
        with suppress(ActorError, OSError), Folder() as folder, folder.locked(1.0):
            folder.remove(self.name, self._entry)

    def abandon(self) -> None:
        """Close it in the child of a fork: it is the parent's."""
        if self._once.acquire(blocking=False):
            self._gate.abandon()
            os.close(self._memory)


def share(instance: Instance, name: str, capacity: int, peers: int, lease: float) -> Share:
    """Share an inbox; see ``ActorRef.share``."""
    from gridlane.actors._engine import shared_bytes, start_of

    require_shared_memory()
    verify_name(name)
    if not 0 < lease <= 3600:
        raise ValueError(f"lease={lease!r} is not above 0 and at most 3600 seconds")
    if not isinstance(peers, int) or not 1 <= peers <= MOST_PEERS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"peers={peers!r} is not between 1 and {MOST_PEERS}")
    replies = instance.actor.replies
    sizes = capacity, peers, instance.actor.message.layout.size, _size(replies)
    number = 0 if replies is None else replies.number
    token = secrets.randbits(64) or 1
    with Folder() as folder, folder.locked():
        folder.sweep()
        memory = _memory(name, shared_bytes(*sizes))
        gate = None
        try:
            gate = Gate(
                instance.there,
                memory,
                *sizes,
                number,
                own_space(),
                int(lease * 1e9),
                token,
                SPINS,
            )
            process = os.getpid()
            entry = Entry(process, start_of(process), own_space(), memory)
            folder.add(name, entry)
        except BaseException:
            if gate is not None:
                gate.close()
            os.close(memory)
            raise
    return Share(instance, name, token, memory, gate, entry)


def _size(shape: Any) -> int:
    return 0 if shape is None else shape.layout.size


def _memory(name: str, size: int) -> int:
    """Memory that this user's processes can map, of a size that nobody can change."""
    result = os.memfd_create(f"gridlane {name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.fchmod(result, 0o600)
    os.ftruncate(result, size)
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(result, fcntl.F_ADD_SEALS, seals)
    return result
