"""Messages to and from a launched actor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

import numpy as np

from gridlane.actors._engine import TO_OUTBOX, Engine
from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.errors import ActorError, MessageDead, QueueFull, Reason, StateError
from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.local.home import BURY_FULL, Home, deadline_of, seconds_of
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.messages import Shape

OnFull = Literal["block", "dead", "raise"]


class Messaging:
    """The part of ``ActorRef`` that posts messages and receives replies; ``call`` is C's."""

    _home: Home
    _instance: Instance
    _engine: Engine
    _there: EngineActor
    _message: Shape
    _class: type
    _pack: Callable[[Any], bytes]
    _unpack: Callable[[bytes], Any] | None

    def _bytes(self, message: Any) -> bytes:
        if type(message) is not self._class:
            raise TypeError(
                f"{self._instance.name} handles {self._class.__qualname__}, not "
                f"{type(message).__qualname__}: {message!r:.60}"
            )
        return self._pack(message)

    def _refused_call(self, message: Any) -> ActorError:
        """The error of a call whose message was not posted; the engine's call requests it."""
        self._bytes(message)
        self._home.require_open()
        if self._unpack is None:
            return ActorError(f"{self._instance.name} has no replies: send it messages")
        name, state = self._instance.name, self._instance.state
        return StateError(f"{name} is {state}, so that a call would wait: activate it")

    def _unanswered(self, answer: Any) -> BaseException:
        """The error of a call without a reply."""
        self._home.require_open()
        if answer is None:
            return TimeoutError(f"{self._instance.name} has not replied in time")
        reason = Reason(answer & 0xFF)
        if reason in (Reason.STOPPED, Reason.INACTIVE):
            self._home.directory.require_open()
        if reason is Reason.FULL:
            return TimeoutError(f"the inbox of {self._instance.name} has had no room in time")
        if reason is Reason.FAILED:
            self._home.supervisor.settle(self._instance)
            error = self._instance.failure_of(answer >> 8)
            if error is not None:
                return _again(error)
        return MessageDead(f"{self._instance.name} does not answer", reason)

    async def acall(self, message: Any, timeout: float | None = None) -> Any:
        """Post a message and await the reply to it; as ``call``.

        Raises:
            QueueFull: the inbox is full.
        """
        unpack = self._unpack
        if unpack is None or self._instance.state.value < 2:
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
            raise TimeoutError(f"{self._instance.name} has not replied in time") from None
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
            return QueueFull(f"the inbox of {self._instance.name} is full")
        return MessageDead(f"{self._instance.name} takes no message", reason)

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
                raise TypeError(
                    f"{self._instance.name} handles records of {dtype}, not {given.dtype}"
                )
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
                raise ActorError(
                    f"{self._instance.name} has ended, and there is no reply of it any more"
                )
            raise TimeoutError(f"no reply of {self._instance.name} has come in time")
        return reply

    def try_receive(self) -> Any:
        """The next reply, or None."""
        return self._receive(0.0)

    def _receive(self, timeout: float) -> Any:
        if self._unpack is None:
            raise ActorError(f"{self._instance.name} has no replies")
        data = self._engine.receive(self._there, timeout)
        if data is None:
            self._home.require_open()
            return None
        return self._unpack(data[MessageHeader.size :])


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
