"""The facts that the classes of ops state, by the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.devices import assert_same

from gridlane.conformance.cases import takes
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import ALL, DType, i32, i64, u64
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


def columns(name: str, values: np.ndarray) -> list[np.ndarray]:
    """Operands of 64 bits, in all combinations."""
    return grid_of(*[values] * len(REGISTRY[name].OPERAND_FIELDS))


def both(name: str, wide: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The results in 64 bits, and as i32, which passes/optimise/narrow.py takes for u64 as well."""
    narrow = [column.astype(np.int32) for column in wide]
    cls = REGISTRY[name]
    return zip(results(cls, *wide), results(cls, *narrow), strict=True)


@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
@pytest.mark.parametrize("name", of_fact("modular"))
def test_modular(name: str, dtype: DType) -> None:
    for whole, half in both(name, columns(name, special(dtype, 12))):
        assert (whole.astype(np.int32) == half).all()


@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
@pytest.mark.parametrize("name", of_fact("exact"))
def test_exact(name: str, dtype: DType) -> None:
    values = special(i32, 12)
    if not dtype.is_signed:
        values = values[values >= 0]
    for whole, half in both(name, columns(name, values.astype(dtype.numpy))):
        fits = (whole <= i32.max) & (whole >= (i32.min if dtype.is_signed else 0))
        assert fits.any()
        assert (whole[fits] == half[fits]).all()
