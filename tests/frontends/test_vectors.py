"""Short vectors in kernels: constructors, swizzles and arithmetic, against numpy."""

from __future__ import annotations

import itertools
import linecache
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.frontends.running import device, launch, result_type, text_of
from tests.peers import numba_ptx, numba_vectors

import gridlane
from gridlane import cuda
from gridlane.core.argtypes import VECTORS, float32, int32, int64, uint8
from gridlane.core.errors import CompileError, ConstantError, TypingError
from gridlane.core.options import KernelOptions
from gridlane.core.vector_names import ELEMENTS, NAMES
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.frontends.python.translation import translate

F4, F2, I3, B4 = (VECTORS[name] for name in ("float32x4", "float32x2", "int32x3", "uint8x4"))
_numbers = itertools.count()


def function_of(parameters: str, *lines: str):
    """A function of some lines, whose source is registered like a file's."""
    file = f"<vectors {next(_numbers)}>"
    text = "\n    ".join([f"def kernel({parameters}):", *lines]) + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"cuda": cuda}
    exec(compile(text, file, "exec"), space)
    return space["kernel"]


# ---- constructors and swizzles


@st.composite
def constructors(draw):
    """(an expression that makes a vector of the names a to d and numbers, the components)"""
    names = {"a": 1, "b": 2, "c": 3, "d": 4}
    values = {"a": (1,), "b": (2, 3), "c": (4, 5, 6), "d": (7, 8, 9, 10)}

    def vector(count: int, depth: int) -> tuple[str, tuple[int, ...]]:
        parts, left = [], count
        while left:
            size = draw(st.integers(1, left))
            left -= size
            kind = draw(st.sampled_from(["name", "swizzle", "number", "nested"]))
            if kind == "number" and size == 1:
                number = draw(st.integers(0, 99))
                parts.append((str(number), (number,)))
            elif kind == "nested" and depth:
                parts.append(vector(size, depth - 1))
            elif kind == "name":
                name = next(each for each, length in names.items() if length == size)
                parts.append((name, values[name]))
            else:
                name = draw(st.sampled_from(sorted(names)))
                letters = draw(st.sampled_from(["xyzw", "rgba"]))[: names[name]]
                picks = draw(st.lists(st.sampled_from(letters), min_size=size, max_size=size))
                found = tuple(values[name][letters.index(letter)] for letter in picks)
                parts.append((f"{name}.{''.join(picks)}", found))
        text = ", ".join(part for part, _ in parts)
        return f"cuda.float32x{count}({text})", tuple(n for _, part in parts for n in part)

    return vector(draw(st.integers(1, 4)), 2)


@given(constructors())
@settings(max_examples=examples(40, 1000), deadline=None)
def test_constructors_in_any_split(case):
    expression, wanted = case
    given_ = "a, b, c, d = cuda.int1(1), cuda.float2(2, 3), cuda.uchar3(4, 5, 6), D"
    kernel = function_of(
        "out",
        given_.replace("D", "cuda.make_double4(7, 8, 9, 10)"),
        f"v = {expression}",
        "for k in range(len(v)):",
        "    out[k] = v[k]",
        "    out[4 + k] = v[-1 - k]",
    )
    out = np.zeros(8, np.float32)
    launch(kernel, 1, 1, out)
    count = len(wanted)
    assert out[:count].tolist() == list(wanted)
    assert out[4 : 4 + count].tolist() == list(wanted)[::-1]


def test_unpacking_iteration_and_slices():
    def plain(out, vectors):
        v = vectors[0]
        x, y, z, w = v
        out[0] = x - y
        for n, item in enumerate(v):
            out[1] += n * item
        total = 0
        for item in reversed(v[1:]):
            total = total * 10 + item
        out[2] = total
        out[3] = sum(v) + max(v) - min(v[:2])
        out[4] = 3 in (z, w) and 5 in v
        pair = (v, v.xy)
        out[5] = pair[1].y + pair[0][-1]

    out = np.zeros(6)
    launch(plain, 1, 1, out, np.array([(2, 3, 4, 5)], F4.dtype))
    assert out.tolist() == [-1, 26, 543, 17, 0, 8]


# ---- arithmetic

BINARY = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "min", "max")
SMALL = {"u": st.integers(0, 9), "i": st.integers(-9, 9), "f": st.integers(-9, 9)}


def applied(symbol: str, lhs: str, rhs: str) -> str:
    return f"{symbol}({lhs}, {rhs})" if symbol.isalpha() else f"{lhs} {symbol} {rhs}"


