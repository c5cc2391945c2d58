"""The types of the engine that checkers see, and the table of its methods."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gridlane.actors import _engine

ROOT = Path(__file__).parents[3]
STUB = ROOT / "src" / "gridlane" / "actors" / "_engine.pyi"


def test_the_stub_has_the_names_of_the_module():
    tree = ast.parse(STUB.read_text())
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    assert len(classes) == 7
    for each in classes:
        names = {item.name for item in each.body if isinstance(item, ast.FunctionDef)}
        names |= {item.target.id for item in each.body if isinstance(item, ast.AnnAssign)}
        own = {name for name in vars(getattr(_engine, each.name)) if not name.startswith("__")}
        assert names - {"__init__"} == own, each.name
    functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    assert functions == {name for name in vars(_engine) if not name.startswith("_")} - {
        each.name for each in classes
    } - {"REASONS", "TO_OUTBOX", "C_API"}


def engine():
    made = _engine.Engine(1, 0, 1, 10**9, 8, 0)
    return made, made.actor(1, 2, 64, 4, 4, 64, 1, 2, 64, 0, 0)


def arguments(function):
    """As many arguments as the stub has, of its types."""
    values = {"int": 1, "float": 0.0, "bytes": b"", "Any": b"", "object": None, "type": int}
    return [values.get(ast.unparse(each.annotation)) for each in function.args.posonlyargs[1:]]


@pytest.mark.parametrize("kind", ["Actor", "Engine"])
def test_each_method_takes_the_parameters_of_the_stub(kind):
    """With one more, each method reports how many it takes; nothing is called."""
    owner, actor = engine()
    try:
        target = actor if kind == "Actor" else owner
        tree = ast.parse(STUB.read_text())
        members = next(each for each in tree.body if getattr(each, "name", "") == kind).body
        tried = 0
        for each in members:
            if not isinstance(each, ast.FunctionDef) or each.decorator_list:
                continue
            if each.name == "__init__":
                continue
            count = len(each.args.posonlyargs[1:])
            with pytest.raises(TypeError, match=rf"exactly |no arguments|{count} argument"):
                getattr(target, each.name)(*arguments(each), 1)
            tried += 1
        assert tried >= 28
    finally:
        owner.close()


def test_arguments_are_parsed_by_their_kinds():
    owner, actor = engine()
    try:
        with pytest.raises(TypeError, match="must be real number"):
            actor.hold("long")
        with pytest.raises(TypeError, match="bytes-like"):
            owner.post(actor, "text", 0.0, 0, 0, 0, 0, 0, 0, 0)
        with pytest.raises(TypeError, match="an actor of this engine"):
            owner.post(1, b"text", 0.0, 0, 0, 0, 0, 0, 0, 0)
        with pytest.raises(TypeError, match="must be list"):
            actor.load((), [], [], 0, b"", 0, 0, 0, 0)
        payload = bytearray(4)
        assert owner.post(actor, payload, 0.0, 0, 0, 0, 0, 0, 0, 0) in range(_engine.REASONS)
        payload.extend(b"more")  # which a buffer that is still held would refuse
        with pytest.raises(TypeError, match="an actor of this engine"):
            owner.post(1, payload, 0.0, 0, 0, 0, 0, 0, 0, 0)
        payload.extend(b"more")
    finally:
        owner.close()


def test_an_engine_from_before_a_fork_is_refused():
    from gridlane.actors.errors import ActorError

    owner, actor = engine()
    owner.abandon()
    for call in (actor.schedule, owner.facts, lambda: actor.stop(1), lambda: owner.take(0.0)):
        with pytest.raises(ActorError, match="from before a fork"):
            call()
