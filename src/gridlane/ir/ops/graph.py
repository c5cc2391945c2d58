"""A control-flow graph: blocks and the branches between them.

Only stage ``cfg`` has these ops. ``passes/structure/structurize.py`` replaces them by structured
control flow.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.core.dtypes import DType, b1
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.values import Region, Value


@operation("graph")
class Graph(Op):
    """Run the first ``block`` of ``body``, then those that its branches go to. It is the last op of
    a function's body, and control does not reach its end.

    A value of a block is visible in all blocks that the block dominates.
    """

    body: Region

    def blocks(self) -> Iterator[Block]:
        """The blocks, the entry first."""
        for op in self.body.ops:
            assert isinstance(op, Block)
            yield op

    def check(self, scope: Scope) -> None:
        is_last = not scope.ancestors and scope.function.body.ops[-1] is self
        self.require(is_last, "is the last op of a function's body")
        self.require(bool(self.body.ops), "has no block")
        for op in self.body.ops:
            self.require(isinstance(op, Block), f"holds blocks only, not {op.name}")
        labels: set[int] = set()
        for block in self.blocks():
            block.require(block.label not in labels, f"a second block {block.label}")
            labels.add(block.label)
        for block in self.blocks():
            ops = block.body.ops
            ends = bool(ops) and ops[-1].terminator
            block.require(ends, f"block {block.label} does not end in a terminator")
            for target in successors(block):
                ops[-1].require(target in labels, f"no block {target}")


@operation("block")
class Block(Op):
    """Straight-line code that ends in a terminator. Branches name it by ``label``."""

    label: int
    body: Region

    def check(self, scope: Scope) -> None:
        self.require(_directly_in(scope, Graph), "stands outside a graph")


class _Jump(Op):
    """A terminator that branches to other blocks."""

    __slots__ = ()
    terminator = True

    def goals(self) -> tuple[int, ...]:
        """The labels of the successors, in order, with repetitions."""
        raise NotImplementedError

    def check(self, scope: Scope) -> None:
        self.require(_directly_in(scope, Block), "stands outside a block")


@operation("branch")
class Branch(_Jump):
    """Go to block ``target``."""

    target: int

    def goals(self) -> tuple[int, ...]:
        return (self.target,)


@operation("branch_if")
class BranchIf(_Jump):
    """Go to block ``then`` where the condition holds, to ``orelse`` where it does not."""

    condition: Value
    then: int
    orelse: int

    def goals(self) -> tuple[int, ...]:
        return self.then, self.orelse

    def check(self, scope: Scope) -> None:
        self.require(_directly_in(scope, Block), "stands outside a block")
        self.require(self.condition.type is b1, "the condition is a b1")


@operation("switch")
class Switch(_Jump):
    """Go to block ``targets[index]``, or to ``default`` for an index out of its range."""

    index: Value
    targets: tuple[int, ...]
    default: int

    def goals(self) -> tuple[int, ...]:
        return *self.targets, self.default

    def check(self, scope: Scope) -> None:
        self.require(_directly_in(scope, Block), "stands outside a block")
        type_ = self.index.type
        self.require(isinstance(type_, DType) and type_.is_integer, f"{type_} is no index")


def successors(block: Block) -> tuple[int, ...]:
    """The labels of a block's successors, each once."""
    last = block.body.ops[-1]
    return tuple(dict.fromkeys(last.goals())) if isinstance(last, _Jump) else ()


def _directly_in(scope: Scope, kind: type[Op]) -> bool:
    return bool(scope.ancestors) and isinstance(scope.ancestors[-1], kind)
