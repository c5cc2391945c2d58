"""The table of operations: its names, its texts, Python's numbers, gradients, errors."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples
from tests.xp.references import errors, exactly, special, wider

from gridlane import xp
from gridlane.xp.functions import function
from gridlane.xp.operations import OPERATIONS, OVER_AN_AXIS, ROWS
from gridlane.xp.operations.record import Operation

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

STANDARD = """
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1
floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p
log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
square sqrt subtract tan tanh trunc where
"""
LIBRARY = """
sin cos sqrt exp log tan asin acos atan sinh cosh tanh asinh acosh atanh abs floor ceil round trunc
log10 log2 exp2 expm1 log1p cbrt erf erfc tgamma lgamma sign reciprocal square negative positive
radians degrees isnan isinf isfinite frexp modf rsqrt fract saturate bitwise_not logical_not sinc
sinpi cospi tanpi sec csc cot asec acsc acot sech csch coth asech acsch acoth cube quartic quintic
sigmoid relu selu gelu swish mish softplus softsign hard_sigmoid hard_tanh gaussian bent_identity
identity binary_step bipolar_step srgb_to_linear linear_to_srgb inverse_smoothstep noise_white hash
length normalize_vector entr logit expit
add subtract multiply divide atan2 power hypot fmod remainder copysign fmax fmin fdim logaddexp
logaddexp2 heaviside ldexp nextafter step bitwise_and bitwise_or bitwise_xor left_shift right_shift
logical_and logical_or logical_xor greater greater_equal less less_equal equal not_equal leaky_relu
elu prelu rrelu celu ping_pong gamma_correct inverse_gamma hash2 distance_euclidean
distance_manhattan distance_chebyshev exponential_pdf exponential_cdf softmax log_softmax
kl_divergence cross_entropy binary_cross_entropy hinge_loss squared_hinge cosine_similarity
cosine_distance l1_loss l2_loss smooth_l1 log_cosh poisson_loss xlogy rel_entr boxcox inv_boxcox
softclip sparsemax iqr mad tukey_transform
fma clamp mix smoothstep normalize denormalize wrap smootherstep distance_minkowski normal_pdf
uniform_pdf uniform_cdf huber_loss quantile_loss standardize unstandardize gumbel_softmax
z_score_robust winsorize modular_add modular_subtract modular_multiply modular_power
bezier_quadratic map_range bezier_cubic
"""
NO_ELEMENTS = {"isnat", "matmul", "matvec", "vecdot", "vecmat"}
"""NumPy's ufuncs of times, and of vectors."""


def test_every_name_is_in_the_table():
    known = {*OPERATIONS, *(each.name for each in OVER_AN_AXIS)}
    ufuncs = {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)} - NO_ELEMENTS
    assert not {*STANDARD.split(), *LIBRARY.split(), *ufuncs} - known
    assert all(callable(getattr(xp, name)) for name in OPERATIONS)


def test_names_are_those_of_one_row():
    names = [name for row in ROWS for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names)) == len(OPERATIONS)
    assert not {each.name for each in OVER_AN_AXIS} & set(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_have_texts_and_gradients_in_names_of_the_table(row: Operation) -> None:
    assert row.summary and row.section
    assert len(row.gradient) in (0, row.arity)
    allowed = {*OPERATIONS, *"gy", *"abcde"[: row.arity]}
    for text in filter(None, row.gradient):
        names = {each.id for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Name)}
        assert names <= allowed and "g" in names


POINTS = {
    "acosh": [1.7],
    "asec": [1.7],
    "acsc": [-1.6],
    "acoth": [1.8],
    "boxcox": [1.7, 0.6],
    "tukey_transform": [1.7, -0.6],
    "power": [1.7, 0.6],
    "float_power": [1.7, 0.6],
    "inverse_gamma": [0.7, 2.2],
    "uniform_cdf": [0.3, -0.4, 1.9],
    "remainder": [7.3, 2.1],
    "fmod": [7.3, -2.1],
    "clip": [0.3, -0.4, 0.9],
    "smoothstep": [-0.4, 1.9, 0.7],
    "smootherstep": [-0.4, 1.9, 0.7],
    "hinge_loss": [0.3, 1.0],
    "huber_loss": [0.3, 1.5, 0.7],
    "copysign": [0.3, -1.5],
}
"""Where derivatives are taken, if not at the usual points."""
USUAL = [0.37, 0.61, 0.83, 0.29, 0.45]


@pytest.mark.parametrize("row", [each for each in ROWS if each.gradient], ids=lambda row: row.name)
def test_gradients_are_the_derivatives(row: Operation) -> None:
    """Central differences at a higher precision, of the function that judges the row."""
    if row.name in ("where", "ldexp"):
        second = [True, 0.3, 0.7] if row.name == "where" else [0.3, 4]
        points = [np.array([each]) for each in second]
    else:
        points = [np.array([each]) for each in POINTS.get(row.name, USUAL[: row.arity])]
    arrays = [xp.asarray(each, device="interp") for each in points]
    names: dict[str, Any] = {name: function(name) for name in OPERATIONS}
    names |= dict(zip("abcde", arrays, strict=False))
    names |= {"g": xp.asarray(np.array([1.0]), device="interp"), "y": names[row.name](*arrays)}
    for place, text in enumerate(row.gradient):
        if not text:
            continue
        got = float(np.asarray(eval(text, names))[0])
        step = np.longdouble(1e-5)
        ends = []
        for sign in (1, -1):
            moved = [wider(each) for each in points]
            moved[place] = moved[place] + sign * step
            ends.append(np.asarray(exactly(row, tuple(moved)))[0])
        wanted = float((ends[0] - ends[1]) / (2 * step))
        assert got == pytest.approx(wanted, rel=1e-6, abs=1e-8), text


