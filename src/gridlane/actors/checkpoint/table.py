"""A snapshot as the table and the data of a file, and back.

The checksum matches before a table is read, and the table is verified all the same: a table that no
checkpoint has is an error, not a runtime that is nearly right.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from typing import Any

from gridlane.actors.checkpoint import classes
from gridlane.actors.checkpoint.lattices import SavedLattice, number_of
from gridlane.actors.checkpoint.snapshot import (
    COUNTERS,
    SavedActor,
    SavedArray,
    SavedQueues,
    Snapshot,
)
from gridlane.actors.errors import CheckpointError
from gridlane.actors.values.messages import TIERS
from gridlane.actors.values.options import Options
from gridlane.actors.values.states import State
from gridlane.core.errors import TypingError

LIFECYCLES = [
    each.name for each in (State.LAUNCHED, State.ACTIVE, State.DEACTIVATED, State.SUSPENDED)
]
"""States of actors in checkpoints; actors in other states are about to end."""
_SIZE = struct.Struct("<Q")
WRONG = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    TypingError,
    RecursionError,
    OverflowError,
    MemoryError,
)
"""Exceptions of code that reads values which no checkpoint has."""


class _Data:
    """The bytes that a table refers to, by lists of (first byte, bytes)."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._end = 0

    def add(self, data: bytes) -> list[int]:
        self.parts.append(data)
        self._end += len(data)
        return [self._end - len(data), len(data)]

    def add_all(self, items: list[bytes]) -> list[int]:
        return self.add(b"".join([_SIZE.pack(len(each)) + each for each in items]))


def write_table(snapshot: Snapshot) -> tuple[bytes, bytes]:
    """The table and the data of a snapshot."""
    data = _Data()
    table = {
        "device": snapshot.device,
        "classes": [[number, classes.to_table(each)] for number, each in snapshot.classes.items()],
        "topics": snapshot.topics,
        "subscriptions": snapshot.subscriptions,
        "actors": [_actor_table(each, data) for each in snapshot.actors],
        "lattices": [_lattice_table(each, data) for each in snapshot.lattices],
        "memory": [data.add(each) for each in snapshot.memory],
        "dead": [[actor, data.add(each)] for actor, each in snapshot.dead],
        "facts": snapshot.facts,
        "next_number": snapshot.next_number,
    }
    return json.dumps(table, separators=(",", ":")).encode(), b"".join(data.parts)


def _actor_table(actor: SavedActor, data: _Data) -> dict[str, Any]:
    table = {each.name: getattr(actor, each.name) for each in dataclasses.fields(actor)}
    queues = {
        each.name: getattr(actor.queues, each.name) for each in dataclasses.fields(SavedQueues)
    }
    for name in ("inbox", "outbox", "outputs"):
        queues[name] = data.add_all(queues[name])
    queues["headers"] = data.add(queues["headers"])
    return table | {
        "options": dataclasses.asdict(actor.options),
        "first": data.add(actor.first),
        "now": data.add(actor.now),
        "arrays": [dataclasses.asdict(each) for each in actor.arrays],
        "queues": queues,
    }


def _lattice_table(lattice: SavedLattice, data: _Data) -> dict[str, Any]:
    table = {each.name: getattr(lattice, each.name) for each in dataclasses.fields(lattice)}
    args = [dataclasses.asdict(a) if isinstance(a, SavedArray) else a for a in lattice.args]
    values = [data.add(each) for each in lattice.values]
    return table | {"values": values, "now": data.add(lattice.now), "args": args}


def read_table(path: Any, text: bytes, data: memoryview) -> Snapshot:
    """The snapshot of a file's table and data.

    Raises:
        CheckpointError: it is invalid in this version's format.
    """
    try:
        return _snapshot(json.loads(text), data)
    except WRONG as error:
        raise CheckpointError(
            f"{path} has the right checksum, and is no table of a checkpoint: "
            f"{type(error).__name__}: {error}"
        ) from None


def _snapshot(table: Any, data: memoryview) -> Snapshot:
    layouts = {int(number): classes.from_table(each) for number, each in table["classes"]}
    for number, layout in layouts.items():
        _require(layout.type_id == number, f"the layout {layout.name} has another number")
    actors = [_actor(each, data) for each in table["actors"]]
    numbers = {each.number for each in actors}
    _require(len(numbers) == len(actors) == len({each.name for each in actors}), "actors twice")
    _require(all(0 < each < table["next_number"] for each in numbers), "an actor's number")
    lattices = [_lattice(each, data) for each in table["lattices"]]
    taken = [*actors, *lattices]
    _require(len({each.number for each in taken}) == len(taken), "a lattice's number twice")
    _require(len({each.name for each in taken}) == len(taken), "a lattice's name twice")
    _require(all(0 < each.number < table["next_number"] for each in lattices), "a lattice's number")
    used = {each for actor in actors for each in (actor.message, actor.state, actor.replies)}
    used |= {each.state for each in lattices}
    topics = [(_text(name), _number(number)) for name, number in table["topics"]]
    used = used - {0} | {each for _, each in topics}
    _require(used <= set(layouts), "a class without layout")
    subscriptions = [(_text(how), _number(each)) for how, each in table["subscriptions"]]
    _require({each for _, each in subscriptions} <= numbers, "a subscriber that is no actor")
    memory = [_bytes(each, data) for each in table["memory"]]
    arrays = [each for actor in actors for each in actor.arrays]
    arrays += [a for each in lattices for a in each.args if isinstance(a, SavedArray)]
    for array in arrays:
        _require(0 <= array.memory < len(memory), "an array without memory")
    physical, logical, lost, total = map(_number, table["facts"])
    _require(_number(table["next_number"]) < 1 << 63, "the number of the next actor")
    return Snapshot(
        device=_text(table["device"]),
        classes=layouts,
        topics=topics,
        subscriptions=subscriptions,
        actors=actors,
        lattices=lattices,
        memory=memory,
        dead=[(_number(actor), _bytes(each, data)) for actor, each in table["dead"]],
        facts=(physical, logical, lost, total),
        next_number=_number(table["next_number"]),
    )


