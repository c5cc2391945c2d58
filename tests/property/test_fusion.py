"""Random chains of launches: what ``fused()`` makes of them has the bits of the launches alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples
from tests.property.fusion_kernels import LINES, OWN, TABLES
from tests.property.fusion_texts import kernel as random_kernel

import gridlane
from gridlane import cuda
from gridlane.launch.fusion import fused

SIZE = 192
VIEWS = ["whole", "head", "tail", "even", "odd", "back"]


def view(array: Any, name: str) -> Any:
    """A part of an array; parts of one array overlap."""
    slices = {
        "whole": slice(None),
        "head": slice(0, 96),
        "tail": slice(64, 160),
        "even": slice(0, None, 2),
        "odd": slice(1, None, 2),
        "back": slice(1, 97),
    }
    return array[slices[name]]


KERNELS = [*LINES, *TABLES]
NUMBERS = [*range(len(KERNELS)), *[n for n, each in enumerate(LINES) if each in OWN] * 2]
"""Mostly those that can be fused, on whole arrays."""
arrays = st.tuples(st.integers(0, 2), st.sampled_from([*["whole"] * 12, *VIEWS]))


def is_ordered(step: Any) -> bool:
    """Whether the threads of a launch race for nothing."""
    number, source, target, _ = step
    kernel = KERNELS[number]
    return source[0] != target[0] or (source == target and kernel in OWN)


sizes = st.sampled_from([0, 0, 0, 0, 1, 2, 3])
launches = st.lists(
    st.tuples(st.sampled_from(NUMBERS), arrays, arrays, sizes).filter(is_ordered),
    min_size=2,
    max_size=7,
)


def launch(memory: list[Any], step: Any) -> None:
    """Launch a kernel over parts of arrays."""
    number, source, target, size = step
    x, y = (view(memory[place], name) for place, name in (source, target))
    n = min(x.size, y.size) - (0, 0, 5, 33)[size]
    if number < len(LINES):
        LINES[number][(n + 31) // 32 + (size == 1), 32](x, y, n)
    else:
        TABLES[number - len(LINES)][(1, (n // 4 + 7) // 8), (4, 8)](x, y, n)


def results(chain: list[Any], data: list[np.ndarray], whole: bool) -> tuple[list[bytes], Any]:
    """The bytes of all arrays behind a chain, and the fusion."""
    memory, fusion = [cuda.to_device(each) for each in data], None
    if whole:
        with fused() as fusion:
            for step in chain:
                launch(memory, step)
    else:
        for step in chain:
            launch(memory, step)
    return [each.copy_to_host().tobytes() for each in memory], fusion


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@settings(
    max_examples=examples(25, 400), suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
@given(launches, st.integers(0, 2**32 - 1))
def test_chains_have_the_bits_of_their_launches(device: str, chain: list[Any], seed: int) -> None:
    random = np.random.default_rng(seed)
    data = [random.standard_normal(SIZE).astype(np.float32) for _ in range(3)]
    with gridlane.device(device):
        alone, _ = results(chain, data, whole=False)
        together, fusion = results(chain, data, whole=True)
    assert alone == together, fusion.explain()
    assert fusion.launches == len(chain)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@settings(
    max_examples=examples(6, 100), suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.permutations(range(3))), min_size=2, max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
def test_random_texts_have_the_bits_of_their_launches(
    device: str, chain: list[Any], dtype: Any, seed: int
) -> None:
    random, n = np.random.default_rng(seed), 150
    data = [random.standard_normal(n).astype(dtype) for _ in range(3)]
    numbers = [(float(s), float(t)) for s, t in random.standard_normal((len(chain), 2))]
    kernels = [random_kernel(number) for number, _ in chain]

    def run(memory: list[Any]) -> None:
        for kernel, (_, places), both in zip(kernels, chain, numbers, strict=True):
            kernel[2, 96](*[memory[place] for place in places], *both, n)

    with gridlane.device(device):
        alone, together = ([cuda.to_device(each) for each in data] for _ in range(2))
        run(alone)
        with fused() as fusion:
            run(together)
        for one, other in zip(alone, together, strict=True):
            assert one.copy_to_host().tobytes() == other.copy_to_host().tobytes(), fusion.explain()