NUMBERS = [0, 1, 2, 3, -1, -3, 200, 70000, -(1 << 40), 1 << 63, 1 << 70, True, 0.5, 2.0, -1.0]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "i8", "f4", "f8"])
def test_numbers_are_numpys(dtype: str) -> None:
    host = special(np.dtype(dtype), 20, 3)
    array = xp.asarray(host, device="interp")
    names = ("add", "multiply", "less", "less_equal", "greater", "greater_equal", "equal")
    for name in (*names, "not_equal", "power", "maximum", "remainder"):
        for number in NUMBERS:
            for flip in (False, True) if name != "power" else (False,):
                ours = outcome(lambda: getattr(xp, name)(*order(array, number, flip)))
                theirs = outcome(lambda: getattr(np, name)(*order(host, number, flip)))
                assert same(ours, theirs), (name, dtype, number, flip, ours, theirs)


def order(array: Any, number: Any, flip: bool) -> tuple[Any, Any]:
    return (number, array) if flip else (array, number)


def outcome(call: Callable[[], Any]) -> Any:
    """A result, or the class of an error."""
    try:
        return np.asarray(call())
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, type) or isinstance(theirs, type):
        return isinstance(ours, type) and isinstance(theirs, type) and issubclass(ours, theirs)
    if ours.dtype != theirs.dtype:
        return False
    if ours.dtype.kind in "biu":
        return np.array_equal(ours, theirs)
    return bool((errors(ours, wider(theirs)) <= 1).all())


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_negative_powers_of_integers_are_refused(device: str) -> None:
    bases = xp.asarray(np.array([2, 3], np.int32), device=device)
    with pytest.raises(ValueError, match="negative integer powers"):
        _ = bases**-1
    with pytest.raises(ValueError, match="negative integer powers"):
        np.asarray(bases ** xp.asarray(np.array([2, -1], np.int32), device=device))
    assert np.asarray(bases ** xp.asarray(np.array([2, 0], np.int32), device=device)).tolist() == [
        4,
        1,
    ]


def test_what_no_loop_takes():
    floats, bools = xp.asarray([1.0]), xp.asarray([True])
    for call in (
        lambda: bools - bools,
        lambda: floats << 1,
        lambda: xp.gcd(floats, floats),
        lambda: xp.erf(xp.asarray([1j])),
        lambda: xp.relu(bools),
        lambda: xp.hash(xp.asarray([1j])),
        lambda: xp.modular_add(floats, 1, 2),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(OverflowError):
        xp.asarray(np.array([1], np.int8)) + 300


DIFFERENT = {"floor_divide", "spacing"}
"""By docs/operations.md: infinities have the standard's quotients, and NumPy's spacings of float16
are positive."""


def test_bfloat16_beside_other_dtypes():
    """Python's floats leave it; beside arrays it is promoted as NumPy does."""
    narrow = xp.asarray(np.array([1.5, -2.0]), dtype=xp.bfloat16, device="interp")
    for result in (narrow + 1.0, 1 - narrow, narrow * True, narrow**2, xp.sigmoid(narrow)):
        assert result.dtype == xp.bfloat16
    assert xp.where(narrow > 0.5, narrow, 0.25).dtype == xp.bfloat16
    for code in "bhilefdFD":
        other = np.array([3, 5], code)
        mine = xp.add(narrow, xp.asarray(other, device="interp"))
        theirs = np.add(np.asarray(narrow), other)
        assert mine.dtype == theirs.dtype, code
        assert np.array_equal(mine, theirs)
        assert xp.mix(narrow, xp.asarray(other.real, device="interp"), 0).dtype != xp.bfloat16 or (
            theirs.dtype == xp.bfloat16
        )


UFUNCS = [row for row in ROWS if isinstance(getattr(np, row.name, None), np.ufunc)]


@settings(max_examples=examples(40, 2000), deadline=None)
@given(st.data())
def test_random_rows_and_dtypes_are_numpys(data: st.DataObject) -> None:
    """Dtypes and results of operands of different dtypes, and of Python's numbers."""
    row = data.draw(st.sampled_from(UFUNCS))
    host: list[Any] = []
    for place in range(row.arity):
        kind = np.dtype(data.draw(st.sampled_from("?bBhHiIlLefdFD")))
        host.append(special(kind, 7, data.draw(st.integers(0, 999))))
        if place and data.draw(st.booleans()):
            host[place] = data.draw(st.sampled_from([True, 3, 2.5, 0]))
    ours = outcome_of(
        row,
        [
            xp.asarray(each, device="interp") if isinstance(each, np.ndarray) else each
            for each in host
        ],
        xp,
    )
    theirs = outcome_of(row, host, np)
    if isinstance(theirs, type) or isinstance(ours, type):
        assert isinstance(ours, type) and isinstance(theirs, type)
        return
    for mine, want in zip(ours, theirs, strict=True):
        assert mine.dtype == want.dtype
        if row.name == "reciprocal" and want.dtype.kind in "iu":
            want = np.where(host[0] == 0, 0, want)
        if mine.dtype.kind in "biu":
            assert np.array_equal(mine, want)
        elif mine.dtype.kind == "f" and row.name not in DIFFERENT:
            scale = np.full(mine.shape, 1.0)
            assert (errors(mine, wider(want), scale) <= 8).all()


def outcome_of(row: Operation, operands: list[Any], library: Any) -> Any:
    try:
        result = getattr(library, row.name)(*operands)
        return [np.asarray(each) for each in (result if isinstance(result, tuple) else (result,))]
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
