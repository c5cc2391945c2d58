"""Arrays of fixed-width strings in kernels, on every device, against Python's str and bytes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import ArgumentError, ConstantError, TypingError, UnsupportedError
from gridlane.cuda import types
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.launch import current
from gridlane.launch.devices import get_device

# ---- operators: the same functions run in Python, over numpy's arrays


@cuda.jit(device=True)
def of_words(i, a, b, found, out):
    x, y = a[i], b[i]
    found[i, 0] = len(x)
    found[i, 1] = x == y
    found[i, 2] = x != y
    found[i, 3] = x < y
    found[i, 4] = x <= y
    found[i, 5] = x > y
    found[i, 6] = x >= y
    found[i, 7] = x == "ab"
    found[i, 8] = x == "ab\0"
    found[i, 9] = x < "ab\0"
    found[i, 10] = "ab\0" <= x
    found[i, 11] = "é" > y
    found[i, 12] = 1 if x else 0
    found[i, 13] = not y
    found[i, 14] = "b" in x
    found[i, 15] = y in x
    found[i, 16] = "\0" in y
    found[i, 17] = y.startswith(x)
    found[i, 18] = x.startswith("a\0")
    found[i, 19] = y.endswith(x)
    found[i, 20] = x.endswith("b")
    found[i, 21] = y.find(x)
    found[i, 22] = x.find("")
    found[i, 23] = y.find("b")
    found[i, 24] = x.isascii()
    found[i, 25] = x in ("ab", "é") or x is None
    found[i, 26] = x == b"ab" or x == 3
    found[i, 27] = isinstance(x, str)
    found[i, 28] = x in "a text, ab é"
    found[i, 29] = x in "\0" or "c" in "ab"
    found[i, 30] = "xéab€".find(x) * 10 + "é".isascii() + "".isascii() + "ab".find("b")
    found[i, 32] = "éab"[i % 3] == "a" or "ab"[-1 - i % 2] == x
    found[i, 33] = "b€ab"[1:3] == x or len("abc"[::-2]) == len(x)
    found[i, 31] = "ab".startswith(x) + 2 * "ab".endswith(x) + 4 * "ab".startswith("a")
    out[i, 0] = y
    out[i, 1] = "wide enough for any"
    out[i, 2] = x if x > y else y
    out[i, 3] = x if len(x) < 2 else "ab€"
    z = x
    a[i] = "no"
    out[i, 4] = z
    out[i, 5] = a[i]
    for each in b:
        if each > z:
            z = each
    out[i, 6] = z


@cuda.jit(device=True)
def of_bytes(i, a, b, found, out):
    x, y = a[i], b[i]
    found[i, 0] = len(x)
    found[i, 1] = x == y
    found[i, 2] = x != y
    found[i, 3] = x < y
    found[i, 4] = x <= y
    found[i, 5] = x > y
    found[i, 6] = x >= y
    found[i, 7] = x == b"ab"
    found[i, 8] = x != b"ab\0"
    found[i, 9] = b"\xff" > x
    found[i, 10] = 1 if x else 0
    found[i, 11] = b"b" in x
    found[i, 12] = x in y
    found[i, 13] = y.startswith(x)
    found[i, 14] = y.endswith(x)
    found[i, 15] = x.find(b"\0b")
    found[i, 16] = x.isascii()
    found[i, 17] = x == "ab"
    found[i, 18] = isinstance(x, bytes) and not isinstance(x, str)
    found[i, 19] = x in b"any a\0b" and b"a" in b"ab"
    found[i, 20] = b"any a\0b".find(x) * 2 + b"ab".startswith(x)
    out[i, 0] = y
    out[i, 1] = b"wide enough for any array of bytes here"
    out[i, 2] = x if x > y else y
    z = x
    a[i] = b"no"
    out[i, 3] = z


@cuda.jit
def kernel(a, b, found, out, c, d, seen, got):
    i = cuda.grid(1)
    if i < a.size:
        of_words(i, a, b, found, out)
        of_bytes(i, c, d, seen, got)


def _results(words, octets):
    """Arrays for ``kernel``, of a pair of texts a row."""
    (left, right), (first, second) = zip(*words, strict=True), zip(*octets, strict=True)
    rows = len(words)
    return (
        *(np.array(left, "U4"), np.array(right, "U6")),
        *(np.zeros((rows, 34), np.int64), np.full((rows, 7), "######", "U5")),
        *(np.array(first, "S4"), np.array(second, "S6")),
        *(np.zeros((rows, 21), np.int64), np.full((rows, 4), b"#" * 30, "S19")),
    )


def _check(words, octets):
    made, wanted = _results(words, octets), _results(words, octets)
    rows = len(words)
    kernel[1, rows](*made)
    for row in range(rows):
        of_words.py_func(row, *wanted[:4])
        of_bytes.py_func(row, *wanted[4:])
    for number, (have, want) in enumerate(zip(made, wanted, strict=True)):
        np.testing.assert_array_equal(have, want, err_msg=f"argument {number}")


WORDS = ("", "a", "ab", "b", "é", "😀", "a\0b", "\0b", "zzzz", "abab", "\U0010ffff", "\ud800b")
OCTETS = (
    b"",
    b"a",
    b"ab",
    b"b",
    b"\xff",
    b"\x80b",
    b"a\0b",
    b"\0b",
    b"zzzz",
    b"abab",
    b"\x7f",
    b"B",
)


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_as_in_python(name):
    current.choose(get_device(name))
    pairs = [list(itertools.product(each, each)) for each in (WORDS, OCTETS)]
    _check(*pairs)


LETTERS = st.characters(codec=None) | st.sampled_from("ab\0é")
BYTE = st.integers(0, 255) | st.sampled_from(b"ab\0")
TEXT, DATA = st.text(LETTERS, max_size=7), st.lists(BYTE, max_size=7).map(bytes)


@given(
    st.lists(st.tuples(TEXT, TEXT), min_size=8, max_size=8),
    st.lists(st.tuples(DATA, DATA), min_size=8, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_random_strings(words, octets):
    current.choose(get_device("cpu"))
    _check(words, octets)


# ---- memory of every kind, device functions, records

RECORD = np.dtype(
    [("b", "i1"), ("t", "U3"), ("in", [("s", "S3"), ("u", "U2")]), ("many", "U2", (2,))]
)
ALIGNED = np.dtype([("x", "f4"), ("y", "S30")], align=True)
NAMES = np.array(["const", "€uro"], "U5")
OWN = types.UnicodeCharSeq(4)


@cuda.jit(device=True)
def longer(a, b):
    return a if len(a) >= len(b) else b


@cuda.jit(device=True)
def word(n):
    if n == 0:
        return "zero"
    if n == 1:
        return "one"
    return "many"


@cuda.jit
def places(a, b, s, records, wide, out, numbers):
    i = cuda.threadIdx.x
    shared = cuda.shared.array(4, "U4")
    own = cuda.local.array(2, OWN)
    octets = cuda.local.array(3, np.dtype("S3"))
    shared[i] = a[i]
    cuda.syncthreads()
    out[i, 0] = shared[3 - i]
    own[0] = "abcdef"
    own[1] = a[i]
    out[i, 1] = own[i % 2]
    out[i, 2] = NAMES[i % 2]
    out[i, 3] = longer(a[i], b[i])
    out[i, 4] = word(i)
    pair = (a[i], i)
    out[i, 5] = pair[0]
    octets[1] = s[i]
    records[i]["in"].s = octets[1]
    records[i].t = word(i)
    records[i].many[1] = a[i]
    records[i]["many"][0] = "q"
    copy = records[i].copy()
    out[i, 6] = copy.many[1]
    wide[i].y = b"0123456789abcdefghijklmnopqrstuvwxyz"
    wide[i] = (i, s[i]) if i else (i, wide[i].y)
    numbers[i, 0] = len(a[i])
    numbers[i, 1] = s[i][0]
    out[i, 7] = b[i][-1]
    out[i, 7:] = b[i][i - 1]
    rest = out[i, 8:]
    rest[:] = "r"
    a[i] = "changed"
    out[i, 6] = pair[0] if i < 2 else b[i]


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_memory(name):
    current.choose(get_device(name))
    a, b = np.array(["abc", "", "b", "zb"], "U5"), np.array(["abcd", "qr", "ab", "😀zzzz"], "U7")
    s = np.array([b"abc", b"cd", b"x", b"yz\xff"], "S6")
    records, wide = np.zeros(4, RECORD), np.zeros(4, ALIGNED)
    out, numbers = np.zeros((4, 10), "U9"), np.zeros((4, 2), np.int32)
    places[1, 4](a, b, s, records, wide, out, numbers)
    assert out.tolist() == [
        ["zb", "abcd", "const", "abcd", "zero", "abc", "abc", "d", "r", "r"],
        ["b", "", "€uro", "qr", "one", "", "", "q", "r", "r"],
        ["", "abcd", "const", "ab", "many", "b", "ab", "b", "r", "r"],
        ["abc", "zb", "€uro", "😀zzzz", "many", "zb", "😀zzzz", "z", "r", "r"],
    ]
    assert numbers.tolist() == [[3, 97], [0, 99], [1, 120], [2, 121]]
    assert a.tolist() == ["chang"] * 4
    assert records["t"].tolist() == ["zer", "one", "man", "man"]
    assert records["in"].tolist() == [(b"abc", ""), (b"cd", ""), (b"x", ""), (b"yz\xff", "")]
    assert records["many"].tolist() == [["q", "ab"], ["q", ""], ["q", "b"], ["q", "zb"]]
    long = b"0123456789abcdefghijklmnopqrst"
    assert wide.tolist() == [(0.0, long), (1.0, b"cd"), (2.0, b"x"), (3.0, b"yz\xff")]


CHOICES = ("p", np.str_("quite"), "é")
OCTETS_TOO = b"bytes"


@cuda.jit
def chooses(a, s, out):
    i = cuda.grid(1)
    a[i] = CHOICES[i]
    s[i] = OCTETS_TOO
    out[i] = a[i] in CHOICES
    match a[i]:
        case "p" | "x":
            out[i] += 10
        case "é":
            out[i] += 20
    for size, each in enumerate(("p", "qu", "quite")):
        if each == a[i]:
            out[i] += 100 * size


def test_captured_strings_and_tuples():
    current.choose(get_device("cpu"))
    a, s, out = np.zeros(3, "U4"), np.zeros(3, "S9"), np.zeros(3, np.int32)
    chooses[1, 3](a, s, out)
    assert a.tolist() == ["p", "quit", "é"] and s.tolist() == [b"bytes"] * 3
    assert out.tolist() == [11, 0, 21]


@cuda.jit
def passes(a, b):
    b[1, 0] = a[1, 0]
    b[0] = a.T[1]


def test_layouts():
    """Fortran's order, strides, any address, a field of packed records, and In and Out."""
    current.choose(get_device("cpu"))
    plain = np.array([["a", "bc"], ["d", "ef"]], "U3")
    odd = np.frombuffer(bytearray(1 + 12 * 4), np.uint8)[1:].view("U3").reshape(2, 2)
    packed = np.zeros((2, 2), [("x", "i1"), ("u", "U3")])
    odd[:] = packed["u"] = plain
    for array in (plain, np.asfortranarray(plain), plain[::-1][::-1], odd, packed["u"]):
        out = np.zeros((2, 2), "U2")
        passes[1, 1](cuda.In(array), cuda.Out(out))
        assert out.tolist() == [["bc", "ef"], ["d", ""]]