@st.composite
def sums(draw):
    symbol = draw(st.sampled_from(BINARY))
    whole = symbol in ("&", "|", "^", "<<", ">>")
    names = [name for name in ELEMENTS if not (whole and "float" in name)]
    kinds = [draw(st.sampled_from(names)) for _ in range(2)]
    count, spread = draw(st.integers(1, 4)), draw(st.sampled_from(["", "left", "right"]))
    numbers = [np.dtype(kind).kind for kind in kinds]
    low = 0 if symbol in ("**", "<<", ">>") else -9
    rows = []
    for kind in numbers:
        item = SMALL[kind].map(lambda n: max(n, low))
        rows.append(draw(st.lists(item, min_size=count, max_size=count)))
    return symbol, kinds, count, spread, rows


@given(sums())
@settings(max_examples=examples(80, 3000), deadline=None)
def test_operators_work_on_each_component(case):
    """As the same operator on numbers, which other tests compare with numba: type and value."""
    symbol, kinds, count, spread, rows = case
    vectors = [VECTORS[f"{kind}x{count}"] for kind in kinds]
    sides = ["v.x" if spread == "left" else "v", "w.x" if spread == "right" else "w"]
    letters = [("x" if spread == "left" else c, "x" if spread == "right" else c) for c in "xyzw"]
    pairs = [applied(symbol, f"v.{a}", f"w.{b}") for a, b in letters[:count]]
    if spread and count == 1:
        sides = ["v", "w.x"]
    both = function_of("v, w", f"return {applied(symbol, *sides)}")
    one = function_of("v, w", f"return {applied(symbol, 'v.x', 'w.x')}")
    found, number = result_type(both, *vectors), result_type(one, *vectors)
    assert str(found) == f"{number}x{count}"
    kernel = function_of(
        "out, each, v, w",
        f"out[0] = {applied(symbol, *sides)}",
        *[f"each[{n}] = {pair}" for n, pair in enumerate(pairs)],
    )
    out, each = np.zeros(1, found.dtype), np.zeros(count, number.numpy)
    arguments = [kind(*row) for kind, row in zip(vectors, rows, strict=True)]
    launch(kernel, 1, 1, out, each, *arguments)
    assert out.tobytes() == each.tobytes()


NUMPY = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "max": np.maximum}


@pytest.mark.parametrize("symbol", NUMPY)
@pytest.mark.parametrize("name", ["int64x3", "float32x2", "float64x4"])
def test_arithmetic_against_numpy(symbol, name):
    kind = VECTORS[name]
    rows = np.arange(1, 2 * kind.count + 1).reshape(2, -1).astype(kind.element.numpy)
    function = function_of("v, w", f"return {applied(symbol, 'v', 'w')}")
    wanted = NUMPY[symbol](*rows)
    found = result_type(function, kind, kind)
    assert found.element.numpy == wanted.dtype
    kernel = function_of("out, v, w", f"out[0] = {applied(symbol, 'v', 'w')}")
    out = np.zeros(1, found.dtype)
    launch(kernel, 1, 1, out, *[kind(*row) for row in rows])
    np.testing.assert_array_equal(out.view(wanted.dtype), wanted)


def test_types_by_numbas_rules():
    def twice(v):
        return v * 2.0

    def joined(v, n):
        for _ in range(n):
            v *= 0.5
        return v

    @device
    def swapped(v):
        return v.yx, -v, ~v if False else +v

    def calls(v):
        return swapped(v)

    def kept(v):
        return v * float32(2)

    assert str(result_type(twice, F4)) == "float64x4"
    assert str(result_type(kept, F4)) == "float32x4"
    assert str(result_type(joined, F4, int64)) == "float64x4"
    assert str(result_type(calls, F2)) == "Tuple(float32x2, float32x2, float32x2)"
    assert str(result_type(twice, I3)) == "float64x3"


def test_equality():
    def kernel(out, v, w):
        out[0] = v == w
        out[1] = v != w
        out[2] = v == v.xyzw
        out[3] = v.xy != v.yy
        out[4] = v.rgb == cuda.int3(1, 2, 3)
        out[5] = w == w

    out = np.zeros(6)
    launch(kernel, 1, 1, out, F4(1, 2, 3, 4), F4(1, 2, np.nan, 4))
    assert out.tolist() == [0, 1, 1, 1, 1, 0]


# ---- errors


def no_component(v, n):
    v.zw


def unknown_letter(v, n):
    v.xq


def capital(v, n):
    v.X


def mixed_letters(v, n):
    v.xg


