"""``connect``: an actor of another process of the user."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal, cast

import numpy as np

from gridlane.actors._engine import Peer
from gridlane.actors.errors import ActorError, MessageDead, QueueFull, Reason
from gridlane.actors.layouts.blocks import HOST_GONE, IS_FULL, POSTED, InboxHeader
from gridlane.actors.layouts.python import dtype
from gridlane.actors.layouts.shared import SHARED_MAGIC, SharedInbox
from gridlane.actors.processes.inboxes import (
    Entry,
    Folder,
    own_space,
    require_shared_memory,
    verify_own,
)
from gridlane.actors.values.messages import Shape, shape_of
from gridlane.core.errors import TypingError
from gridlane.core.forks import fork_waits
from gridlane.core.weak import live

FOREVER = 1e10
SIT = 1.0
"""Seconds to wait for a seat: those of ended peers are free again after a tenth."""

_connections: weakref.WeakSet[RemoteRef] = weakref.WeakSet()
_numbers = itertools.count(1)


def connect(
    name: str,
    token: int | None = None,
    *,
    message: type | None = None,
    replies: type | None = None,
) -> RemoteRef:
    """An actor of another process of this user, by the name that ``ActorRef.share`` gave its inbox.

    Args:
        token: of ``Share.token``; None reads it from the inbox.
        message: the class of the actor's messages, which arrays for ``post_many`` are of; without
            it, each message's class is compared with the inbox's.
        replies: the class of the actor's replies, for ``call``.

    Raises:
        ActorError: there is no such inbox, its process has ended, it is not this user's alone, what
            it says is no inbox, the token is another's, or it has no seat left.
        TypingError: its messages or replies are of another class.
        ValueError: it is no name.
    """
    require_shared_memory()
    with Folder() as folder:
        entry = folder.find(name)
    host = _host(name, entry)
    try:
        peer, facts = _open(name, entry, host, token)
    except BaseException:
        os.close(host)
        raise
    shapes = (
        _shape(message, int(facts["type"]), f"the actor behind {name!r} does not handle"),
        _shape(replies, int(facts["reply_type"]), f"the actor behind {name!r} does not reply with"),
    )
    return RemoteRef(name, peer, int(facts["type"]), bool(facts["reply_bytes"]), *shapes)


def _shape(cls: type | None, number: int, otherwise: str) -> Shape | None:
    if cls is None:
        return None
    shape = shape_of(cls, "message")
    if shape.number != number:
        raise TypingError(f"{otherwise} {cls.__qualname__}")
    return shape


def _host(name: str, entry: Entry) -> int:
    """A descriptor of the inbox's process."""
    try:
        descriptor = os.pidfd_open(entry.process)
    except ProcessLookupError:
        descriptor = -1
    except OSError as error:
        raise ActorError(f"the process of {name!r} cannot be watched: {error}") from None
    if descriptor >= 0 and entry.lives():
        return descriptor
    if descriptor >= 0:
        os.close(descriptor)
    raise ActorError(f"the process {entry.process} that shared the inbox {name!r} has ended")


