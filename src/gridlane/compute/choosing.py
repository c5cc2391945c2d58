"""Which order a nest's iterations run in: the cheapest by a count of launches and iterations."""

from __future__ import annotations

from dataclasses import replace

from gridlane.compute.emission import Emitted, Emitter
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import orders_of
from gridlane.compute.strides import Rates
from gridlane.compute.typing import Typing

SMALL = 4096
"""The extents up to which a kernel of one block runs in place of launches."""
_BETTER = 0.9
"""Of the text's cost, which another order needs."""


def choose(polyhedra: Polyhedra, typing: Typing, rates: Rates) -> tuple[Emitted, str]:
    """The kernels of the order that costs least, and the reason for it in comments.

    Args:
        rates: of the devices for which it is.
    """
    orders = orders_of(polyhedra)
    text = Emitter(polyhedra, typing, order=next(orders), rates=rates).emitted()
    found = [text]
    if not _is_settled(text):
        for order in orders:
            found.append(Emitter(polyhedra, typing, order=order, rates=rates).emitted())
    chosen = text
    for each in sorted(found, key=lambda each: each.cost):
        if each.cost >= _BETTER * text.cost:
            break
        if polyhedra.keeps(each.order.map):
            chosen = each
            break
    small = _small(polyhedra, typing, rates, [text, chosen, *found[1:3]])
    lines = [f"# {chosen.order.name}: cost {chosen.cost:.3g}"]
    lines += [
        f"# not {each.order.name}: cost {each.cost:.3g}" for each in found if each is not chosen
    ]
    if small is not None and small.cost < _BETTER * chosen.cost:
        lines.append(f"# up to {SMALL}, one block, {small.order.name}: cost {small.cost:.3g}")
        chosen = replace(chosen, small=small)
    return chosen, "\n".join(lines) + "\n"


def _small(
    polyhedra: Polyhedra, typing: Typing, rates: Rates, found: list[Emitted]
) -> Emitted | None:
    """The cheapest kernel of one block, where launches are in loops or loops are not parallel."""
    if all("for " not in each.host and all(k.spans for k in each.kernels) for each in found[:2]):
        return None
    orders = [each.order for each in {id(each): each for each in found}.values()]
    emitters = [Emitter(polyhedra, typing, False, each, rates, is_block=True) for each in orders]
    blocks = sorted([each.emitted() for each in emitters], key=lambda each: each.cost)
    return next((each for each in blocks if polyhedra.keeps(each.order.map)), None)


def _is_settled(text: Emitted) -> bool:
    """Whether no order is better: one launch of two or three parallel loops."""
    is_one = len(text.kernels) == 1 and len(text.kernels[0].spans) > 1
    return is_one and not text.is_strided and "for" not in text.host