def too_long(v, n):
    v.xyxyx


def too_many(v, n):
    cuda.float32x3(v, v)


def too_few(v, n):
    cuda.float4(n)


def from_a_tuple(v, n):
    cuda.float2((1, 2))


def with_keywords(v, n):
    cuda.float2(x=1, y=2)


def other_length(v, n):
    v + cuda.float3(1, 2, 3)


def with_a_tuple(v, n):
    v * (1, 2)


def order(v, n):
    v < v


def with_a_number(v, n):
    v == n


def truth(v, n):
    if v:
        pass


def component_assigned(v, n):
    v.y = 1


def item_assigned(v, n):
    v[0] = 1


def out_of_range(v, n):
    v[2]


def stored_number(v, n):
    a = cuda.local.array(1, cuda.float4)
    a[0] = n


def stored_length(v, n):
    a = cuda.local.array(1, cuda.float4)
    a[0] = v


def atomic_of_vectors(v, n):
    a = cuda.local.array(1, cuda.float4)
    cuda.atomic.add(a, 0, v)


def float_bits(v, n):
    v & v


def joined_lengths(v, n):
    if n:
        v = v.xyx
    return v.x


CASES = [
    (no_component, "float32x2 has no component 'zw'; it has x, y", "v.zw"),
    (unknown_letter, "and swizzles of them: did you mean .x", "v.xq"),
    (capital, "did you mean .x?", "v.X"),
    (mixed_letters, "float32x2 has no component 'xg'", "v.xg"),
    (too_long, "a swizzle has 4 letters at the most", "v.xyxyx"),
    (too_many, "takes 3 components, but (float32x2, float32x2) has 4", "cuda.float32x3(v, v)"),
    (too_few, "for one number in all, write float32x4(s, s, s, s)", "cuda.float4(n)"),
    (from_a_tuple, "unpack it, as in *t", "cuda.float2((1, 2))"),
    (with_keywords, "float32x2() takes no keywords", "cuda.float2(x=1, y=2)"),
    (other_length, "+ between float32x2 and float32x3 is not defined", "v + cuda.float3(1, 2, 3)"),
    (with_a_tuple, "a vector takes another one of as many components", "v * (1, 2)"),
    (order, "== and != compare all components", "v < v"),
    (with_a_number, "float32x2 == int64 is not defined", "v == n"),
    (truth, "float32x2 has no truth value", "v"),
    (component_assigned, "as in v = float32x2(v.x, value)", "v.y"),
    (item_assigned, "as in v = float32x2(value, v.y)", "v[0]"),
    (out_of_range, "tuple index 2 out of range: float32x2 has 2 items", "v[2]"),
    (stored_number, "write float32x4(x, y, z, w)", "a[0]"),
    (stored_length, "float32x4 has 4 components, but float32x2 has 2", "a[0]"),
    (atomic_of_vectors, "works on one number, not on float32x4", "cuda.atomic.add(a, 0, v)"),
    (float_bits, "& takes integers and bools, not float32", "v & v"),
    (joined_lengths, "float32x3", None),
]


def caret(error: CompileError) -> str:
    """The text over the caret of an error."""
    shown = str(error).splitlines()
    at = next(n for n, line in enumerate(shown) if re.fullmatch(r"\s+\| *\^+", line))
    return shown[at - 1][shown[at].index("^") : shown[at].rindex("^") + 1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_message(case):
    function, message, marked = case
    with pytest.raises(CompileError) as caught:
        translate(function, (F2, int64), KernelOptions())
    assert isinstance(caught.value, TypingError | ConstantError)
    assert message in str(caught.value)
    if marked is not None:
        assert caret(caught.value) == marked


# ---- real accesses of whole vectors


def copied(source, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = source[i]


def viewed(source, out):
    i = cuda.grid(1)
    out.view(cuda.float4)[i] = source.view(cuda.float4)[i]


def through_local(out):
    own = cuda.local.array(8, np.float32, alignment=16)
    own.view(cuda.float32x4)[0] = own.view(cuda.float32x4)[int(out[1])]
    out[0] = own[1]


def through_shared(source, out):
    shared = cuda.shared.array(32, cuda.float4)
    plain = cuda.shared.array(128, float32)
    i = cuda.threadIdx.x
    shared[i] = source[i]
    plain.view(cuda.float4)[i] = source[i + 32]
    cuda.syncthreads()
    out[i] = plain.view(cuda.float4)[31 - i] + shared[31 - i]


def accesses(kernel, *kinds) -> list[str]:
    """The accesses of memory in a kernel's PTX, without registers."""
    text, _ = cuda.compile_ptx(kernel, kinds)
    found = re.findall(r"\b((?:ld|st)\.(?:global|shared|local)[.\w]*)", text)
    return sorted(found)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("float32x4", "v4.b32"),
        ("int32x2", "v2.b32"),
        ("float64x2", "v2.b64"),
        ("uint16x4", "v2.b32 v4.b16"),
        ("uint8x4", "b32"),
        ("int16x2", "b32"),
    ],
)
def test_one_access_for_a_vector(name, wanted):
    array = VECTORS[name][::1]
    (load,), (store,) = (
        [each for each in accesses(copied, array, array) if each.startswith(way)]
        for way in ("ld", "st")
    )
    assert load.removeprefix("ld.global.") in wanted.split()
    assert store.removeprefix("st.global.") in wanted.split()


