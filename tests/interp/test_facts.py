"""The facts that the classes of ops state, by the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.devices import assert_same

from gridlane.conformance.cases import takes
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import ALL, i32, i64
from gridlane.interp.machine import COMPUTE
from gridlane.ir.op import REGISTRY, Op


def of_fact(fact: str) -> list[str]:
    return sorted(name for name, cls in REGISTRY.items() if getattr(cls, fact))


def results(cls: type[Op], *operands: np.ndarray) -> list[np.ndarray]:
    """What an op makes of operands."""
    with np.errstate(all="ignore"):
        made = COMPUTE[cls](*operands)
    return list(made) if isinstance(made, tuple) else [made]


@pytest.mark.parametrize("name", of_fact("commutative"))
def test_commutative(name: str) -> None:
    cls, tried = REGISTRY[name], 0
    count = len(cls.OPERAND_FIELDS)
    for types in cls.signatures or [(dtype,) * count for dtype in ALL]:
        if takes(cls, *types):
            a, b, *rest = grid_of(*[special(dtype, 2) for dtype in types])  # type: ignore[arg-type]
            wanted, got = results(cls, a, b, *rest), results(cls, b, a, *rest)
            assert_same(got, wanted, [str(types)] * len(got))
            tried += 1
    assert tried


def columns(name: str, fitting: bool) -> list[np.ndarray]:
    """Operands of 64 bits; those that fit in 32, or any."""
    values = special(i64, 12)
    if fitting:
        values = special(i32, 12).astype(np.int64)
    return grid_of(*[values] * len(REGISTRY[name].OPERAND_FIELDS))


def both(name: str, wide: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The results in 64 bits and in 32."""
    narrow = [column.astype(np.int32) for column in wide]
    cls = REGISTRY[name]
    return zip(results(cls, *wide), results(cls, *narrow), strict=True)


@pytest.mark.parametrize("name", of_fact("modular"))
def test_modular(name: str) -> None:
    wide = columns(name, fitting=False)
    for whole, half in both(name, wide):
        assert (whole.astype(np.int32) == half).all()


@pytest.mark.parametrize("name", of_fact("exact"))
def test_exact(name: str) -> None:
    wide = columns(name, fitting=True)
    for whole, half in both(name, wide):
        fits = whole == whole.astype(np.int32)
        assert fits.any()
        assert (whole[fits] == half[fits]).all()
