"""Chosen orders on disk: those of nests whose sets, statements and types are the same, as isl takes
seconds for some. They are entries of the cache of compiled kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import islpy as isl

from gridlane.compiler.cache import default_cache, make_key
from gridlane.compiler.cache_key import source_digest
from gridlane.compute.choosing import choose
from gridlane.compute.combining import Way
from gridlane.compute.emitted import Emitted, KernelText, Span
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.compute.splitting import SplitText
from gridlane.compute.strides import Rates
from gridlane.compute.threads import target_of
from gridlane.compute.typing import Typing
from gridlane.core.artifact import Artifact

_FORMAT = "orders"


def chosen(polyhedra: Polyhedra, typing: Typing, rates: Rates) -> tuple[Emitted, str]:
    """As ``choosing.choose``: what is kept, or what is computed and kept then."""
    store = default_cache()
    if store is None:
        return choose(polyhedra, typing, rates)
    key = make_key(_sources(), *_facts(polyhedra, typing, rates))
    artifact = store.get(key)
    if artifact is not None and artifact.format == _FORMAT:
        try:
            return _decoded(json.loads(artifact.code))
        except (ValueError, KeyError, TypeError, isl.Error):
            pass  # of another's making: compute it again
    emitted, text = choose(polyhedra, typing, rates)
    code = json.dumps([_fields(emitted), text]).encode()
    name = polyhedra.nest.name
    store.put(key, Artifact("compute", _FORMAT, code, name, (), 0))
    return emitted, text


@cache
def _sources() -> bytes:
    """A digest of what chooses orders."""
    digest = source_digest(Path(__file__).parents[1], ("compute",))
    return digest + version("islpy").encode()


def _facts(polyhedra: Polyhedra, typing: Typing, rates: Rates) -> Iterator[str]:
    """All that the kernels of a nest depend on, as texts."""
    nest = polyhedra.nest
    yield repr((nest.name, nest.arguments, nest.extents, nest.variables, sorted(nest.weak)))
    yield repr([(name, str(type_)) for name, type_ in nest.tensors.items()])
    yield repr([(name, str(type_)) for name, type_ in nest.scalars.items()])
    yield repr([(name, str(typing.type_of(name))) for name in nest.variables])
    yield repr((sorted(nest.captured.items()), sorted(nest.names), dict(polyhedra.same)))
    yield repr(polyhedra.private)
    for each in nest.statements:
        loops = [(loop.name, loop.text, loop.downward, loop.parallel) for loop in each.loops]
        accesses = [(access.name, access.indices) for access in (each.write, *each.reads)]
        yield repr((each.name, loops, each.domain, each.place, each.operator, accesses))
        for own in (typing, typing.checked()):
            yield own.assignment(each, target_of(own, each))
            yield repr([own.test(test) for test in each.tests])
    yield repr(rates)


# ---- JSON

_KERNEL = "name", "text", "threads", "is_walk"
_SPAN = "name", "first", "last", "step"


def _fields(emitted: Emitted) -> dict[str, Any]:
    order = emitted.order
    kernels = [
        {
            **{name: getattr(each, name) for name in _KERNEL},
            "arguments": each.arguments,
            "loops": each.loops,
            "spans": [[getattr(span, name) for name in _SPAN] for span in each.spans],
            "splits": [_split_fields(split) for split in each.splits],
            "is_strided": each.is_strided,
            "notes": each.notes,
        }
        for each in emitted.kernels
    ]
    return {
        "kernels": kernels,
        "host": emitted.host,
        "cells": emitted.cells,
        "order": [order.name, str(order.map), order.count, order.tiles, sorted(order.strips)],
        "aligned": [emitted.aligned, order.shift, order.aligned],
        "cost": emitted.cost,
        "is_strided": emitted.is_strided,
        "strips": dict(emitted.strips),
        "small": None if emitted.small is None else _fields(emitted.small),
    }


def _decoded(value: Any) -> tuple[Emitted, str]:
    """The kernels and the reason.

    Raises:
        ValueError, KeyError, TypeError: the value is not of ``chosen``.
    """
    fields, text = value
    return _emitted(fields), _text(text)


def _emitted(fields: dict[str, Any]) -> Emitted:
    kernels: list[KernelText] = []
    for each in fields["kernels"]:
        spans = tuple(
            [Span(_text(n), _text(a), _text(z), _whole(s)) for n, a, z, s in each["spans"]]
        )
        kernels.append(
            KernelText(
                _text(each["name"]), _text(each["text"]), _texts(each["arguments"]), spans,
                _texts(each["loops"]), _whole(each["threads"]), bool(each["is_walk"]),
                tuple(map(_split, each["splits"])), bool(each["is_strided"]),
                _texts(each["notes"]),
            )
        )  # fmt: skip
    name, map_, count, tiles, strips = fields["order"]
    places = frozenset([_whole(each) for each in strips])
    aligned, *shift = _texts(fields["aligned"])
    whole = isl.UnionMap(_text(map_))
    order = Order(_text(name), whole, _whole(count), _whole(tiles), places, *shift)
    small = fields["small"]
    return Emitted(
        tuple(kernels),
        _text(fields["host"]),
        _texts(fields["cells"]),
        order,
        float(fields["cost"]),
        bool(fields["is_strided"]),
        None if small is None else _emitted(small),
        {_text(each): (_whole(n), _whole(size)) for each, (n, size) in fields["strips"].items()},
        aligned,
    )


def _split_fields(split: SplitText) -> dict[str, Any]:
    way = split.way
    return {
        "way": [way.is_lanes, way.threads, way.across, way.is_apart, way.order],
        "texts": split.texts,
        "names": split.names,
        "arguments": split.arguments,
        "count": split.count,
        "arrays": dict(split.arrays),
    }


def _split(fields: Any) -> SplitText:
    is_lanes, threads, across, is_apart, order = fields["way"]
    shape = _whole(threads), _whole(across)
    way = Way(bool(is_lanes), *shape, bool(is_apart), tuple(map(_whole, order)))
    arrays = {_text(name): _text(kind) for name, kind in fields["arrays"].items()}
    arguments = tuple(map(_texts, fields["arguments"]))
    texts, names = _texts(fields["texts"]), _texts(fields["names"])
    return SplitText(way, texts, names, arguments, _text(fields["count"]), arrays)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} is no text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple([_text(each) for each in value])


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value