def test_wide_and_odd_vectors():
    array = VECTORS["float64x4"][::1]
    assert accesses(copied, array, array) == ["ld.global.v2.b64"] * 2 + ["st.global.v2.b64"] * 2
    array = VECTORS["float32x3"][::1]
    assert accesses(copied, array, array) == ["ld.global.b32"] * 3 + ["st.global.b32"] * 3


def test_views_of_numbers():
    """They test the alignment at run time, and access whole vectors where it allows that."""
    found = accesses(viewed, float32[::1], float32[::1])
    each = ["ld.global.b32"] * 4, ["st.global.b32"] * 4
    assert found == [*each[0], "ld.global.v4.b32", *each[1], "st.global.v4.b32"]
    strided = accesses(copied, F4[:], F4[::1])
    assert strided == [*each[0], "ld.global.v4.b32", "st.global.v4.b32"]


def test_shared_memory():
    found = accesses(through_shared, F4[::1], F4[::1])
    loads = ["ld.global.v4.b32"] * 2 + ["ld.shared.v4.b32"] * 2
    assert found == [*loads, "st.global.v4.b32", *["st.shared.v4.b32"] * 2]


@pytest.mark.parametrize("start", range(4))
def test_the_ptx_of_views(start):
    """The PTX runs on the interpreter, which checks the alignment of each access: whole vectors
    where they are aligned, each component elsewhere."""
    text, _ = cuda.compile_ptx(viewed, (float32[::1], float32[::1]))
    room = np.zeros((2, 36), np.float32)
    room[0] = range(36)
    arrays = room[:, start : start + 32]
    with gridlane.device("interp"):
        held = cuda.to_device(room)
        places = [held.address + 4 * (36 * n + start) for n in range(2)]
        words = [word for place in places for word in (place, 32, 4)]
        cuda.RawModule(code=text).get_function("viewed")(1, 8, tuple(map(np.uint64, words)))
        np.testing.assert_array_equal(held.copy_to_host()[1, start : start + 32], arrays[0])


def test_known_alignment_needs_no_test():
    assert "if" not in text_of(through_shared, F4[::1], F4[::1])
    assert "if" in text_of(viewed, float32[::1], float32[::1])
    assert "if" not in text_of(through_local, float32[::1])


# ---- keys


def test_keys_tell_vectors_apart():
    def kernel(out):
        out[0] = kind(1, 2, 3, 4).x

    keys = set()
    for name in ("float32x4", "float64x4", "uint8x4"):
        kind = VECTORS[name]
        keys.add(fingerprint(kernel))
    assert len(keys) == 3


def test_names():
    assert NAMES["make_ulonglong3"] == NAMES["ulong3"] == "uint64x3"
    for name, vector in NAMES.items():
        assert getattr(cuda, name) is VECTORS[vector]
    assert B4.name == "uint8x4" and uint8 is B4.element and int32 is I3.element


# ---- numba's own code


@pytest.fixture(scope="module")
def ptx():
    pytest.importorskip("numba_cuda")
    return numba_vectors.numba_ptx()


@pytest.mark.parametrize("element", numba_vectors.ELEMENTS)
def test_numbas_ptx(ptx, element):
    """numba's PTX of a kernel leaves what the same kernel leaves by this frontend."""
    wanted = numba_vectors.arrays(element)
    numba_ptx.launched("interp", ptx[element], list(wanted), 1, 1)
    lines = numba_vectors.SOURCE.format(element).strip().splitlines()[1:]
    got = numba_vectors.arrays(element)
    launch(function_of("source, out", *[line[4:] for line in lines]), 1, 1, *got)
    np.testing.assert_array_equal(got[1], wanted[1])
    assert got[1].any()
