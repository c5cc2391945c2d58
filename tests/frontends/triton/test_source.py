"""Tile programs as sources of kernels: their keys and modules."""

from __future__ import annotations

import linecache
import types

import pytest
from tests.frontends.triton.running import OPTIONS, jit

import gridlane.frontends.triton.language as tl
from gridlane.core import argtypes
from gridlane.core.encoding import NotEncodable
from gridlane.frontends.triton.context import is_builtin
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.language.extra import libdevice
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.source import TileSource
from gridlane.ir.source import KernelSource

FLOATS = argtypes.float32[::1]

TEXT = """
FACTOR = tl.constexpr({factor})
settings = types.SimpleNamespace()
SIZES = (tl.constexpr(4), {size})


@jit
def scale(x):
    return x * {inner}


@jit
def program(data, COUNT: tl.constexpr):
    at = tl.arange(0, COUNT)
    tl.store(data + at, scale(tl.load(data + at)) * FACTOR)
"""


def source_of(constants=None, factor=2, inner=3, size=5, **options) -> TileSource:
    """The source of a program whose text has these numbers."""
    text = TEXT.format(factor=factor, inner=inner, size=size)
    file = f"<program {factor} {inner} {size}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = {"tl": tl, "jit": jit, "types": types}
    exec(compile(text, file, "exec", dont_inherit=True), names)  # what the program's module holds
    program = names["program"]
    assert isinstance(program, TileFunction)
    program.fn.__code__ = program.fn.__code__.replace(co_filename=file)
    return TileSource(program, constants or {"COUNT": 4}, **options)


def text_of(source: TileSource) -> str:
    """The key without the names of files, which differ."""
    from gridlane.ir.printer import print_module

    return print_module(source.translate((FLOATS,), OPTIONS))


def test_it_is_a_source():
    source: KernelSource = source_of()
    assert source.name == "program"
    assert source.parameters == ("data",)
    module = source.translate((FLOATS,), OPTIONS)
    assert module is source.translate((FLOATS,), OPTIONS)
    assert module.program_warps == 4
    assert module.kernel.is_kernel


@pytest.mark.parametrize(
    "other",
    [
        {"factor": 7},
        {"inner": 9},
        {"constants": {"COUNT": 8}},
        {"constants": {"COUNT": 4.0}},
        {"warps": 8},
        {"aligned": {"data": 16}},
        {"blocks": {"data": Block((4,))}},
        {"elements": {"data": tl.float8e5}},
    ],
    ids=str,
)
def test_the_key_has_what_the_module_depends_on(other):
    assert source_of().key() == source_of().key()
    assert source_of().key() != source_of(**other).key()


CONSTANT = tl.constexpr(3)


@jit
def reads_constant(data):
    tl.store(data, CONSTANT)


def test_a_constant_of_the_module_is_in_the_key():
    global CONSTANT
    before = TileSource(reads_constant).key()
    CONSTANT = tl.constexpr(4)
    after = TileSource(reads_constant).key()
    CONSTANT = tl.constexpr(3)
    assert before != after
    assert before == TileSource(reads_constant).key()


def test_functions_as_constants_are_in_the_key():
    @jit
    def applies(data, FUNCTION: tl.constexpr):
        tl.store(data, FUNCTION(tl.load(data)))

    @jit
    def first(x):
        return x + 1

    @jit
    def second(x):
        return x + 2

    keys = [
        TileSource(applies, {"FUNCTION": each}).key() for each in (first, second, tl.exp, tl.sin)
    ]
    assert len({*keys}) == 4


def test_what_has_no_encoding_has_no_key():
    @jit
    def takes(data, THING: tl.constexpr):
        tl.store(data, 1.0)

    with pytest.raises(NotEncodable):
        TileSource(takes, {"THING": object()}).key()


def test_pointers_have_the_alignment_that_is_known():
    source = source_of(aligned={"data": 16})
    (param,) = source.translate((FLOATS,), OPTIONS).kernel.params
    assert (param.align, param.path) == (16, ("data",))
    assert "align=16" in text_of(source)


@jit
def with_text(data):
    tl.store(data, GENERATED)  # noqa: F821


def test_a_function_with_another_text():
    function = TileFunction(with_text.fn)
    assert function.src.startswith("def with_text(data):")
    function.update_text(function.src.replace("GENERATED", "4.5"))
    assert "0x1.2" in text_of(TileSource(function))
    assert TileSource(function).key() != TileSource(with_text).key()


def test_functions_of_the_language_have_names_of_their_own():
    functions = [value for name in tl.__all__ if is_builtin(value := getattr(tl, name))]
    functions += [getattr(libdevice, name) for name in dir(libdevice)]
    names = {(each.__module__, each.__qualname__) for each in functions}
    assert len(names) == len({*functions})