def _open(name: str, entry: Entry, host: int, token: int | None) -> tuple[Peer, Any]:
    """Map an inbox whose facts are valid. Its private copy counts, as the memory may change."""
    what = f"the memory of the shared inbox {name!r}"
    try:
        memory = os.open(f"/proc/{entry.process}/fd/{entry.file}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise ActorError(f"{what} cannot be opened: {error}") from None
    try:
        verify_own(os.fstat(memory), what)
        data = os.pread(memory, 2 * InboxHeader.size + SharedInbox.size, 0)
        inbox, facts = _facts(data, what)
        origin = int(facts["host"]), int(facts["host_start"]), int(facts["space"])
        if origin != (entry.process, entry.start, own_space()):
            raise ActorError(f"{what} is another process's")
        known = int(inbox["token"])
        if token is not None and token != known:
            raise ActorError(
                f"the token is not that of the shared inbox {name!r}: it is one of an earlier "
                "inbox of this name, or of another"
            )
        node = os.getpid() << 16 | next(_numbers) & 0xFFFF
        try:
            peer = Peer(
                memory,
                host,
                int(inbox["capacity"]),
                int(facts["seats"]),
                int(facts["payload_bytes"]),
                int(facts["reply_bytes"]),
                int(facts["type"]),
                known,
                node,
                secrets.randbits(55),
            )
        except OSError as error:
            raise ActorError(f"{what} is no inbox: its sizes do not fit ({error})") from None
        return peer, facts
    finally:
        os.close(memory)


def _facts(data: bytes, what: str) -> tuple[Any, Any]:
    if len(data) != 2 * InboxHeader.size + SharedInbox.size:
        raise ActorError(f"{what} is cut short")
    inbox = np.frombuffer(data, dtype(InboxHeader), 1)[0]
    facts = np.frombuffer(data, dtype(SharedInbox), 1, 2 * InboxHeader.size)[0]
    if int(facts["magic"]) != SHARED_MAGIC or int(facts["version"]) != 1:
        raise ActorError(f"{what} is no inbox of this version of gridlane")
    return inbox, facts


class RemoteRef:
    """An actor of another process; ``connect`` makes one. Any thread may use it.

    It is a context manager. A child of a fork cannot use it; it connects again.

    A message that ``send`` has put into the inbox is lost if the other process is killed before the
    actor has handled it; a reply to ``call`` says that it was handled.
    """

    def __init__(
        self,
        name: str,
        peer: Peer,
        type_: int,
        answers: bool,
        message: Shape | None,
        replies: Shape | None,
    ) -> None:
        self.name = name
        self._peer, self._type, self._answers = peer, type_, answers
        self._message, self._replies = message, replies
        self._lock = threading.RLock()
        self._closed = ""
        self._seat = self._sit()
        self._free: list[int] = [self._seat]
        self._all = [self._seat]
        _connections.add(self)

    def __repr__(self) -> str:
        return f"<actor behind the shared inbox {self.name}>"

    def __enter__(self) -> RemoteRef:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):  # of a partly made object, or at Python's end
            self.close()

    @property
    def alive(self) -> bool:
        """Whether the other process and the inbox are there."""
        return not self._closed and self._peer.lives()

    def close(self) -> None:
        """Release the seats. No other thread is in a method."""
        with fork_waits(), self._lock:
            if self._closed:
                return
            self._closed = "the connection is closed"
            for seat in self._all:
                self._peer.leave(seat)
            self._peer.close()

    def abandon(self) -> None:
        """Drop the seats in the child of a fork: they are the parent's."""
        self._closed = self._closed or (
            f"the connection to {self.name} is the parent process's; connect again in the child"
        )

    def send(
        self,
        message: Any,
        on_full: Literal["block", "dead", "raise"] = "block",
        timeout: float | None = None,
        expires: float | None = None,
    ) -> bool:
        """Post a message. Returns whether it is in the inbox; otherwise it is a dead letter there.

        Replies to it are dropped; ``call`` returns one.

        Args:
            on_full: where the inbox is full: wait, make the message a dead letter of the other
                runtime, or raise QueueFull.
            timeout: seconds to wait for room.
            expires: seconds after which it is a dead letter instead of being handled.

        Raises:
            QueueFull: there is no room, at once or in time.
            MessageDead: this process was stopped for longer than the inbox's lease.
            ActorError: the other process has ended, or the inbox is closed.
            TypeError: the actor handles messages of another class.
        """
        data = self._bytes(message)
        wait = 0.0
        if on_full == "block":
            wait = FOREVER if timeout is None else timeout
        elif on_full not in ("dead", "raise"):
            raise ValueError(f"on_full={on_full!r} is 'block', 'dead' or 'raise'")
        deadline = 0 if expires is None else time.time_ns() + int(expires * 1e9)
        _, ended = self._peer.post(self._seat, data, wait, deadline, 0)
        if ended == IS_FULL and on_full == "dead":
            _, ended = self._peer.post(self._seat, data, FOREVER, deadline, 1)
            if not ended:
                return False
        if ended:
            raise self._unposted(ended)
        return True

    def post_many(self, messages: Any, timeout: float | None = None) -> int:
        """Post many messages in their order; return how many are in the inbox.

        Args:
            messages: an array of the class's dtype, or values of the class.
            timeout: seconds to wait for room.

        Raises:
            ActorError, MessageDead, TypeError: as ``send``.
        """
        if isinstance(messages, np.ndarray):
            data: Any = self._rows(cast("np.ndarray[Any, np.dtype[Any]]", messages))
        else:
            data = b"".join([self._bytes(each) for each in cast("Iterable[Any]", messages)])
        self._require_open()
        wait = FOREVER if timeout is None else timeout
        posted, ended = self._peer.post(self._seat, data, wait, 0, 0)
        if ended not in (POSTED, IS_FULL):
            raise self._unposted(ended)
        return posted

    def call(self, message: Any, timeout: float | None = None, spin: float = 50e-6) -> Any:
        """Post a message and wait for the reply to it.

        Args:
            timeout: seconds; None has no limit.
            spin: seconds to wait without parking the thread.

        Raises:
            TimeoutError: there is no room or no reply in time.
            MessageDead: it will not be handled, or its handler failed.
            ActorError: the other process has ended, or there is no class of replies.
            TypeError: the actor handles messages of another class.
        """
        data = self._bytes(message)
        if self._replies is None:
            raise ActorError(
                f"call needs the class of the replies: connect({self.name!r}, replies=Class)"
                if self._answers
                else f"the actor behind {self.name} has no replies: send it messages"
            )
        seat = self._take_seat()
        try:
            wait = FOREVER if timeout is None else timeout
            answer = self._peer.call(seat, data, int(spin * 1e9), wait)
        finally:
            with fork_waits(), self._lock:
                self._free.append(seat)
        if type(answer) is bytes:
            return self._replies.unpack(answer)
        if answer is None:
            raise TimeoutError(f"the actor behind {self.name} has not replied in time")
        assert isinstance(answer, int)
        if answer == IS_FULL:
            raise TimeoutError(f"the shared inbox {self.name} has had no room in time")
        raise self._unposted(answer)

    def _bytes(self, message: Any) -> bytes:
        self._require_open()
        shape = shape_of(type(message), "message")
        if shape.number != self._type:
            raise self._other(type(message).__qualname__)
        return shape.pack(message)

    def _rows(self, rows: np.ndarray[Any, np.dtype[Any]]) -> Any:
        if self._message is None:
            raise ActorError(
                f"an array says nothing of a class: connect({self.name!r}, message=Class)"
            )
        if rows.dtype != self._message.record.numpy:
            raise self._other(f"records of {rows.dtype}")
        return np.ascontiguousarray(rows).view(np.uint8).reshape(-1)

    def _other(self, given: str) -> TypeError:
        return TypeError(
            f"the actor behind {self.name} handles messages of another class than {given}: their "
            "names, or the names, types and places of their fields differ"
        )

    def _unposted(self, ended: int) -> ActorError:
        if ended == IS_FULL:
            return QueueFull(f"the shared inbox {self.name} is full")
        if ended == HOST_GONE:
            return ActorError(
                f"the shared inbox {self.name} is closed, or its process has ended: connect again"
            )
        return MessageDead(f"the actor behind {self.name} does not answer", Reason(ended))

    def _require_open(self) -> None:
        if self._closed:
            raise ActorError(self._closed)

    # --- seats ---

    def _take_seat(self) -> int:
        """A seat for one call."""
        with fork_waits(), self._lock:
            if self._free:
                return self._free.pop()
            result = self._sit()
            self._all.append(result)
            return result

    def _sit(self) -> int:
        until = time.monotonic() + SIT
        while (seat := self._peer.sit()) < 0:
            if not self._peer.lives():
                raise self._unposted(HOST_GONE)
            if time.monotonic() > until:
                raise ActorError(
                    f"the shared inbox {self.name} has no seat left: close connections, or share "
                    "it with a larger peers="
                )
            time.sleep(0.01)
        return seat


def _after_fork() -> None:
    for each in live(_connections):
        each.abandon()


os.register_at_fork(after_in_child=_after_fork)
