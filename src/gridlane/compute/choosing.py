"""Which order a nest's iterations run in: the cheapest by a count of launches and iterations."""

from __future__ import annotations

from dataclasses import replace

from gridlane.compute.emission import Emitter
from gridlane.compute.emitted import Emitted
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order, bounded, in_strips, orders_of
from gridlane.compute.strides import Rates
from gridlane.compute.tiling import orders_of_tiles
from gridlane.compute.typing import Typing

SMALL = 4096
"""The extents up to which a kernel of one block runs in place of launches."""
MOST_FOR_TILES = 40_000_000
"""isl's operations for the loops of tiles, after which there are none; some seconds."""
MOST_FOR_KEEPS = 100_000_000
"""isl's operations to check the dependences of an order, after which it is not used."""
_BETTER = 0.9
"""Of the text's cost, which another order needs."""


def choose(polyhedra: Polyhedra, typing: Typing, rates: Rates) -> tuple[Emitted, str]:
    """The kernels of the order that costs least, and the reason for it in comments.

    Args:
        rates: of the devices for which it is.
    """
    orders = orders_of(polyhedra)
    text = Emitter(polyhedra, typing, order=next(orders), rates=rates).emitted()
    found, given_up = [text], ""
    if not _is_settled(text):
        for order in orders:
            found.append(Emitter(polyhedra, typing, order=order, rates=rates).emitted())
        if rates.vector > 1:
            found += _in_strips(polyhedra, typing, rates, found)
            tiled, given_up = _tiled(polyhedra, typing, rates)
            found += tiled
    chosen = text
    for each in sorted(found, key=lambda each: each.cost):
        if each.cost >= _BETTER * text.cost:
            break
        if _keeps(polyhedra, each.order):
            chosen = each
            break
    small = _small(polyhedra, typing, rates, [text, chosen, *found[1:3]])
    lines = [f"# {chosen.order.name}: cost {chosen.cost:.3g}"]
    lines += [
        f"# not {each.order.name}: cost {each.cost:.3g}" for each in found if each is not chosen
    ]
    lines += [f"# {given_up}"] if given_up else []
    if small is not None and small.cost < _BETTER * chosen.cost:
        lines.append(
            f"# up to {SMALL}, {small.kernels[0].threads} threads, {small.order.name}: "
            f"cost {small.cost:.3g}"
        )
        chosen = replace(chosen, small=small)
    return chosen, "\n".join(lines) + "\n"


def _in_strips(
    polyhedra: Polyhedra, typing: Typing, rates: Rates, found: list[Emitted]
) -> list[Emitted]:
    """The kernels of the cheapest orders with parallel loops in strips, where those are better."""
    cheap = sorted(found, key=lambda each: each.cost)[:2]
    orders = [
        in_strips(polyhedra, each.order, each.strips, each.aligned) for each in cheap if each.strips
    ]
    return [Emitter(polyhedra, typing, order=each, rates=rates).emitted() for each in orders]


def _tiled(polyhedra: Polyhedra, typing: Typing, rates: Rates) -> tuple[list[Emitted], str]:
    """The kernels of an order of tiles, if isl has them within a number of operations, or why there
    are none."""
    given_up = "no tiles: isl has no loops that may change places, or needs more operations"
    for order in orders_of_tiles(polyhedra):
        given_up = f"no {order.name}: isl needs more than {MOST_FOR_KEEPS} operations to check them"
        if _keeps(polyhedra, order):
            with bounded(most=MOST_FOR_TILES) as is_done:
                emitted = Emitter(polyhedra, typing, order=order, rates=rates).emitted()
            if is_done():
                return [emitted], ""
            return [], f"no {order.name}: isl needs more than {MOST_FOR_TILES} operations"
    return [], given_up


def _keeps(polyhedra: Polyhedra, order: Order) -> bool:
    """Whether an order keeps all dependences, as far as isl finds out within a limit."""
    kept = False
    with bounded(most=MOST_FOR_KEEPS) as is_done:
        kept = polyhedra.keeps(order.map)
    return kept and is_done()


def _small(
    polyhedra: Polyhedra, typing: Typing, rates: Rates, found: list[Emitted]
) -> Emitted | None:
    """The cheapest kernel of one block, where launches are in loops or loops are not parallel."""
    if all("for " not in each.host and all(k.spans for k in each.kernels) for each in found[:2]):
        return None
    orders = [each.order for each in {id(each): each for each in found}.values()]
    emitters = [Emitter(polyhedra, typing, False, each, rates, is_block=True) for each in orders]
    if rates.vector > 1:
        emitters += [Emitter(polyhedra, typing, False, o, rates, is_single=True) for o in orders]
    blocks = sorted([each.emitted() for each in emitters], key=lambda each: each.cost)
    return next((each for each in blocks if _keeps(polyhedra, each.order)), None)


def _is_settled(text: Emitted) -> bool:
    """Whether no order is better: one launch of two or three parallel loops."""
    is_one = len(text.kernels) == 1 and len(text.kernels[0].spans) > 1
    return is_one and not text.is_strided and "for" not in text.host