@cuda.jit(debug=True, opt=False)
def item(a, s, out, i):
    out[0] = len(a[0][i])
    out[1] = s[0][i]


@pytest.mark.parametrize("i", [2, 3, -2, -6])
def test_an_index_without_a_character(i):
    """Beyond the text, before it, and of a NUL, as in numba."""
    current.choose(get_device("interp"))
    out = np.zeros(2, np.int32)
    with pytest.raises(IndexError, match="string index out of range"):
        item[1, 1](np.array(["a\0b"[: 2 + (i == -2)]], "U6"), np.array([b"ab"], "S6"), out, i)
        cuda.synchronize()


# ---- print


@cuda.jit
def prints(a, s, record):
    for i in range(a.size):
        print(a[i], s[i], i)
        print(f"<{a[i]:>8}> {a[i]!r:>9} {s[i]}|")
    print((a[0], s[1]), record.many)


@cuda.jit
def prints_an_array(a):
    print(a, "end")


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_print(name, capfd):
    current.choose(get_device(name))
    a, s = np.array(["a'bc", "", "\ud800é\0y"], "U5"), np.array([b"abc", b"\xff'", b"x\0y"], "S6")
    record = np.zeros((), RECORD)
    record["many"] = "q", "rs"
    prints[1, 1](a, s, record[()])
    cuda.synchronize()
    shown = ["a'bc", "", "\ufffdé\0y"]
    lines = []
    for i, (text, octets) in enumerate(zip(shown, s.tolist(), strict=True)):
        lines += [f"{text} {octets} {i}", f"<{text:>8}> {text!r:>9} {octets}|"]
    lines.append(f"{(shown[0], s.tolist()[1])} ['q' 'rs']")
    assert capfd.readouterr().out.split("\n") == [*lines, ""]


