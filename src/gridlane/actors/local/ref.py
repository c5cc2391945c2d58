"""A launched actor: its lifecycle, and messages to and from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from gridlane.actors._engine import TO_OUTBOX, Caller
from gridlane.actors.errors import ActorError, MessageDead, QueueFull, Reason, StateError
from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.local.home import BURY_FULL, FOREVER, Home, deadline_of, seconds_of
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.latencies import Latency, read_latencies
from gridlane.actors.values.messages import Shape
from gridlane.actors.values.numbers import verify
from gridlane.actors.values.states import State

if TYPE_CHECKING:
    from gridlane.actors.local.share import Share

OnFull = Literal["block", "dead", "raise"]


class ActorRef(Caller):
    """A launched actor; ``Runtime.launch`` makes one. Any thread may use it."""

    def __init__(self, home: Home, instance: Instance) -> None:
        message, replies = instance.actor.message, instance.actor.replies
        super().__init__(
            home.engine,
            instance.there,
            message.cls,
            message.form or message.pack,
            None if replies is None else replies.form or replies.unpack,
            home.spin,
        )
        self._home, self._instance = home, instance
        self._engine, self._there = home.engine, instance.there
        self._message = message
        self._class, self._pack = message.cls, message.pack
        self._unpack = None if replies is None else replies.unpack

    def __repr__(self) -> str:
        return f"<actor {self.name} ({self.id}), {self.state}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorRef) and other._instance is self._instance

    def __hash__(self) -> int:
        return hash(self._instance)

    @property
    def name(self) -> str:
        """The name by which others send to it."""
        return self._instance.name

    @property
    def id(self) -> int:
        """Its number, in headers and for ``ctx.send_to``."""
        return self._instance.number

    @property
    def actor(self) -> Actor:
        """The actor that was launched."""
        return self._instance.actor

    @property
    def mode(self) -> str:
        """How it handles messages: ``"persistent"``, by a resident kernel; ``"threads"``, on native
        threads; ``"batches"``, by one launch for a batch."""
        if self._instance.residence is not None:
            return "persistent"
        return "threads" if self._instance.batches is None else "batches"

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The device arrays of its launch."""
        return self._instance.arrays

    @property
    def failure(self) -> BaseException | None:
        """The error that ended it, or that it was restarted after."""
        return self._instance.failure

    # --- lifecycle ---

    @property
    def state(self) -> State:
        """Its state now."""
        return self._instance.state

    def activate(self) -> None:
        """Allow it to handle messages.

        Raises:
            StateError: it is neither launched nor deactivated.
            NameLookupError: it sends to an actor that is not launched, with the line.
        """
        self._home.require_open()
        self._home.directory.check_names(self._instance)
        self._home.directory.open_channels(self._instance)
        self._instance.move("activate")
        self._there.schedule()

    def deactivate(self) -> None:
        """Allow it neither to accept nor to handle messages; those in its inbox stay."""
        self._home.require_open()
        self._instance.move("deactivate")
        self._home.directory.shut_channels(self._instance)
        self._instance.wait_for_step(FOREVER)
        self._engine.unblock(self._there)

    def suspend(self) -> None:
        """Allow it to accept messages, and to handle none. A step that runs ends first."""
        self._home.require_open()
        self._instance.move("suspend")
        self._instance.wait_for_step(FOREVER)

    def resume(self) -> None:
        """Allow it to handle messages again after ``suspend``."""
        self._home.require_open()
        self._instance.move("resume")
        self._there.schedule()

    def terminate(self, graceful: bool = True, timeout: float | None = None) -> None:
        """End it.

        Args:
            graceful: handle its inbox first; else a running handler is requested to stop, and the
                rest are dead letters.
            timeout: seconds for the inbox; later messages are dead letters.

        Raises:
            StateError: it has ended or is about to.
        """
        limit = seconds_of("timeout", timeout)
        if not self._instance.has_ended():
            self._home.require_open()
        self._instance.move("terminate")
        if graceful:
            self._instance.drain(time.monotonic() + limit)
            if self._instance.control.error:  # of its last message
                self._home.supervisor.settle(self._instance)
        self._instance.end(Reason.STOPPED)

    # --- messages ---

    def _bytes(self, message: Any) -> bytes:
        if type(message) is not self._class:
            raise TypeError(
                f"{self.name} handles {self._class.__qualname__}, not "
                f"{type(message).__qualname__}: {message!r:.60}"
            )
        return self._pack(message)

    def _refused_call(self, message: Any) -> ActorError:
        """The error of a call whose message was not posted; the engine's call requests it."""
        self._bytes(message)
        self._home.require_open()
        if self._unpack is None:
            return ActorError(f"{self.name} has no replies: send it messages")
        return StateError(f"{self.name} is {self.state}, so that a call would wait: activate it")

    def _unanswered(self, answer: Any) -> BaseException:
        """The error of a call without a reply."""
        self._home.require_open()
        if answer is None:
            return TimeoutError(f"{self.name} has not replied in time")
        reason = Reason(answer & 0xFF)
        if reason in (Reason.STOPPED, Reason.INACTIVE):
            self._home.directory.require_open()
        if reason is Reason.FULL:
            return TimeoutError(f"the inbox of {self.name} has had no room in time")
        if reason is Reason.FAILED:
            self._home.supervisor.settle(self._instance)
            error = self._instance.failure_of(answer >> 8)
            if error is not None:
                return _again(error)
        return MessageDead(f"{self.name} does not answer", reason)

    async def acall(self, message: Any, timeout: float | None = None) -> Any:
        """Post a message and await the reply to it; as ``call``.

        Raises:
            QueueFull: the inbox is full.
        """
        unpack = self._unpack
        if unpack is None or self.state.value < 2:
            raise self._refused_call(message)
        limit = None if timeout is None else seconds_of("timeout", timeout)
        data = self._bytes(message)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        begin = time.monotonic_ns()
        ticket, reason = self._home.post_async(self._there, data, future)
        if reason:
            raise self._refused(Reason(reason))
        try:
            await asyncio.wait_for(future, limit)
            answer = self._engine.answer(ticket)
        except TimeoutError:
            raise TimeoutError(f"{self.name} has not replied in time") from None
        finally:
            self._home.forgets(ticket)
        reason, payload = answer or (None, b"")
        if reason == 0:
            self._there.note_call(time.monotonic_ns() - begin)
            return unpack(payload)
        raise self._unanswered(reason)

    def send(
        self,
        message: Any,
        on_full: OnFull = "block",
        timeout: float | None = None,
        expires: float | None = None,
        replies: bool = True,
    ) -> bool:
        """Post a message. Returns whether it is in the inbox; otherwise it is a dead letter.

        Args:
            on_full: where the inbox is full: wait, make the message a dead letter, or raise
                QueueFull.
            timeout: seconds to wait for room.
            expires: seconds after which it is a dead letter instead of being handled; negative: at
                once.
            replies: put replies into the outbox, for ``receive``; else they are dropped.

        Raises:
            QueueFull: there is no room, at once or in time.
            MessageDead: the actor accepts no messages.
            TypeError: the message is of another class.
        """
        data = self._bytes(message)
        wait, deadline = _wait_of(on_full, timeout), deadline_of(expires)
        target, flags = TO_OUTBOX if replies else 0, BURY_FULL if on_full == "dead" else 0
        reason = self._engine.post(self._there, data, wait, target, deadline, 0, 0, 0, 0, flags)
        if not reason:
            return True
        if reason == Reason.FULL and on_full == "dead":
            return False
        raise self._refused(Reason(reason))

    def _refused(self, reason: Reason) -> ActorError:
        self._home.require_open()
        self._home.directory.require_open()
        if reason is Reason.FULL:
            return QueueFull(f"the inbox of {self.name} is full")
        return MessageDead(f"{self.name} takes no message", reason)

    def post_many(
        self,
        messages: Any,
        timeout: float | None = None,
        replies: bool = False,
        alone: bool = False,
    ) -> int:
        """Post many messages in their order; return how many are in the inbox.

        Args:
            messages: an array of the class's dtype, or values of the class.
            timeout: seconds to wait for room.
            replies: put replies into the outbox; else they are dropped.
            alone: no other thread and no actor posts to it at this time, which is faster. Two such
                callers at once lose messages.

        Raises:
            TypeError: the messages are of another class.
            MessageDead: the actor accepts no messages.
        """
        shape, dtype = self._message, self._message.record.numpy
        if isinstance(messages, np.ndarray):
            given = cast("np.ndarray[Any, np.dtype[Any]]", messages)
            if given.dtype != dtype:
                raise TypeError(f"{self.name} handles records of {dtype}, not {given.dtype}")
            data: Any = np.ascontiguousarray(given).view(np.uint8).reshape(-1)
        else:
            data = b"".join([self._bytes(each) for each in cast("Iterable[Any]", messages)])
        wait = seconds_of("timeout", timeout)
        posted, reason = self._engine.post_many(
            self._there, data, shape.layout.size, wait, replies, alone
        )
        if reason and reason != Reason.FULL:
            raise self._refused(Reason(reason))
        return posted

    def receive(self, timeout: float | None = None) -> Any:
        """The next reply to a message that was sent.

        Raises:
            TimeoutError: none arrives in time.
            ActorError: the actor has ended, and there is none.
        """
        reply = self._receive(seconds_of("timeout", timeout))
        if reply is None:
            if self._instance.has_ended():
                self._home.directory.require_open()
                raise ActorError(f"{self.name} has ended, and there is no reply of it any more")
            raise TimeoutError(f"no reply of {self.name} has come in time")
        return reply

    def try_receive(self) -> Any:
        """The next reply, or None."""
        return self._receive(0.0)

    def _receive(self, timeout: float) -> Any:
        if self._unpack is None:
            raise ActorError(f"{self.name} has no replies")
        data = self._engine.receive(self._there, timeout)
        if data is None:
            self._home.require_open()
            return None
        return self._unpack(data[MessageHeader.size :])

    # --- C ---

    @property
    def c_handle(self) -> int:
        """The address of its handle in C, for threads without Python: see gridlane_actors.h, in
        ``actors.include_folder()``. It is valid as long as there is a ref of the actor, and while C
        keeps it; after the actor's end, C's functions return an error. ActorError: it has ended."""
        return self._instance.c_handle()

    # --- other processes ---

    def share(
        self, name: str, *, capacity: int = 256, peers: int = 64, lease: float = 1.0
    ) -> Share:
        """Allow other processes of this user to post to it, by ``actors.connect(name)``.

        Args:
            name: ASCII letters, digits, ``_``, ``-`` and dots.
            capacity: messages in the shared inbox, a power of two; the actor's own inbox follows
                it.
            peers: seats: one for each connection, and one for each further call at a time.
            lease: seconds for which a process that is stopped while it writes a message delays
                later messages; then its message is a dead letter.

        Raises:
            ActorError: there is an inbox of the name, or processes cannot share memory here.
            ValueError: it is no name, or a number is out of its range.
        """
        from gridlane.actors.local.share import share

        verify(capacity=capacity)
        self._home.require_open()
        if self._instance.has_ended():
            raise ActorError(f"{self.name} has ended")
        return share(self._instance, name, capacity, peers, lease)

    # --- its state ---

    def read_state(self) -> Any:
        """The state as a value of its class, between two steps.

        Raises:
            ActorError: it has none.
        """
        shape = self._state()
        return shape.unpack(self._instance.read())

    def write_state(self, value: Any) -> None:
        """Replace the state, between two steps."""
        shape = self._state()
        if type(value) is not shape.cls:
            raise TypeError(f"the state of {self.name} is a {shape.cls.__qualname__}")
        self._instance.write(shape.pack(value))

    def _state(self) -> Shape:
        self._home.require_open()
        shape = self.actor.state
        if shape is None:
            raise ActorError(f"{self.name} has no state")
        return shape

    # --- facts ---

    def metrics(self) -> dict[str, int]:
        """Counters and lengths: messages received, answered, failed and dead, queued now and at
        most."""
        return self._instance.metrics()

    def latencies(self) -> dict[str, Latency]:
        """Times for which messages waited for their step (``"wait"``), were handled
        (``"handling"``), and for which callers waited for their answers (``"calls"``): counts,
        means and quantiles in seconds. The wait begins at the time of the message's clock. Of an
        actor with a resident kernel, only callers' messages are counted, and no handling."""
        return read_latencies(self._there.latencies)


def _wait_of(on_full: OnFull, timeout: float | None) -> float:
    """The seconds to wait for room in an inbox."""
    if on_full == "block":
        return seconds_of("timeout", timeout)
    if on_full not in ("dead", "raise"):
        raise ValueError(f"on_full={on_full!r} is 'block', 'dead' or 'raise'")
    return 0.0


def _again(error: BaseException) -> BaseException:
    """The error of a handler, to be raised again with a traceback of its own."""
    return error.with_traceback(None)
