"""Nests whose meaning a library has: attention, softmax and sorts, in the ways they are written.

Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Knuth, "The Art of
Computer Programming", volume 3, section 5.2.
"""

from __future__ import annotations

import math
from functools import cache
from textwrap import indent

from gridlane.compute.model import Nest
from gridlane.compute.reading import read
from gridlane.compute.tensors import Tensor
from gridlane.core.dtypes import f32, i32
from gridlane.core.generated_text import function_of

_SCOPE = {"Tensor": Tensor, "f32": f32, "i32": i32, "math": math, "LOW": -math.inf}

_HEAD = """
def pattern(
    q: Tensor[f32, "M", "D"], k: Tensor[f32, "N", "D"], v: Tensor[f32, "N", "E"],
    out: Tensor[f32, "M", "E"], scale: float,
):
"""
_ONLINE = """
for i in range(M):
    {start}
    for e in range(E):
        out[i, e] = 0.0
    for j in range({keys}):
        s = 0.0
        for d in range(D):
            s += q[i, d] * k[j, d]
        {scores}
        most = new
    for e in range(E):
        out[i, e] = out[i, e] / total
"""
_STARTS = ("most, total = LOW, 0.0", "total, most = 0.0, LOW")
_SUM = "total = total * old + p"
_VALUES = "for e in range(E):\n    out[i, e] = out[i, e] * old + p * v[j, e]"
_NAMED = "new = max(most, t)\nold = math.exp(most - new)\np = math.exp(t - new)"
_EXPONENTS = {
    "scaled first": f"t = s * scale\n{_NAMED}",
    "scaled each time": _NAMED.replace("t)", "s * scale)").replace("(t ", "(s * scale "),
    "scaled in place": f"s = s * scale\n{_NAMED}".replace("t)", "s)").replace("(t ", "(s "),
    "not scaled": _NAMED.replace("t)", "s)").replace("(t ", "(s "),
}

_SCORED = """
for i in range(M):
    most = LOW
    for j in range({keys}):
        s = 0.0
        for d in range(D):
            s += q[i, d] * k[j, d]
        p[i, j] = {score}
        most = max(most, p[i, j])
    total = 0.0
    for j in range({keys}):
        p[i, j] = math.exp(p[i, j] - most)
        total += p[i, j]
    for e in range(E):
        o = 0.0
        for j in range({keys}):
            o += p[i, j] * v[j, e]
        out[i, e] = o / total
"""

_SOFTMAX_HEAD = """
def pattern(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
"""
_LARGEST = "most = {start}\nfor j in range({first}, N):\n    most = max(most, x[j])\ntotal = 0.0\n"
_SOFTMAXES = (
    "for j in range(N):\n    out[j] = math.exp(x[j] - most)\n    total += out[j]\n"
    "for j in range(N):\n    out[j] = out[j] / total\n",
    "for j in range(N):\n    e = math.exp(x[j] - most)\n    out[j] = e\n    total += e\n"
    "for j in range(N):\n    out[j] = out[j] / total\n",
    "for j in range(N):\n    e = math.exp(x[j] - most)\n    total += e\n    out[j] = e\n"
    "for j in range(N):\n    out[j] = out[j] / total\n",
    "for j in range(N):\n    total += math.exp(x[j] - most)\n"
    "for j in range(N):\n    out[j] = math.exp(x[j] - most) / total\n",
)

_SORT_HEAD = """
def pattern(x: Tensor[i32, "N"]):
"""
_RANK_HEAD = """
def pattern(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
"""
_RANKS = """
for i in range(N):
    r = 0
    for j in range(N):
        if {less} or (x[j] == x[i] and j < i):
            r += 1
    out[r] = x[i]
"""
_SWAPS = (
    "t = x[{a}]\n{pad}x[{a}] = x[{b}]\n{pad}x[{b}] = t",
    "t = x[{b}]\n{pad}x[{b}] = x[{a}]\n{pad}x[{a}] = t",
)
_EXCHANGES = {
    "exchange": ("for i in range(N):\n    for j in range(i + 1, N):", "i", "j"),
    "bubbles": ("for i in range(N):\n    for j in range(N - 1 - i):", "j", "j + 1"),
    "all bubbles": ("for i in range(N):\n    for j in range(N - 1):", "j", "j + 1"),
    "insertion": ("for i in range(1, N):\n    for j in range(i - 1, -1, -1):", "j", "j + 1"),
    "transposition": ("for i in range(N):\n    for j in range(i % 2, N - 1, 2):", "j", "j + 1"),
}


def _read(head: str, body: str) -> Nest:
    text = head + indent(body.strip("\n"), "    ")
    return read(function_of(text, "pattern", _SCOPE))


@cache
def attentions(is_causal: bool) -> tuple[Nest, ...]:
    """Attention in one pass over the keys."""
    found: list[Nest] = []
    keys = "i + 1" if is_causal else "N"
    for start in _STARTS:
        for exponents in _EXPONENTS.values():
            for tail in (f"{_SUM}\n{_VALUES}", f"{_VALUES}\n{_SUM}"):
                scores = indent(f"{exponents}\n{tail}", "        ").strip()
                body = _ONLINE.format(start=start, keys=keys, scores=scores)
                head = _HEAD if "scale" in exponents else _HEAD.replace(" scale: float,", "")
                if is_causal:
                    head = head.replace('"N"', '"M"')
                found.append(_read(head, body))
    return tuple(found)


@cache
def scored_attentions() -> tuple[Nest, ...]:
    """Attention whose weights are a tensor."""
    found: list[Nest] = []
    for keys, score in (("N", "s * scale"), ("N", "s"), ("i + 1", "s * scale"), ("i + 1", "s")):
        head = _HEAD.replace("v: Tensor", 'p: Tensor[f32, "M", "N"], v: Tensor')
        head = head if "scale" in score else head.replace(" scale: float,", "")
        head = head if keys == "N" else head.replace('"N"', '"M"')
        found.append(_read(head, _SCORED.format(keys=keys, score=score)))
    return tuple(found)


@cache
def softmaxes() -> tuple[Nest, ...]:
    """Softmax of a row."""
    starts = [("LOW", 0), ("x[0]", 0), ("x[0]", 1)]
    return tuple([
        _read(_SOFTMAX_HEAD, _LARGEST.format(start=start, first=first) + rest)
        for start, first in starts
        for rest in _SOFTMAXES
    ])  # fmt: skip


@cache
def sorts(is_descending: bool) -> tuple[Nest, ...]:
    """Sorts of an array by ranks, and in its place."""
    one, other = ("x[i]", "x[j]") if is_descending else ("x[j]", "x[i]")
    found = [_read(_RANK_HEAD, _RANKS.format(less=f"{one} < {other}"))]
    for loops, a, b in _EXCHANGES.values():
        for swap in _SWAPS:
            pad = " " * 12
            first, second = (a, b) if is_descending else (b, a)
            text = swap.format(a=a, b=b, pad=pad)
            body = f"{loops}\n        if x[{first}] < x[{second}]:\n{pad}{text}"
            found.append(_read(_SORT_HEAD, body))
    return tuple(found)