def test_print_an_array(capfd):
    current.choose(get_device("cpu"))
    prints_an_array[1, 1](np.array(["a'bc", "", "é"], "U5"))
    cuda.synchronize()
    assert capfd.readouterr().out == "[\"a'bc\" '' 'é'] end\n"


# ---- types and arrays


def test_types():
    assert types.UnicodeCharSeq(12) == typeof(np.array(["a"], "U12")).dtype
    assert types.CharSeq(3) == typeof(np.array(["a"], "S3")).dtype
    assert [str(types.UnicodeCharSeq(12)), str(types.CharSeq(3))] == ["[unichr x 12]", "[char x 3]"]
    assert isinstance(types.CharSeq(3), types.CharSeq) and types.CharSeq(3).count == 3
    assert not isinstance(types.CharSeq(3), types.UnicodeCharSeq)
    with pytest.raises(TypeError, match="width 0"):
        types.CharSeq(0)


def _set(a):
    a[0] = "abcdefgh"


def test_a_kernel_for_each_width():
    current.choose(get_device("cpu"))
    made = cuda.jit(_set)
    for width in (3, 5, 3):
        array = np.zeros(2, f"U{width}")
        made[1, 1](array)
        assert array.tolist() == ["abcdefgh"[:width], ""]
    assert [str(each[0].dtype) for each in made.signatures] == ["[unichr x 3]", "[unichr x 5]"]
    signed = cuda.jit(types.void(types.UnicodeCharSeq(3)[:]))(_set)
    with pytest.raises(ArgumentError, match=r"unichr x 5.*signature takes.*unichr x 3"):
        signed[1, 1](np.zeros(2, "U5"))


