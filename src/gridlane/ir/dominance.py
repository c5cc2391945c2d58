"""Dominators of a graph whose nodes are numbers.

The algorithm is that of T. Lengauer and R. E. Tarjan, "A fast algorithm for finding dominators in a
flowgraph", ACM TOPLAS 1(1), 1979, in its simple form, without recursion: O(m log n).
"""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.frozen import frozen

Edges = Sequence[Sequence[int]]
"""The successors of each node."""


@frozen
class Dominators:
    """The dominator tree.

    Attributes:
        parent: the immediate dominator of each node; -1 for the root and for unreachable nodes.
        children: of each node in the tree.
        order: the reachable nodes, each before those that it dominates.
        first, last: of each reachable node, its place in ``order`` and that of the last node that
            it dominates; -1 for others.
    """

    parent: list[int]
    children: list[list[int]]
    order: list[int]
    first: list[int]
    last: list[int]

    def dominates(self, a: int, b: int) -> bool:
        """Whether each path from the root to ``b`` contains ``a``; a node dominates itself."""
        return self.first[a] <= self.first[b] <= self.last[a]


def dominators(edges: Edges, root: int = 0) -> Dominators:
    """The dominators of the nodes that are reachable from the root."""
    parent = _immediate(edges, root)
    children: list[list[int]] = [[] for _ in edges]
    for node, above in enumerate(parent):
        if above >= 0:
            children[above].append(node)
    order: list[int] = []
    first, last = [-1] * len(edges), [-1] * len(edges)
    stack = [root]
    while stack:
        node = stack.pop()
        first[node] = len(order)
        order.append(node)
        stack += reversed(children[node])
    for node in reversed(order):
        last[node] = last[children[node][-1]] if children[node] else first[node]
    return Dominators(parent, children, order, first, last)


def depth_first(edges: Edges, root: int = 0) -> tuple[list[int], list[int], list[int]]:
    """A depth-first search: the nodes in preorder, the nodes in postorder, and each node's parent
    in the search (-1 for the root and for unreachable nodes)."""
    preorder, postorder = [root], list[int]()
    parent = [-1] * len(edges)
    seen = [False] * len(edges)
    seen[root] = True
    stack = [(root, iter(edges[root]))]
    while stack:
        node, following = stack[-1]
        for goal in following:
            if not seen[goal]:
                seen[goal] = True
                parent[goal] = node
                preorder.append(goal)
                stack.append((goal, iter(edges[goal])))
                break
        else:
            postorder.append(node)
            stack.pop()
    return preorder, postorder, parent


def _immediate(edges: Edges, root: int) -> list[int]:
    """The immediate dominator of each node. Within, nodes are numbered in preorder."""
    preorder, _, above = depth_first(edges, root)
    number = [-1] * len(edges)
    for index, node in enumerate(preorder):
        number[node] = index
    parent = [number[above[node]] if above[node] >= 0 else -1 for node in preorder]
    before: list[list[int]] = [[] for _ in preorder]
    for index, node in enumerate(preorder):
        for goal in edges[node]:
            before[number[goal]].append(index)
    forest = _Forest(len(preorder))
    semi, dominator = forest.semi, [0] * len(preorder)
    waiting: list[list[int]] = [[] for _ in preorder]
    for node in range(len(preorder) - 1, 0, -1):
        semi[node] = min(semi[forest.least(other)] for other in before[node])
        waiting[semi[node]].append(node)
        forest.ancestor[node] = parent[node]
        for other in waiting[parent[node]]:
            least = forest.least(other)
            dominator[other] = least if semi[least] < semi[other] else parent[node]
        waiting[parent[node]].clear()
    result = [-1] * len(edges)
    for node in range(1, len(preorder)):
        if dominator[node] != semi[node]:
            dominator[node] = dominator[dominator[node]]
        result[preorder[node]] = preorder[dominator[node]]
    return result


class _Forest:
    """The part of the search tree that is linked so far, with compressed paths.

    Attributes:
        semi: the semidominator of each node, which starts as the node itself.
        ancestor: of each linked node, -1 of the roots.
    """

    def __init__(self, count: int) -> None:
        self.semi = list(range(count))
        self.ancestor = [-1] * count
        self._label = list(range(count))

    def least(self, node: int) -> int:
        """The node of least semidominator on the path from ``node`` to its root, without the
        root."""
        ancestor, label, semi = self.ancestor, self._label, self.semi
        path: list[int] = []
        while ancestor[node] >= 0 and ancestor[ancestor[node]] >= 0:
            path.append(node)
            node = ancestor[node]
        for inner in reversed(path):
            up = ancestor[inner]
            if semi[label[up]] < semi[label[inner]]:
                label[inner] = label[up]
            ancestor[inner] = ancestor[up]
        return label[path[0] if path else node]
