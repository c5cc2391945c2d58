"""The values that the loops of an order have in all threads."""

from __future__ import annotations

import islpy as isl

from gridlane.compute.emitted import Span
from gridlane.compute.expressions import IF, python
from gridlane.compute.splitting import Source
from gridlane.compute.tree import Loop

_KIND = isl.dim_type


def span_of(source: Source, loop: Loop, inside: set[str]) -> Span:
    """The values of a loop of all threads, whatever the other loops of the band are."""
    dimension, letter = source.dimension(loop.name), source.letter
    wanted = [s for s in source.nest.statements if s.name in inside]
    domains = [isl.UnionSet.from_set(source.polyhedra.domain(s)) for s in wanted]
    whole = domains[0]
    for each in domains[1:]:
        whole = whole.union(each)
    points = isl.Set.from_union_set(whole.apply(source.order.map))
    hosts = [source.dimension(each) for each in source.outer]
    for shift, each in enumerate(sorted(hosts)):
        place = points.dim(_KIND.param)
        points = points.move_dims(_KIND.param, place, _KIND.set, each - shift, 1)
        points = points.set_dim_name(_KIND.param, place, f"{letter}{each}")
    place = dimension - sum(each < dimension for each in hosts)
    context = source.polyhedra.context
    if source.order.tiles:
        return _of_tiles(loop, points, place, context)
    ends: list[str] = []
    for bound in (points.dim_min(place), points.dim_max(place)):
        build = isl.AstBuild.from_context(context)
        ends.append(python(build.expr_from_pw_aff(bound.coalesce())))
    return Span(loop.name, ends[0], ends[1], loop.step)


def _of_tiles(loop: Loop, points: isl.Set, place: int, context: isl.Set) -> Span:
    """The same of a set around the values that has one part: threads test where they are."""
    points = points.remove_divs()
    after = points.dim(_KIND.set) - place - 1
    points = points.project_out(_KIND.set, place + 1, after).project_out(_KIND.set, 0, place)
    hull = isl.Set.from_basic_set(points.remove_divs().simple_hull())
    build = isl.AstBuild.from_context(context)
    node = build.node_from_schedule_map(isl.UnionMap.from_map(hull.identity()))
    while node.get_type() == IF:
        node = node.if_get_then_node()
    values = Loop(node)
    return Span(loop.name, values.first, f"({values.end}) - 1", loop.step)