@pytest.mark.parametrize("name", DEVICES)
def test_device_arrays(name):
    current.choose(get_device(name))
    array = cuda.device_array(3, "U4")
    array[:] = "fill"
    array[1:] = np.array(["q", "rst"], "U3")
    cuda.jit(_set)[1, 1](array)
    assert array.copy_to_host().tolist() == ["abcd", "q", "rst"]
    assert array[1:].copy_to_host().tolist() == ["q", "rst"] and array[2] == "rst"
    assert "['abcd', 'q', 'rst'], dtype=<U4" in repr(array)


def test_the_interface_of_arrays():
    current.choose(get_device("cpu"))
    shown = cuda.to_device(np.array([b"x"], "S3")).__cuda_array_interface__
    assert shown["typestr"] == "|S3" and shown["shape"] == (1,)


def test_ptx():
    octets = types.CharSeq(20)[:]
    args = (*[types.UnicodeCharSeq(4)[:]] * 2, types.int64[:, :], types.UnicodeCharSeq(4)[:, :])
    ptx, _ = cuda.compile_ptx(kernel.py_func, (*args, octets, octets, args[2], octets.dtype[:, :]))
    assert "ld.global.b32" in ptx and "st.global.b8" in ptx


# ---- what is refused


def _assigns_bytes(a, s):
    a[0] = b"abc"


def _assigns_text(a, s):
    s[0] = "abc"


def _assigns_a_number(a, s):
    a[0] = 3


def _orders_both_kinds(a, s):
    a[0] = "x" if a[0] < s[0] else "y"


def _compares_an_array(a, s):
    a[0] = "x" if a[0] == a else "y"


def _finds_bytes(a, s):
    a[0] = "x" if b"a" in a[0] else "y"


def _adds(a, s):
    a[0] = a[0] + "x"


def _slices(a, s):
    a[0] = a[0][1:]


def _indexes_beyond(a, s):
    a[0] = a[0][99]


def _iterates(a, s):
    for letter in a[0]:
        a[1] = letter


def _changes(a, s):
    a[0][1] = "x"


def _has_another_method(a, s):
    a[0] = a[0].upper()


