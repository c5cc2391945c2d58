"""Which order a nest's iterations run in: the cheapest by a count of launches and iterations."""

from __future__ import annotations

from gridlane.compute.emission import Emitted, Emitter
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import orders_of
from gridlane.compute.strides import Rates
from gridlane.compute.typing import Typing

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
    lines = [f"# {chosen.order.name}: cost {chosen.cost:.3g}"]
    lines += [
        f"# not {each.order.name}: cost {each.cost:.3g}" for each in found if each is not chosen
    ]
    return chosen, "\n".join(lines) + "\n"


def _is_settled(text: Emitted) -> bool:
    """Whether no order is better: one launch of two or three parallel loops."""
    is_one = len(text.kernels) == 1 and len(text.kernels[0].spans) > 1
    return is_one and not text.is_strided and "for" not in text.host
