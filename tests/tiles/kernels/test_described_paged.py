"""Attention to pages by tensor descriptors: the program of GPUs with tensor maps, on every device,
and its threads in the interpreter."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.triton.running import type_of
from tests.passes.tiles.test_groups import OPTIONS
from tests.passes.tiles.test_producers import Described, loads, lowered, run
from tests.tiles.kernels import exact
from tests.tiles.kernels.test_attention import near

from gridlane import cuda
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.translation import translate
from gridlane.tiles import kernels
from gridlane.tiles.kernels import paged, prepared
from gridlane.tiles.kernels.programs.described_paged import described_paged_parts

PAGE, PAGES = 128, 7


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call reads boxes, as on a GPU of 4 multiprocessors with warpgroups."""
    found: list[bool] = []
    own = paged._boxes

    def noted(*args):
        found.append(own(*args) is not None)
        return own(*args)

    monkeypatch.setattr(paged, "has_warpgroups", lambda: True)
    monkeypatch.setattr(paged, "multiprocessors", lambda: 4)
    monkeypatch.setattr(paged, "_boxes", noted)
    return found


def cache(rng, heads: int, width: int, kind=np.float16) -> np.ndarray:
    return rng.standard_normal((PAGES, PAGE, heads, width)).astype(kind)


def expected(q, keys, values, table, length, window=None, **options):
    """The result for one sequence."""
    k, v = (
        each[table].reshape(-1, each.shape[2], each.shape[3])[:length].transpose(1, 0, 2)[None]
        for each in (keys, values)
    )
    if window:
        k, v = k[:, :, -window:], v[:, :, -window:]
    return exact.attention(q[None, :, None], k, v, **options)[0, :, 0]


@pytest.mark.parametrize("pages", [128, 40])
@pytest.mark.parametrize("has_out", [False, True])
def test_known_launches(device, rng, boxes, pages, has_out):
    """The second call has other arrays of the same kind and looks at none of them; another option
    or dtype of the tables is another call."""
    prepared.forget()
    for number in range(2):
        q, keys, values = (
            rng.standard_normal(each).astype(np.float16)
            for each in ((2, 4, 64), (12, pages, 2, 64), (12, pages, 2, 64))
        )
        table, lengths = rng.permutation(12).reshape(2, 6), rng.integers(1, 6 * pages, 2)
        out = cuda.to_device(np.zeros((2, 4, 64), np.float16)) if has_out else None
        there = [cuda.to_device(each) for each in (q, keys, values, table, lengths)]
        got = kernels.paged_attention(*there, out)
        assert out is None or got is out
        for n in range(2):
            wanted = expected(q[n], keys, values, table[n], lengths[n])
            near(got.copy_to_host()[n], wanted)
        assert (len(boxes), len(prepared._known)) == (1 if pages == 128 else 0, 1), number
    narrow = kernels.paged_attention(*there, window=70).copy_to_host()
    near(narrow[0], expected(q[0], keys, values, table[0], lengths[0], 70))
    there[3] = cuda.to_device(table.astype(np.int32))
    again = kernels.paged_attention(*there).copy_to_host()
    near(again[1], expected(q[1], keys, values, table[1], lengths[1]))
    prepared.forget()


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("parts", [1, 3, None])
@pytest.mark.parametrize("window", [None, 70, 200])
def test_pages(device, rng, boxes, kind, parts, window):
    """Lengths that end anywhere; what is behind them in the cache is NaN."""
    heads, lengths = 2, np.array([0, 1, 64, 130, 255, 256, 400])
    keys, values = cache(rng, heads, 64, kind), cache(rng, heads, 128, kind)
    tables = np.array([[n, (n + 1) % PAGES, (n + 2) % PAGES, (n + 3) % PAGES] for n in range(7)])
    for number, length in enumerate(lengths):
        q = rng.standard_normal((1, 6, 64)).astype(kind)
        known, other = keys.copy(), values.copy()
        for page in range(4):
            rest = np.clip(length - page * PAGE, 0, PAGE)
            known[tables[number, page], rest:] = other[tables[number, page], rest:] = np.nan
        got = kernels.paged_attention(
            q, known, other, tables[number : number + 1], lengths[number : number + 1],
            parts=parts, window=window,
        )  # fmt: skip
        want = expected(q[0], keys, values, tables[number], length, window)
        near(got[0], want)
    assert boxes == [True] * 7


