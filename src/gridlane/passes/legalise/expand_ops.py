"""Expands ops that a target does not emit, by each op's own ``expand``.

A long expansion is a library function, written once per module and called.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from gridlane.ir.op import REGISTRY, Op, clone_op
from gridlane.ir.ops import control, math, mbarriers, warpgroups
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Function, Module, Param, Region, Value
from gridlane.passes.legalise.library import LEAST_OPS, library_function

OF_BITS: frozenset[type[Op]] = frozenset((math.Frexp, math.Nextafter))
MBARRIERS: frozenset[type[Op]] = frozenset(
    (
        mbarriers.MbarrierInit,
        mbarriers.MbarrierArrive,
        mbarriers.MbarrierExpect,
        mbarriers.MbarrierComplete,
        mbarriers.MbarrierPassed,
        mbarriers.MbarrierPending,
    )
)
WARPGROUPS: frozenset[type[Op]] = frozenset(
    (
        warpgroups.WarpgroupMma,
        warpgroups.WarpgroupFence,
        warpgroups.WarpgroupCommit,
        warpgroups.WarpgroupWait,
        warpgroups.RegisterLimit,
    )
)
WAITS = MBARRIERS | {warpgroups.WarpgroupWait}
"""Ops by which the warps of a block wait for each other."""


def expand_warpgroups(module: Module) -> None:
    """Expand the products of warpgroups, and what orders them."""
    expand_ops(module, frozenset(REGISTRY.values()) - WARPGROUPS)


def expand_mbarriers(module: Module) -> None:
    """Expand mbarriers to words that threads change by compare-and-swap."""
    expand_ops(module, frozenset(REGISTRY.values()) - MBARRIERS)


def expand_waits(module: Module) -> None:
    """Expand the ops by which warps wait, in place, so that later passes find the loops in which
    threads poll. For a target that emits every op."""
    expand_ops(module, frozenset(REGISTRY.values()) - WAITS, calls=False)


def expand_ops(module: Module, emitted: Set[type[Op]], calls: bool = True) -> None:
    """Expand every op that has an expansion and is not in ``emitted``.

    It runs before all other passes, which therefore never see such ops.

    Args:
        calls: a large expansion becomes a function that is called.
    """
    functions = list(module.functions.values())
    met = {type(op) for function in functions for op in function.body.walk()}
    if any(cls.expands and cls not in emitted for cls in met):
        for function in functions:
            _Expansion(module, function, emitted, calls).region(function.body)


def functions_of_bits(module: Module) -> None:
    """Lower functions of a float's bits, which LLVM lacks, to those of ``legalise/math``."""
    for function in module.functions.values():
        if not OF_BITS.isdisjoint(map(type, function.body.walk())):
            from gridlane.passes.legalise.math import legalize_math  # few kernels need it

            legalize_math(module, lambda op, _: op not in OF_BITS)
            return


class _Expansion(Rewriter):
    def __init__(
        self, module: Module, function: Function, emitted: Set[type[Op]], calls: bool = True
    ) -> None:
        super().__init__(module, function)
        self.emitted, self.calls = emitted, calls

    def replaced(self, op: Op) -> Sequence[Value] | None:
        """An expansion may use ops that are expanded themselves."""
        if not op.expands or type(op) in self.emitted:
            return None
        with self.builder.inside(Region()) as region:
            results = op.expand(self.builder)
        self.region(region)
        if self.calls and sum(1 for _ in region.walk()) >= LEAST_OPS:
            call = self.called(op)
            self.builder.region.ops.append(call)
            return call.results
        self.builder.region.ops += region.ops
        return [self.now(value) for value in results]

    def called(self, op: Op) -> control.Call:
        """A call of the library function that holds the op's expansion."""
        facts = [str(getattr(op, name)) for name in op.PLAIN_FIELDS]
        types = [str(value.type) for value in op.operands()]
        name = ".".join(["gridlane", op.name, *facts, *types])
        function = library_function(self.module, name, lambda: self.written(op, name))
        return control.Call(name, tuple(op.operands()), function.results, loc=op.loc)

    def written(self, op: Op, name: str) -> Function:
        """Write the library function; its operands are unknown, so it serves every such op."""
        params = [Param(Value(value.type, None, f"x{n}")) for n, value in enumerate(op.operands())]
        function = Function(name, params, tuple([result.type for result in op.results]))
        general = clone_op(op, {}, {})
        values = iter([param.value for param in params])  # one value may be several operands
        general.replace_operands(lambda _: next(values))
        inner = _Expansion(self.module, function, self.emitted)
        with inner.builder.inside(function.body):
            inner.builder.return_(general.expand(inner.builder))
        inner.region(function.body)
        return function
