"""Files of polynomials, which scripts print and passes read."""

import mpmath
import pytest

from gridlane.core.dtypes import f32, f64
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma import coefficients as by_fma
from gridlane.passes.legalise.math.polynomials import polynomials

TEXT = """# printed
P x**2 + 1, |x| <= 1
  f32 1e-9 1.0 0.0
    1.0
  f64 2.5e-19 1.0 -0.0 1.0
Q_2 of two words
  f64 0.1 3.0
"""


def value(numbers, x):
    return sum(mpmath.mpf(each) * x**power for power, each in enumerate(numbers))


def test_rows_go_on_in_lines_with_four_spaces(tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text(TEXT)
    made = polynomials(path)
    assert made == {"P": {f32: (1.0, 0.0, 1.0), f64: (1.0, -0.0, 1.0)}, "Q_2": {f64: (3.0,)}}
    assert str(made["P"][f64][1]) == "-0.0"


def test_what_the_files_say_is_what_mpmath_computes():
    x = mpmath.mpf("0.3")
    for row, size in ((f32, 1e-8), (f64, 1e-17)):
        tail = value(coefficients.EXP[row], x)
        assert abs(x**3 * tail + 1 + x + x * x / 2 - mpmath.exp(x)) < size
        odd = value(by_fma.SIN[row], x * x)
        assert abs(x + x**3 * odd - mpmath.sin(x)) < size
    assert len(by_fma.ATAN[f64]) == 20 and len(coefficients.ERFC[f64]) == 22


def test_a_name_that_no_file_has():
    with pytest.raises(AttributeError, match="has no polynomial ACOS"):
        _ = by_fma.ACOS
