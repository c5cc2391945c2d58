"""Complex functions at zeros, infinities and NaN, and where parts of them overflow."""

from __future__ import annotations

import itertools
from math import inf, nan

import mpmath
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.xp.cases import of_today
from tests.xp.references import errors
from tests.xp.together import results

from gridlane.xp.operations import OPERATIONS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NAMES = "exp exp2 log log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, inf, -inf, nan, 100.0, -100.0, 1e-30, -1e-30]


def grid(dtype: str) -> np.ndarray:
    """All pairs of parts."""
    z = np.empty(len(PARTS) ** 2, dtype)
    for place, (real, imag) in enumerate(itertools.product(PARTS, PARTS)):
        z.real[place], z.imag[place] = real, imag
    return z


def unsigned(z: np.ndarray) -> np.ndarray:
    """Without the signs that C's annex G and the array API standard leave open: those of parts
    beside NaN, and of zeros beside infinities."""
    result = z.copy()
    is_open = np.isnan(z.real) | np.isnan(z.imag)
    result.real[is_open], result.imag[is_open] = abs(z.real[is_open]), abs(z.imag[is_open])
    return result


@pytest.mark.parametrize(
    ("dtype", "device"),
    [
        pytest.param(dtype, device, id=f"{dtype}-{device}")
        for device in ("interp", *DEVICES)
        for dtype in "FD"
        # float64 takes drivers of shaders minutes to compile
        if dtype == "F" or device in ("interp", "cpu", "cuda")
    ],
)
def test_functions_at_their_edges(dtype: str, device: str) -> None:
    z = grid(dtype)
    names = of_today(NAMES.split(), device, lambda name: f"{name} {dtype}")
    wrong: list[str] = []
    for name, (got,) in zip(
        names, results(device, [(OPERATIONS[name], (z,)) for name in names]), strict=True
    ):
        wanted = getattr(np, name)(z.astype(np.clongdouble))
        error = errors(unsigned(got), unsigned(wanted))
        plain = np.isfinite(z) & np.isfinite(wanted)
        for part in ("real", "imag"):
            mine, right = getattr(got, part), getattr(wanted, part)
            flipped = (mine == 0) & (right == 0) & (np.signbit(mine) != np.signbit(right))
            error = np.where(plain & flipped, inf, error)
        wrong += [
            f"{name}({z[place]}) is {got[place]}, not {wanted[place]}"
            for place in np.flatnonzero(error > OPERATIONS[name].complex_bound)
        ]
    assert not wrong, "\n".join(wrong)


EXPM1 = [
    (0.0, 0.0, 0.0, 0.0),
    (-0.0, 0.0, 0.0, 0.0),
    (1.0, inf, nan, nan),
    (1.0, nan, nan, nan),
    (inf, 0.0, inf, 0.0),
    (-inf, 2.5, -1.0, 0.0),
    (-inf, inf, -1.0, 0.0),
    (-inf, nan, -1.0, 0.0),
    (inf, 2.5, -inf, inf),
    (inf, inf, inf, nan),
    (inf, nan, inf, nan),
    (nan, 0.0, nan, 0.0),
    (nan, 1.0, nan, nan),
    (nan, nan, nan, nan),
]
LOG1P = [
    (-1.0, 0.0, -inf, 0.0),
    (1.0, inf, inf, np.pi / 2),
    (1.0, nan, nan, nan),
    (-inf, 1.0, inf, np.pi),
    (inf, 1.0, inf, 0.0),
    (-inf, inf, inf, 3 * np.pi / 4),
    (inf, inf, inf, np.pi / 4),
    (inf, nan, inf, nan),
    (nan, 1.0, nan, nan),
    (nan, inf, inf, nan),
    (nan, nan, nan, nan),
    (1e-30, 1e-30, 1e-30, 1e-30),
]


@pytest.mark.parametrize(("name", "table"), [("expm1", EXPM1), ("log1p", LOG1P)])
def test_the_standards_tables(name: str, table: list[tuple[float, ...]]) -> None:
    """NumPy departs from these, and loses the digits of small numbers."""
    z = np.array([complex(real, imag) for real, imag, _, _ in table])
    wanted = np.array([complex(real, imag) for _, _, real, imag in table])
    ((got,),) = results("interp", [(OPERATIONS[name], (z,))])
    zeros = wanted == 0
    assert not np.signbit(got.real[zeros]).any() and not np.signbit(got.imag[zeros]).any()
    np.testing.assert_allclose(unsigned(got).real, unsigned(wanted).real, rtol=1e-15)
    np.testing.assert_allclose(unsigned(got).imag, unsigned(wanted).imag, rtol=1e-15)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_integer_powers_of_complex_numbers_are_products(device: str) -> None:
    """Powers of small Gaussian integers are exact, as NumPy's."""
    bases = [1 + 2j, -3 + 1j, 0.5 - 1j, 2j, 1, -2]
    powers = [-2, -1, 1, 2, 3, 5, 7, 0]
    a = np.repeat(np.array(bases, np.complex64), len(powers))
    b = np.tile(np.array(powers, np.complex64), len(bases))
    ((got,),) = results(device, [(OPERATIONS["power"], (a, b))])
    positive = b.real > 0
    exact = np.array([complex(x) ** int(y.real) for x, y in zip(a, b, strict=True)])
    assert np.array_equal(got[positive], exact[positive].astype(np.complex64))
    assert np.allclose(got, exact, rtol=1e-6)
    far = np.array([np.inf + 1j, np.nan, 2], np.complex64)
    ((got,),) = results(
        device, [(OPERATIONS["power"], (far, np.array([1, 0, 99.5], np.complex64)))]
    )
    assert got[0] == far[0] and got[1] == 1 and np.isclose(got[2], 2**99.5)


@pytest.mark.parametrize(("dtype", "device"), [("F", "interp"), ("D", "cpu")])
def test_inverse_functions_near_the_largest_numbers(dtype: str, device: str) -> None:
    """Where sums and products of the parts overflow, against mpmath."""
    part = np.finfo(dtype).dtype.type
    top = float(np.finfo(dtype).max)
    sizes = [top, top / 3, top**0.5 * 3, 2.0**39, 1e-10]
    parts = [part(sign * size) for size in sizes for sign in (1, -1)]
    z = np.array([complex(*each) for each in itertools.product(parts, parts)], dtype)
    names = ["asin", "acos", "acosh", "atanh"]  # asinh and atan are asin and atanh, turned
    wrong: list[str] = []
    outcomes = results(device, [(OPERATIONS[name], (z,)) for name in names])
    with mpmath.workprec(2400):  # of asin's square roots, whose first digits cancel
        for name, (got,) in zip(names, outcomes, strict=True):
            for at, result in zip(z.tolist(), got.tolist(), strict=True):
                exact = getattr(mpmath, name)(mpmath.mpc(at))
                unit = mpmath.mpf(float(np.spacing(part(float(abs(exact))))))
                if not abs(mpmath.mpc(result) - exact) <= 4 * unit:
                    wrong.append(f"{name}({at}) is {result}, not {complex(exact)}")
    assert not wrong, "\n".join(wrong[:20])
