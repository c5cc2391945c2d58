"""The analysis of names takes steps in proportion to the function, however deep it is nested."""

from __future__ import annotations

import ast
import sys

import pytest

from gridlane.frontends.python.liveness import analyse


def steps(source: str) -> int:
    """How many functions of Python the analysis calls; it stops at a million."""
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    count = 0

    def step(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1
        assert count < 1_000_000, "too many steps"

    sys.setprofile(step)
    try:
        analyse(node.body, node)
    finally:
        sys.setprofile(None)
    return count


def lambdas(count: int) -> str:
    body = "(lambda p: " * count + "p + n" + ")(1)" * count
    return f"def f(n):\n    return {body}\n"


def branches(count: int) -> str:
    tests = "".join(f"    elif n == {k}:\n        m = {k}\n" for k in range(count))
    return f"def f(n):\n    if n < 0:\n        m = n\n{tests}    return m\n"


def loops(count: int) -> str:
    heads = "".join(f"{'    ' * k}for i{k} in range(n):\n" for k in range(1, count + 1))
    return f"def f(n):\n    m = 0\n{heads}{'    ' * (count + 1)}m += 1\n    return m\n"


@pytest.mark.parametrize("write", [branches, lambdas], ids=lambda f: f.__name__)
def test_names_of_nested_parts(write):
    assert steps(write(80)) < 5 * steps(write(20))


def test_nested_loops():
    """A loop's names are found by passes over it, some for each loop around it."""
    assert steps(loops(20)) < 6 * steps(loops(10))