def _searches_too_long(a, s):
    a[0] = "x" if a[1] in a[0] else "y"


def _joins_kinds(a, s):
    x = a[0] if a.size else s[0]
    a[0] = x


def _joins_a_constant_with_a_nul(a, s):
    x = a[0] if a.size else "a\0"
    a[0] = x


def _asks_for_identity(a, s):
    x = "abc" if a.size else "d"
    a[0] = "x" if x is a[1] else "y"


def _asks_for_identity_of_a_constant(a, s):
    x = "abc" if a.size else "d"
    name = "abc"
    a[0] = "x" if x is name else "y"


REFUSED = {
    _asks_for_identity: (TypingError, "identity is not known; compare with =="),
    _asks_for_identity_of_a_constant: (TypingError, "identity is not known; compare with =="),
    _assigns_bytes: (TypingError, r"\[unichr x 99\] is required here, not bytes b'abc'"),
    _assigns_text: (TypingError, r"\[char x 9\] is required here, not str 'abc'"),
    _assigns_a_number: (TypingError, r"\[unichr x 99\] is required here, not int64"),
    _orders_both_kinds: (TypingError, r"\[unichr x 99\] < \[char x 9\] is not defined"),
    _compares_an_array: (TypingError, "index the arrays"),
    _finds_bytes: (TypingError, "in .*: a str is required, not bytes"),
    _adds: (TypingError, r"\+ between \[unichr x 99\] and str"),
    _slices: (TypingError, "an integer index is required here, not slice"),
    _indexes_beyond: (ConstantError, "index 99 is out of range"),
    _iterates: (TypingError, "cannot be iterated over"),
    _changes: (TypingError, "a string does not change"),
    _has_another_method: (TypingError, r"has no attribute upper; it has startswith\(\)"),
    _searches_too_long: (UnsupportedError, "9801 comparisons, and 4096 are the most"),
    _joins_kinds: (TypingError, r"\[unichr x 99\]"),
    _joins_a_constant_with_a_nul: (TypingError, r"\[unichr x 99\]"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused(function):
    kind, words = REFUSED[function]
    with pytest.raises(kind, match=words):
        cuda.jit(function)[1, 1](np.zeros(2, "U99"), np.zeros(2, "S9"))


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (np.zeros(2, ">U3"), r"bytes are swapped; pass array.astype\('<U3'\)"),
        (np.zeros(2, [("a", "S0"), ("b", "i4")]), "width 0"),
        ("abc", r"object of type str; .* pass np.array\(\[x\]\), and read its element 0"),
        (b"abc", "object of type bytes"),
        (np.str_("abc"), "object of type str_"),
        ((np.bytes_(b"abc"), 1), "object of type bytes_"),
    ],
)
def test_refused_arguments(argument, words):
    with pytest.raises(ArgumentError, match=words):
        cuda.jit(_set)[1, 1](argument)


def test_the_widest_string():
    current.choose(get_device("cpu"))
    with pytest.raises(UnsupportedError, match=r"129 characters is too wide .* holds 128; view"):
        cuda.jit(_set)[1, 1](np.zeros(2, "U129"))
    widest = np.zeros(2, "S128")

    @cuda.jit
    def copy(a):
        a[1] = a[0]

    widest[0] = bytes(range(1, 129))
    copy[1, 1](widest)
    assert widest[1] == widest[0]


@pytest.mark.parametrize("name", DEVICES)
def test_conditions_of_strings_beside_numbers(name):
    """Where only the truth is asked, strings and numbers need no common type."""

    def conditions(i, s, out):
        if s[i] and i > 0:
            out[i] += 1
        if not (s[i] or i == 1):
            out[i] += 2
        out[i] += 4 if i > 2 or (s[i] and i % 2 == 0) or not s[i] else 8
        n = 0
        while n < 3 and s[i]:
            n += 1
        out[i] += 16 * n
        assert s[i] or i < 9

    at = cuda.jit(device=True)(conditions)

    @cuda.jit
    def kernel(s, out):
        at(cuda.grid(1), s, out)

    words = np.array(["a", "", "b", "", "", "c"])
    want, out = np.zeros(6, np.int32), np.zeros(6, np.int32)
    for i in range(6):
        conditions(i, words, want)
    current.choose(get_device(name))
    kernel[1, 6](words, out)
    assert out.tolist() == want.tolist()
