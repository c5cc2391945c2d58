"""``ctx``: the functions of a handler besides changes of its state, in the dialect."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

from gridlane.actors.layouts.step import EMITTED, PUBLISH, REPLY, SEND
from gridlane.actors.values.keys import key_of
from gridlane.actors.values.messages import next_tier
from gridlane.core.argtypes import RecordType
from gridlane.cuda import atomic, jit, uint64
from gridlane.frontends.python.device_function import ConstantFunction

_key_of = ConstantFunction(key_of)


def _require_name(name: object) -> int:
    if not isinstance(name, str) or not name:
        raise TypeError("an actor or a topic is named by text, such as ctx.send('risk', message)")
    return 0


_named = ConstantFunction(_require_name, needs="the name of an actor or a topic")


class Rules(NamedTuple):
    """The parameters of a handler's context.

    Attributes:
        replies: the type of its replies, or None.
        tier: the bytes of the largest message that it may emit.
        emits: the number of messages that it may emit for one.
        threads: the threads that handle a message together.
    """

    replies: RecordType | None
    tier: int
    emits: int
    threads: int


def context_class(rules: Rules) -> Any:
    """The class of ``ctx`` for one actor: a namedtuple whose methods are device functions."""
    replies, tier, emits, alone = rules.replies, rules.tier, rules.emits, rules.threads == 1
    too_many = (
        f"the handler emits more than {emits} messages for one; launch the actor with a larger "
        "emits="
    )

    def number(kind: Any) -> int:
        if not isinstance(kind, RecordType) or not kind.number:
            raise TypeError(
                f"{kind} is no message: emit a value of a class decorated by @actors.message"
            )
        if kind.size > tier:
            raise TypeError(
                f"{kind} has {kind.size} bytes, and the actor's outputs have room for {tier}; "
                f"launch it with tier={next_tier(kind.size)}"
            )
        return kind.number

    def answer(kind: Any) -> int:
        if replies is None:
            raise TypeError("the actor has no replies: write @actors.kernel(..., replies=Class)")
        if kind != replies:
            raise TypeError(f"the actor replies with {replies}, not with {kind}")
        return number(kind)

    number_of = ConstantFunction(number, tier)
    answer_of = ConstantFunction(answer, (tier, replies))

    def emit(ctx: Any, kind: int, key: Any, type_number: Any, message: Any) -> None:
        if alone:
            slot = ctx.info[EMITTED]
            ctx.info[EMITTED] = slot + 1
        else:
            slot = atomic.add(ctx.info, EMITTED, 1)
        if slot - ctx.base >= emits:
            raise RuntimeError(too_many)
        output = ctx.outputs[slot]
        output.kind = kind
        output.message = ctx.message
        output.type = type_number
        output.key = key
        output.payload_bytes = message.dtype.size
        output.payload.view(message.dtype)[0] = message

    _emit = jit(device=True)(emit)

    def reply(ctx: Any, message: Any) -> None:
        _emit(ctx, REPLY, uint64(0), uint64(answer_of(message.dtype)), message)

    def send(ctx: Any, name: Any, message: Any) -> None:
        _named(name)
        _emit(ctx, SEND, uint64(_key_of(name)), uint64(number_of(message.dtype)), message)

    def send_to(ctx: Any, actor: Any, message: Any) -> None:
        _emit(ctx, SEND, uint64(actor), uint64(number_of(message.dtype)), message)

    def publish(ctx: Any, topic: Any, message: Any) -> None:
        _named(topic)
        _emit(ctx, PUBLISH, uint64(_key_of(topic)), uint64(number_of(message.dtype)), message)

    names = "info outputs message base now thread block"
    context_type: Any = namedtuple("Context", names)  # pyright: ignore[reportUntypedNamedTuple]  # any
    for method in (reply, send, send_to, publish):
        setattr(context_type, method.__name__, jit(device=True)(method))
    return context_type