def test_pages_that_are_none(device, rng, boxes):
    keys, values = cache(rng, 1, 64), cache(rng, 1, 64)
    q = rng.standard_normal((3, 2, 64)).astype(np.float16)
    tables = np.array([[0, 1, 5, 6], [2, PAGES, 5, 6], [-1, 3, 5, 6]])
    lengths = np.array([256, 256, 256])
    got = kernels.paged_attention(q, keys, values, tables, lengths)
    near(got[0], expected(q[0], keys, values, tables[0], 256))
    assert np.isnan(got[1:]).all() and boxes == [True]


def test_others_are_read_by_addresses(device, rng, boxes):
    """Pages that are no multiple of a tile, other widths and types, short sequences, and bounded
    scores."""
    for shape, kind in (((3, 40, 1, 64), "f2"), ((3, 64, 1, 72), "f2"), ((3, 64, 1, 64), "f4")):
        keys = rng.standard_normal(shape).astype(kind)
        q = rng.standard_normal((1, 2, shape[3])).astype(kind)
        table = np.array([[2, 0, 1] * 6])
        got = kernels.paged_attention(q, keys, keys, table, np.array([70]))
        near(got[0], expected(q[0], keys, keys, table[0], 70))
    assert boxes == [False] * 3
    keys, q = cache(rng, 1, 64), rng.standard_normal((1, 2, 64)).astype("f2")
    for pages, softcap in ((3, None), (4, 2.0)):
        table = np.arange(pages)[None]
        got = kernels.paged_attention(q, keys, keys, table, np.array([300]), softcap=softcap)
        near(got[0], expected(q[0], keys, keys, table[0], 300, softcap=softcap))
    assert boxes == [False] * 3


@pytest.mark.parametrize("window", [None, 100])
def test_threads(window):
    """The producer reads the numbers of pages, and is ahead of the products."""
    rng, page, group, width = np.random.default_rng(4), 64, 3, 64
    keys, values = (rng.standard_normal((4, page, 1, width)).astype(np.float16) for _ in range(2))
    q = rng.standard_normal((1, group, width)).astype(np.float16)
    tables, length = np.array([[2, 0, 3, 1]], np.int32), 203
    out, logs = np.zeros((1, group, width), np.float32), np.zeros((1, group), np.float32)
    boxes = [Described(np.moveaxis(each, 2, 1), (1, 1, 64, width)) for each in (keys, values)]
    given = {
        "q": q, "k_boxes": boxes[0], "v_boxes": boxes[1], "k": keys, "v": values, "tables": tables,
        "lengths": np.array([length], np.int32), "out": out, "logs": logs, "pages": 4,
        "page": page, "most": 4 * page, "heads": 1, "group": group, "parts": 1,
        "window": window or 0,
    }  # fmt: skip
    constants = {
        "width": width, "values": width, "q_steps": (group * width, width, 1),
        "k_steps": (page * width, width, width, 1), "v_steps": (page * width, width, width, 1),
        "table_steps": (4, 1), "length_step": 1, "SCALE": 0.125,
        "WINDOW": window is not None, "M": 64, "N": 64, "WIDTH": width, "VALUES": width,
        "INDEX": tl.int32,
    }  # fmt: skip
    types = tuple([type_of(getattr(each, "memory", each)) for each in given.values()])
    mapped = {name: each.block for name, each in given.items() if isinstance(each, Described)}
    module = lowered(
        translate(
            described_paged_parts, types, OPTIONS, constants, mapped, dict.fromkeys(mapped, 16), 4,
            stages=2,
        )
    )  # fmt: skip
    assert loads(module) == 2
    got, watch = run(module, [*given.values()], 4)
    near(got[7][0].astype(np.float16), expected(q[0], keys, values, tables[0], length, window))
    assert watch.most <= 1
