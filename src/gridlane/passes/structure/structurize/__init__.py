"""Turns control-flow graphs, stage ``cfg``, into structured control flow, stage ``kernel``.

The code of a block is followed by that of the blocks that it dominates: inside its branch, or
behind it in the order of the graph (N. Ramsey, "Beyond Relooper", ICFP 2022). So values stay values
if a block dominates their uses; others move to variables. Code at a merge of paths exists once, and
the threads of all paths reconverge in front of it. Code behind a loop runs when all threads have
left the loop.

There is no recursion over blocks, and the work is nearly linear in their number.
"""

from __future__ import annotations

from gridlane.ir.ops.control import Return
from gridlane.ir.ops.graph import Graph
from gridlane.ir.values import Function, Module
from gridlane.passes.structure.structurize.demotion import Uses
from gridlane.passes.structure.structurize.emission import Emission
from gridlane.passes.structure.structurize.flow import flow_of
from gridlane.passes.structure.structurize.nesting import separate_loops
from gridlane.passes.structure.structurize.placing import places_of
from gridlane.passes.structure.structurize.splitting import make_reducible


def structurize(program: Module | Function) -> None:
    """Turn the graphs of a module's functions, or of one, into structured control flow."""
    functions = program.functions.values() if isinstance(program, Module) else [program]
    for function in functions:
        graph = function.body.ops[-1] if function.body.ops else None
        if isinstance(graph, Graph):
            _structurize(function, graph)


def _structurize(function: Function, graph: Graph) -> None:
    flow = flow_of(function, graph)
    make_reducible(flow)
    separate_loops(flow)
    places = places_of(flow)
    uses = Uses(flow)
    unseen = {
        value: [node for node in users if not places.sees(node, uses.home[value])]
        for value, users in uses.users.items()
    }
    uses.demote({value: nodes for value, nodes in unseen.items() if nodes})
    body = Emission(flow, places).run()
    function.body.ops = [*flow.head, *body.ops]
    if function.is_kernel and isinstance(function.body.ops[-1], Return):
        function.body.ops.pop()
