"""Functions that rows of the table describe whole, and the words that these may have."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections import Counter
from dataclasses import replace

import pytest

from gridlane.abi.calls import rows
from gridlane.abi.calls.registry import calls
from gridlane.abi.calls.rows import call_of
from gridlane.abi.calls.words import WORDS, word
from gridlane.abi.state.handles import Handles
from gridlane.core.cuda_table import functions

FLAGS = functions("driver")["cuStreamGetFlags"]
ROWS = {
    name: row
    for api in ("driver", "runtime", "nvrtc")
    for name, row in functions(api).items()
    if row.does
}


def compiled(does, row=FLAGS):
    return call_of("cuStreamGetFlags", replace(row, does=does), calls("driver").get)


@pytest.mark.parametrize(
    "does, why",
    [
        ("stream(hStream)[0]", "has stream"),
        ("stream(hStream).__class__", "has stream"),
        ("stream(handle=hStream)", "has stream"),
        ("stream(*hStream)", "has \\*hStream"),
        ("hStream + 1", "has hStream"),
        ("(lambda: hStream)()", "has "),
        ("(lambda each: hStream)(1)", "has "),
        ("stream(hStream, lambda: 1)", "has lambda"),
        ("stream(hStream, lambda each, other: 1)", "has lambda"),
        ("stream(hStream, lambda *each: 1)", "has lambda"),
        ("stream(hStream, lambda each, *rest: 1)", "has lambda"),
        ("stream(hStream, lambda each=1: 1)", "has lambda"),
        ("stream(hStream, lambda each: other)", "other, which is"),
        ("len(lambda each: hStream, each)", "each, which is"),
        ("hStream = 1", "is a statement"),
        ("del hStream; 1", "is a statement"),
        ("stream(hStream) and 1", "has "),
        ("hStream(1)", "hStream, which is no parameter, no word"),
        ("open(hStream)", "open, which is"),
        ("stream(other)", "other, which is"),
        ("cuStreamNone(hStream)", "cuStreamNone, which is"),
        ("1.5", "has 1.5"),
        ("from_", "from_, which is"),
        ("stream(2)", "does not use hStream"),
        ("stream(hStream", "never closed"),
    ],
)
def test_what_a_row_may_not_have(does, why):
    with pytest.raises((ValueError, SyntaxError), match=why):
        compiled(does)


def test_what_a_row_returns():
    assert compiled("hStream")(7) == 7
    no_result = replace(FLAGS, outs=(), given=())
    assert compiled("len(hStream, flags)", no_result).__doc__ == FLAGS.about
    assert compiled("hStream", replace(no_result, parameters=FLAGS.parameters[:1]))(7) is None


def test_what_comes_before_a_result_is_done_in_order():
    given = []
    own = {"check": given.append, "later": lambda function: function(3)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "WORDS", own)
        patch.setattr(rows, "word", own.__getitem__)
        assert compiled('check(hStream); check("b"); hStream, 2')(7) == (7, 2)
        assert compiled("check(1) if hStream else 5")(0) == 5
        assert compiled("later(lambda each: (each, hStream))")(8) == (3, 8)
    assert given == [7, "b"]


def test_a_name_alone_is_the_same_function():
    same = calls("driver")["cuStreamGetFlags"]
    assert calls("runtime")["cudaStreamGetFlags"] is same
    assert (same.__name__, same.__doc__) == ("cuStreamGetFlags", "The flags of a stream.")


def test_each_row_compiles():
    assert len(ROWS) > 200
    for name, row in ROWS.items():
        assert callable(calls(row.api)[name])


def test_each_word_is_used():
    names = {
        node.id
        for row in ROWS.values()
        for node in ast.walk(ast.parse(row.does.replace("@", "")))
        if isinstance(node, ast.Name)
    }
    assert set(WORDS) - names == set()


# --- what pyright checks of functions: the number of arguments, and what has an attribute ---


def result_of(value):
    """The class that a call returns, by its annotation; None where that is no class."""
    if inspect.isclass(value):
        return value
    if isinstance(owner := getattr(value, "__self__", None), Handles):
        (kind,) = typing.get_args(owner.__orig_class__)
        return kind
    try:
        result = typing.get_type_hints(value).get("return")
    except (NameError, TypeError):  # a name for type checkers alone; a function of C
        return None
    return result if inspect.isclass(result) else None


def member(owner, name, tried):
    """A method of a class, or the class of a field; None if nothing is known of the owner."""
    if owner is None or owner in (object, int, bytes):
        return None
    found = inspect.getattr_static(owner, name, None)
    fields = {}
    for each in owner.__mro__:
        try:
            fields |= typing.get_type_hints(each)
        except NameError:
            fields |= dict.fromkeys(each.__annotations__)
    sources = "".join(map(inspect.getsource, owner.__mro__[:-1]))
    is_set = re.search(rf"self\.{name}\b[^(\n]* = ", sources)
    assert found is not None or name in fields or is_set, f"{owner.__name__} has no {name}"
    tried[owner.__name__] += 1
    if isinstance(found, property):
        return result_of(found.fget)
    if inspect.isfunction(found):
        return found
    return fields.get(name) if inspect.isclass(fields.get(name)) else None


def kind_of(node, tried):
    """The class of an expression's value, as far as annotations tell."""
    if isinstance(node, ast.Attribute):
        return member(kind_of(node.value, tried), node.attr, tried)
    if isinstance(node, (ast.Tuple, ast.IfExp, ast.Lambda)):
        for each in ast.iter_child_nodes(node):
            kind_of(each, tried)
    if not isinstance(node, ast.Call):
        return None
    for each in node.args:
        kind_of(each, tried)
    if isinstance(node.func, ast.Attribute):
        method = member(kind_of(node.func.value, tried), node.func.attr, tried)
        if method is not None:
            inspect.signature(method).bind(None, *node.args)
            return result_of(method)
        return None
    name = node.func.id
    function = word(name) if name in WORDS else calls("driver").get(name) or calls("runtime")[name]
    inspect.signature(function).bind(*node.args)
    tried["calls"] += 1
    return result_of(function)


def test_words_have_these_arguments_and_their_results_these_attributes():
    tried = Counter()
    for name, row in ROWS.items():
        try:
            for step in ast.parse(row.does.replace("@", "")).body:
                kind_of(step.value, tried)
        except (AssertionError, TypeError) as error:
            raise AssertionError(f"{name}: {error}") from error
    assert tried["calls"] > 150
    assert tried["Stream"] >= 5
    assert len(tried) > 10


@pytest.mark.parametrize(
    "does, why",
    [
        ("stream(hStream).flag", "Stream has no flag"),
        ("stream(hStream, 1).flags", "too many"),
        ("executable(hStream).launch()", "missing"),
    ],
)
def test_that_check_finds_a_mistake(does, why):
    with pytest.raises((AssertionError, TypeError), match=why):
        kind_of(ast.parse(does, mode="eval").body, Counter())
