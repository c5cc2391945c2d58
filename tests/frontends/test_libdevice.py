"""``cuda.libdevice``: every name, on every device, against mpmath and numpy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import OPTIONS

from gridlane import cuda
from gridlane.core import argtypes
from gridlane.cuda import libdevice
from gridlane.cuda.ufuncs.generated import define
from gridlane.frontends.python.libdevice_stubs import SIGNATURES
from gridlane.frontends.python.translation import translate
from gridlane.ir.verifier import verify
from gridlane.launch import current
from gridlane.launch.devices import get_device

TYPES = {
    **{"d": argtypes.float64, "f": argtypes.float32, "l": argtypes.int64, "i": argtypes.int32},
    "h": argtypes.int16,
}


def make(name: str):
    """A kernel of one call for each item."""
    results, _, params = SIGNATURES[name].partition(":")
    given, outs = list("xyz"[: len(params)]), [f"r{n}" for n in range(len(results))]
    items, made = (", ".join(f"{each}[i]" for each in names) for names in (given, outs))
    text = (
        f"def kernel({', '.join(outs + given)}):\n    i = cuda.grid(1)\n    if i < x.size:\n"
        f"        {made} = libdevice.{name}({items})\n"
    )
    return define("kernel", text, {"cuda": cuda, "libdevice": libdevice})


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_name_compiles(name):
    results, _, params = SIGNATURES[name].partition(":")
    assert name in dir(libdevice)
    kinds = tuple(TYPES[letter][::1] for letter in results + params)
    kernel = make(name)
    verify(translate(kernel, kinds, OPTIONS))


X = np.concatenate([np.linspace(-3, 3, 41), [0.0, -0.0, 1e-3, 7.5, 20.0, 24.9, 40.0, 0.7]])
UNIT = np.linspace(0.01, 0.99, 31)


def phi(x):
    return mpmath.ncdf(x)


ONE = {
    "sinpi": (mpmath.sinpi, X),
    "cospi": (mpmath.cospi, X),
    "normcdf": (phi, X),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), X),
    "erfinv": (mpmath.erfinv, UNIT),
    "erfcinv": (lambda x: mpmath.erfinv(1 - x), UNIT),
    "normcdfinv": (lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1), UNIT),
    "rcbrt": (lambda x: 1 / mpmath.cbrt(x), np.abs(X) + 0.1),
    "j0": (lambda x: mpmath.besselj(0, x), X),
    "j1": (lambda x: mpmath.besselj(1, x), X),
    "y0": (lambda x: mpmath.bessely(0, x), np.abs(X) + 0.1),
    "y1": (lambda x: mpmath.bessely(1, x), np.abs(X) + 0.1),
}
"""Functions made of others, with their meaning and arguments."""


def run(name: str, *given: np.ndarray, kinds: str) -> list[np.ndarray]:
    made = [np.zeros(given[0].size, TYPES[letter].numpy) for letter in kinds]
    kernel = cuda.jit(make(name))
    kernel[given[0].size // 32 + 1, 32](*made, *given)
    return made


@pytest.mark.parametrize("name", ONE)
def test_float64_against_mpmath(name):
    current.choose(get_device("cpu"))
    function, x = ONE[name]
    with mpmath.workdps(40):
        want = np.array([float(function(mpmath.mpf(each))) for each in x])
    (made,) = run(name, x, kinds="d")
    np.testing.assert_allclose(made, want, rtol=4e-15, atol=4e-16)


EDGES = {
    "sinpi": [(1e22, 0.0), (-1.5, 1.0)],
    "cospi": [(1e22, 1.0), (2.0**53 - 1, -1.0), (-1.7e308, 1.0)],
    "erfcinv": [(5e-324, 27.21329321081295), (1e-310, 26.644806559364763), (2.0, -np.inf)],
    "normcdfinv": [(5e-324, -38.467405617144344), (1.0, np.inf)],
    "y0": [(5e-324, -473.9990734230043), (0.0, -np.inf)],
}


@pytest.mark.parametrize("name", EDGES)
def test_at_the_edges(name):
    current.choose(get_device("cpu"))
    x, want = np.array(EDGES[name]).T
    (made,) = run(name, np.ascontiguousarray(x), kinds="d")
    np.testing.assert_allclose(made, want, rtol=1e-15)


def test_bessel_functions_near_zero():
    current.choose(get_device("cpu"))
    n, x = np.array([2, 3, 2, 40], np.int32), np.array([1e-200, -3e-9, 2e-8, 1e-5])
    (made,) = run("jn", n, x, kinds="d")
    with mpmath.workdps(40):
        want = [float(mpmath.besselj(int(a), mpmath.mpf(b))) for a, b in zip(n, x, strict=True)]
    np.testing.assert_allclose(made, want, rtol=1e-14)


def test_half_turns_of_float32():
    """Within an ulp over all exponents, with the signs of their zeros."""
    current.choose(get_device("cpu"))
    bits = np.random.default_rng(5).integers(0, 2**32, 4000, np.uint32)
    edges = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.0**24 - 1, 2.0**30, 1e-45], np.float32)
    near = np.linspace(-3, 3, 4001, dtype=np.float32)
    x = np.concatenate([bits.view(np.float32), edges, near])
    x = x[np.isfinite(x)]
    for name, function in (("sinpi", mpmath.sinpi), ("cospi", mpmath.cospi)):
        with mpmath.workdps(60):
            exact = [function(mpmath.mpf(float(each))) for each in x]
            (made,) = run(f"{name}f", x, kinds="f")
            spacing = np.spacing(np.abs(made).clip(2.0**-126)).astype(float)
            off = [abs(mpmath.mpf(float(m)) - e) for m, e in zip(made, exact, strict=True)]
            ulps = np.array([float(o / s) for o, s in zip(off, spacing, strict=True)])
        assert ulps.max() < 1.0, (name, x[ulps.argmax()])
        both = run("sincospif", x, kinds="ff")
        np.testing.assert_array_equal(both[name == "cospi"], made)
        (none,) = run(f"{name}f", np.array([np.inf, -np.inf, np.nan], np.float32), kinds="f")
        assert np.isnan(none).all()
    zeros = np.array([0.0, -0.0, 4.0, -4.0], np.float32)
    (made,) = run("sinpif", zeros, kinds="f")
    assert np.signbit(made).tolist() == np.signbit(zeros).tolist()


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_float32_on_every_device(device):
    current.choose(get_device(device))
    x = np.linspace(0.05, 0.95, 32, dtype=np.float32)
    # Drivers of shaders on CPUs compile what is computed in float64 for ten seconds and more.
    wide = ("normcdf", "erfinv") if device in ("interp", "cpu") else ()
    for name in ("sinpi", "cospi", "rcbrt", *wide):
        with mpmath.workdps(30):
            want = np.array([float(ONE[name][0](mpmath.mpf(float(each)))) for each in x])
        (made,) = run(f"{name}f", x, kinds="f")
        np.testing.assert_allclose(made, want, rtol=4e-7)
    words = np.arange(-16, 16, dtype=np.int32) * 123_456_789
    for name, want in (
        ("popc", [bin(int(w) & 0xFFFFFFFF).count("1") for w in words]),
        ("mulhi", [int(w) * int(w) >> 32 for w in words]),
        ("byte_perm", (words.view(np.uint32) >> 8 | words.view(np.uint32) << 24).view(np.int32)),
    ):
        others = words if name == "mulhi" else np.full(32, 0x4321, np.int32)
        given = {"popc": (words,), "mulhi": (words, words), "byte_perm": (words, words, others)}
        (made,) = run(name, *given[name], kinds="i")
        assert list(made) == list(want), name


def test_directions():
    """Between two floats the lower and the upper one; an exact result is itself."""
    current.choose(get_device("cpu"))
    x = np.random.default_rng(1).standard_normal(64).astype(np.float32)
    y = np.random.default_rng(2).standard_normal(64).astype(np.float32)
    for name, exact in (
        ("fadd", x.astype(np.longdouble) + y),
        ("fsub", x.astype(np.longdouble) - y),
        ("fmul", x.astype(np.longdouble) * y),
    ):
        found = {way: run(f"{name}_{way}", x, y, kinds="f")[0] for way in ("rd", "ru", "rz", "rn")}
        assert (found["rd"] <= exact).all() and (found["ru"] >= exact).all()
        inexact = found["rd"] != exact
        up = np.nextafter(found["rd"], np.float32(np.inf))
        np.testing.assert_array_equal(found["ru"], np.where(inexact, up, found["rd"]))
        np.testing.assert_array_equal(found["rz"], np.where(exact > 0, found["rd"], found["ru"]))
        np.testing.assert_array_equal(found["rn"], exact.astype(np.float32))
    whole = np.array([2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0, 7, 2**62 + 1, -3])
    for name, kind in (("ll2double", "d"), ("ll2float", "f")):
        down, up, inward = (run(f"{name}_{w}", whole, kinds=kind)[0] for w in ("rd", "ru", "rz"))
        for n, number in enumerate(map(int, whole)):
            assert int(down[n]) <= number <= int(up[n])
            assert int(down[n]) == number or np.nextafter(down[n], up[n].dtype.type("inf")) == up[n]
            assert inward[n] == (down[n] if number > 0 else up[n])


def test_parts():
    current.choose(get_device("cpu"))
    x = np.array([0.0, -2.5, 1e-310, np.inf, 7.0, -0.75])
    fraction, exponent = run("frexp", x, kinds="di")
    wanted = np.frexp(x)
    np.testing.assert_array_equal(fraction, wanted[0])
    np.testing.assert_array_equal(exponent[:3], wanted[1][:3])
    s, c = run("sincospi", x[[0, 1, 4, 5]], kinds="dd")
    np.testing.assert_allclose(s, [0, -1, 0, -np.sqrt(0.5)], atol=1e-15)
    np.testing.assert_allclose(c, [1, 0, -1, -np.sqrt(0.5)], atol=1e-15)
    rest, bits = run("remquo", np.array([7.0, -7.0, 5.5]), np.array([2.0, 2.0, -3.0]), kinds="di")
    np.testing.assert_array_equal(rest, [-1.0, 1.0, -0.5])
    np.testing.assert_array_equal(bits, [4, -4, -2])
    (n,) = run("ilogb", x, kinds="i")
    np.testing.assert_array_equal(n, [-(2**31), 1, -1030, 2**31 - 1, 2, -1])
    (order,) = run("jn", np.full(6, 3, np.int32), np.array([0.5, 1, 2, 5, 10, 30.0]), kinds="d")
    with mpmath.workdps(30):
        want = [float(mpmath.besselj(3, v)) for v in (0.5, 1, 2, 5, 10, 30)]
    np.testing.assert_allclose(order, want, rtol=1e-13)