def _actor(table: Any, data: memoryview) -> SavedActor:
    queues, options = table["queues"], table["options"]
    lists = {name: _items(queues[name], data) for name in ("inbox", "outbox", "outputs")}
    high, out_high = map(_count, queues["highs"])
    physical, logical, node = map(_number, table["clock"])
    counters = tuple(map(_number, table["counters"]))
    _require(len(counters) == len(COUNTERS), "the number of counters")
    tier, out_tier = map(_number, options["tiers"])
    _require({tier, out_tier} <= set(TIERS), "a tier of queues")
    _require(table["lifecycle"] in LIFECYCLES, "a state of the lifecycle")
    numbers = ("number", "message", "state", "replies", "threads")
    kept = {name: _number(table[name]) for name in numbers}
    return SavedActor(
        **kept,
        name=_text(table["name"]),
        handler=_text(table["handler"]),
        lifecycle=_text(table["lifecycle"]),
        options=Options(**options | {"tiers": (tier, out_tier)}),
        first=_bytes(table["first"], data),
        now=_bytes(table["now"], data),
        arrays=tuple([_array(each) for each in table["arrays"]]),
        queues=SavedQueues(
            **lists,
            handled=_count(queues["handled"]),
            headers=_bytes(queues["headers"], data),
            subscriber=_number(queues["subscriber"]),
            code=_code(queues["code"]),
            error=_text(queues["error"]),
            highs=(high, out_high),
        ),
        clock=(physical, logical, node),
        counters=counters,
    )


def _lattice(table: Any, data: memoryview) -> SavedLattice:
    settings: dict[str, Any] = {
        name: _text(table[name]) for name in ("name", "handler", "boundary", "lifecycle")
    }
    numbers: dict[str, Any] = {
        name: _number(table[name])
        for name in ("number", "state", "neighbours", "halo", "steps", "posted", "epoch")
    }
    _require(settings["lifecycle"] in LIFECYCLES, "a state of the lifecycle")
    _require(settings["boundary"] in ("zero", "fixed"), "a boundary")
    _require(all(isinstance(each, bool) for each in table["periodic"]), "an axis")
    args = [_array(each) if isinstance(each, dict) else _argument(each) for each in table["args"]]
    fields = tuple([(_text(name), _text(kind)) for name, kind in table["fields"]])
    values = tuple([_bytes(each, data) for each in table["values"]])
    _require(len(fields) == len(values), "the number of fields")
    return SavedLattice(
        **settings,
        **numbers,
        fields=fields,
        values=values,
        now=_bytes(table["now"], data),
        shape=tuple(map(_number, table["shape"])),
        periodic=tuple(table["periodic"]),
        args=tuple(args),
    )


def _argument(table: Any) -> tuple[str, Any]:
    kind, value = table
    number_of((kind, value))
    return kind, value


def _array(table: Any) -> SavedArray:
    shape, strides = tuple(map(_number, table["shape"])), tuple(map(_whole, table["strides"]))
    _require(len(shape) == len(strides), "an array's strides")
    _require(isinstance(table["readonly"], bool), "whether an array is read-only")
    _require(math.prod(shape) < 1 << 63, "an array's shape")
    return SavedArray(
        memory=_number(table["memory"]),
        offset=_number(table["offset"]),
        shape=shape,
        strides=strides,
        dtype=table["dtype"],
        readonly=table["readonly"],
    )


def _items(place: Any, data: memoryview) -> list[bytes]:
    whole, position, items = _bytes(place, data), 0, list[bytes]()
    while position < len(whole):
        (size,) = _SIZE.unpack_from(whole, position) if position + 8 <= len(whole) else (1 << 63,)
        position += _SIZE.size + size
        _require(position <= len(whole), "a message that is cut short")
        items.append(whole[position - size : position])
    return items


def _bytes(place: Any, data: memoryview) -> bytes:
    first, size = map(_number, place)
    _require(first + size <= len(data), "data behind the end of the file")
    return bytes(data[first : first + size])


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise TypeError(f"{value!r} is no number of 64 bits")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -1 << 63 <= value < 1 << 63:
        raise TypeError(f"{value!r} is no whole number of 64 bits")
    return value


def _count(value: Any) -> int:
    if _number(value) >= 1 << 32:
        raise ValueError(f"{value!r} is no number of 32 bits")
    return value


def _code(value: Any) -> int:
    if not -1 << 31 <= _whole(value) < 1 << 31:
        raise ValueError(f"{value!r} is no number of an error")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
