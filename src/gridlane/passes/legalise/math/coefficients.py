"""Constants of legalize_math, and polynomials by the names in ``coefficients.txt``.

benchmarks/fit_math.py prints the constants: fractions that are right to 240 bits.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from gridlane.core.dtypes import f32, f64
from gridlane.passes.legalise.math.polynomials import Polynomial, polynomials

LN_2 = Fraction(0xB17217F7D1CF79ABC9E3B39803F2F6AF40F343267298B62D8A0D175B8BAB, 1 << 240)
LOG2_E = Fraction(0x171547652B82FE1777D0FFDA0D23A7D11D6AEF551BAD2B4B1164A2CD9A342, 1 << 240)
LN_10 = Fraction(0x24D763776AAA2B05BA95B58AE0B4C28A38A3FB3E76977E43A0F187A0807C1, 1 << 240)
LOG10_E = Fraction(0x6F2DEC549B9438CA9AADD557D699EE191F71A30122E4D1011D1F96A27BC7, 1 << 240)
LOG10_2 = Fraction(0x4D104D427DE7FBCC47C4ACD605BE48BC13569862A1E8F9A4C52F37935BE6, 1 << 240)
HALF_PI = Fraction(0x1921FB54442D18469898CC51701B839A252049C1114CF98E804177D4C7627, 1 << 240)
ATAN_HALF = Fraction(0x76B19C1586ED3DA2B7F222F65E1D4681B70A0AC3930E6F8071678B7374B1, 1 << 240)
HALF_LN_TAU = Fraction(0xEB3F8E4325F5A53494BC900144192023CFB08F8D13458B4DDEC6A3133DAA, 1 << 240)

TWO_BY_PI = int(
    "0xa2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2"
    "e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339"
    "f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea"
    "2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af436"
    "1d",
    16,
)
"""The first 1280 bits of 2 / pi behind the point."""

ERFC_LOW = {
    # what rounding the first coefficient of ERFC lost
    f32: -3.279086868701597e-08,
    f64: -4.3866530308040515e-17,
}

LGAMMA_LOW = {
    # what rounding the first coefficient of LGAMMA lost
    f32: 6.637773886097875e-09,
    f64: 1.007661781697423e-18,
}


_KNOWN = polynomials(Path(__file__).with_suffix(".txt"))


def __getattr__(name: str) -> Polynomial:
    """A polynomial of the file."""
    if name not in _KNOWN:
        raise AttributeError(f"{__name__} has no polynomial {name}")
    return _KNOWN[name]
