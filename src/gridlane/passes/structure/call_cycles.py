"""Which functions of a module call which, and those that call each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gridlane.ir.ops import control
from gridlane.ir.values import Module


def callees(module: Module, name: str) -> list[str]:
    """The functions that a function calls, each once."""
    walked = module.functions[name].body.walk()
    return list(dict.fromkeys(op.callee for op in walked if isinstance(op, control.Call)))


def cycles_of(calls: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The sets of functions that call each other, callees first, by R. Tarjan's algorithm.

    >>> [sorted(each) for each in cycles_of({"a": ["b"], "b": ["c", "c"], "c": ["b"], "d": ["d"]})]
    [['b', 'c'], ['d']]
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    cycles: list[set[str]] = []
    for root in calls:
        if root in number:
            continue
        path = [(root, iter(calls[root]))]
        number[root] = low[root] = len(number)
        open_.append(root)
        while path:
            name, following = path[-1]
            callee = next(following, None)
            if callee is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == number[name]:
                    start = open_.index(name)
                    members = set(open_[start:])
                    del open_[start:]
                    if len(members) > 1 or name in calls[name]:
                        cycles.append(members)
            elif callee not in number:
                number[callee] = low[callee] = len(number)
                open_.append(callee)
                path.append((callee, iter(calls[callee])))
            elif callee in open_:
                low[name] = min(low[name], number[callee])
    return cycles
