"""Calls of libdevice's functions that nothing defines, against mpmath and numpy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.dtypes import f32, f64, i16, i32, i64
from gridlane.core.errors import PtxError
from gridlane.cuda.ufuncs.generated import define
from gridlane.frontends.ptx.forms.libdevice import OPS, OTHERS
from gridlane.frontends.python.libdevice_stubs import SIGNATURES as PYTHONS
from gridlane.launch import current
from gridlane.launch.devices import get_device

COUNT = 24
UNIT = ("asin", "acos", "atanh")
"""Functions of numbers within -1 and 1."""
ABOVE_ONE = (
    *("acosh", "log", "log2", "log10", "log1p", "rsqrt", "sqrt", "tgamma", "lgamma", "pow"),
)
EXACT = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "nearbyint": np.rint,
    "fabs": np.abs,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "fmod": np.fmod,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "ldexp": np.ldexp,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}
NAMED = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp10": lambda x: mpmath.power(10, x),
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "tgamma": mpmath.gamma,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "pow": mpmath.power,
    "fma": lambda x, y, z: x * y + z,
}


def call(name: str, params: int, suffixes: list[str]) -> str:
    """PTX of a kernel that calls a function on arrays."""
    declared = ", ".join(f".param .{suffixes[n]} p{n}" for n in range(params))
    lines = [
        ".version 8.3", ".target sm_80", ".address_size 64",
        f".extern .func (.param .{suffixes[-1]} r) {name} ({declared});",
        ".visible .entry k(" + ", ".join(f".param .u64 a{n}" for n in range(params + 1)) + ") {",
        ".reg .b64 %rd<20>; .reg .b32 %t; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b32 %r<9>;",
        ".reg .b64 %q<9>; .reg .b16 %h<9>;",
        "mov.u32 %t, %tid.x;",
    ]  # fmt: skip
    register = {"f32": "%f", "f64": "%d", "b64": "%q", "b32": "%r", "b16": "%h"}
    for n, kind in enumerate(suffixes):
        size = int(kind[1:]) // 8
        lines += [f"ld.param.u64 %rd{n}, [a{n}];", f"mad.wide.u32 %rd{n}, %t, {size}, %rd{n};"]
        if n < params:
            lines.append(f"ld.global.{kind} {register[kind]}{n}, [%rd{n}];")
    lines.append("{ " + " ".join(f".param .{kind} c{n};" for n, kind in enumerate(suffixes)))
    lines += [
        f"st.param.{kind} [c{n}], {register[kind]}{n};" for n, kind in enumerate(suffixes[:-1])
    ]
    given = ", ".join(f"c{n}" for n in range(params))
    result = f"{register[suffixes[-1]]}{params}"
    lines += [
        f"call (c{params}), {name}, ({given});",
        f"ld.param.{suffixes[-1]} {result}, [c{params}]; }}",
        f"st.global.{suffixes[-1]} [%rd{params}], {result};",
        "ret; }",
    ]
    return "\n".join(lines)


def operands(stem: str, kinds: list[np.dtype]) -> list[np.ndarray]:
    made, random = [], np.random.default_rng([len(kinds), *stem.encode()])
    for kind in kinds:
        if kind == np.int32:
            values = random.integers(-20, 20, COUNT)
        elif stem in UNIT:
            values = random.uniform(-1, 1, COUNT)
        elif stem in ABOVE_ONE:
            values = random.uniform(1, 9, COUNT)
        else:
            values = random.uniform(-9, 9, COUNT)
        made.append(values.astype(kind))
    return made


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("name", sorted(OPS))
def test_a_function(name, device):
    current.choose(get_device(device))
    result, params, _ = OPS[name]
    is_single = result.bits == 32
    stem = name.removeprefix("__nv_").removeprefix("fast_").removesuffix("f" if is_single else "")
    types = [*params, result]
    given = operands(stem, [np.dtype(f"{'i' if t is i32 else 'f'}{t.size}") for t in params])
    kinds = ["b32" if t is i32 else f"f{t.bits}" for t in types]
    out = np.zeros(COUNT, f"f{result.size}")
    cuda.RawKernel(call(name, len(given), kinds), "k")(1, COUNT, (*given, out))
    if stem in EXACT:
        assert np.array_equal(out, EXACT[stem](*given))
        return
    function = NAMED.get(stem) or getattr(mpmath, stem)
    with mpmath.workdps(40):
        want = [function(*map(mpmath.mpf, map(float, row))) for row in zip(*given)]
        worst = max(
            abs(mpmath.mpf(float(got)) - exact) / float(np.spacing(out.dtype.type(abs(exact))))
            for got, exact in zip(out, want)
        )
    # glibc's vector functions of f64 are within 4.
    usual = 4 if device == "cpu" and not is_single else 2
    assert worst < max(usual, {"tgamma": 16, "lgamma": 16, "pow": 3}.get(stem, 2))


TYPES = {f64: "f64", f32: "f32", i64: "b64", i32: "b32", i16: "b16"}
NUMPY = {"d": "f8", "f": "f4", "l": "i8", "i": "i4", "h": "i2"}


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("name", sorted(name for name in OTHERS if name[5:] in PYTHONS))
def test_a_function_is_that_of_python(name, device):
    """``tests/frontends/test_libdevice.py`` compares that with mpmath and numpy."""
    current.choose(get_device(device))
    result, params, _ = OTHERS[name]
    signature = PYTHONS[name[5:]]
    given = operands(name[5:], [np.dtype(NUMPY[letter]) for letter in signature[2:]])
    if name[5:].rstrip("f") in ("jn", "yn", "ldexp", "scalbn", "powi"):
        given = [abs(each) if each.dtype.kind == "i" else each for each in given]
    if name[5:7] in ("j0", "j1", "y0", "y1"):  # far from 0 too, by sines
        given = [np.concatenate([each[::2], 8 * each[1::2]]) for each in given]
    made, wanted = (np.zeros(COUNT, NUMPY[signature[0]]) for _ in range(2))
    types = [TYPES[each] for each in (*params, result)]
    cuda.RawKernel(call(name, len(given), types), "k")(1, COUNT, (*given, made))
    letters = ", ".join("abc"[: len(given)])
    items = ", ".join(f"{each}[i]" for each in "abc"[: len(given)])
    text = f"def k({letters}, out):\n    i = cuda.grid(1)\n    out[i] = f({items})\n"
    function = getattr(cuda.libdevice, name[5:])
    cuda.jit(define("k", text, {"cuda": cuda, "f": function}))[1, COUNT](*given, wanted)
    assert made.tobytes() == wanted.tobytes()


def test_a_function_that_is_declared_else():
    text = call("__nv_sinf", 1, ["f64", "f64"])
    with pytest.raises(PtxError, match=r"__nv_sinf takes f32 and returns f32; it is declared else"):
        cuda.RawKernel(text, "k")(1, 1, (np.zeros(1), np.zeros(1)))


def test_a_function_that_no_table_has():
    text = call("__nv_absentf", 1, ["f32", "f32"])
    with pytest.raises(PtxError, match=r"__nv_absentf is extern, and nothing defines it"):
        cuda.RawKernel(text, "k")(1, 1, (np.zeros(1, "f4"), np.zeros(1, "f4")))


def test_a_body_comes_before_the_table():
    text = call("__nv_sinf", 1, ["f32", "f32"])
    body = (
        ".func (.param .f32 r) __nv_sinf (.param .f32 p0)\n{ st.param.f32 [r], 0f40A00000; ret; }"
    )
    text = text.replace(".extern .func (.param .f32 r) __nv_sinf (.param .f32 p0);", body)
    out = np.zeros(1, np.float32)
    cuda.RawKernel(text, "k")(1, 1, (np.ones(1, np.float32), out))
    assert out[0] == 5


def test_a_function_without_its_result():
    text = call("__nv_sinf", 1, ["f32", "f32"])
    text = text.replace("(.param .f32 r) __nv", "__nv").replace("call (c1), ", "call ")
    with pytest.raises(PtxError, match=r"__nv_sinf returns 1 values, and is declared with 0"):
        cuda.RawKernel(text, "k")(1, 1, (np.zeros(1, "f4"), np.zeros(1, "f4")))


CONVERSIONS = [
    *(f"{kind}2{to}_{way}" for kind in ("double", "float") for to in ("int", "uint", "ll", "ull")
      for way in ("rn", "rd", "ru", "rz")),
    *("llrint", "llrintf", "llround", "llroundf"),
]  # fmt: skip


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_integers_of_nan_and_beyond_the_range(name, device):
    """As cvt of the PTX ISA: a NaN is 0, or the upper bit where 64 bits take part."""
    current.choose(get_device(device))
    result, (source,), _ = OTHERS[f"__nv_{name}"]
    is_unsigned, bits = "2u" in name, result.bits
    given = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0, 7], f"f{source.size}")
    least, most = (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    of_nan = 2 ** (bits - 1) if 64 in (source.bits, bits) else 0
    if not is_unsigned:
        of_nan = -of_nan
    out = np.zeros(7, f"{'u' if is_unsigned else 'i'}{result.size}")
    text = call(f"__nv_{name}", 1, [TYPES[source], TYPES[result]])
    cuda.RawKernel(text, "k")(1, 7, (given, out))
    assert out.tolist() == [of_nan, most, least, most, least, 0, 7]


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("suffix", ["", "f"])
@pytest.mark.parametrize(
    ("name", "count"), [("rhypot", 2), ("norm3d", 3), ("norm4d", 4), ("rnorm3d", 3), ("rnorm4d", 4)]
)
def test_lengths_that_overflow_or_vanish(name, count, suffix, device):
    current.choose(get_device(device))
    dtype = np.dtype("f4" if suffix else "f8")
    info = np.finfo(dtype)
    values = [info.max, -info.max / 2, info.tiny, -info.smallest_subnormal, 0, 3, np.inf]
    rows = np.array([[values[(n + k * n // 7) % 7] for n in range(49)] for k in range(count)])
    given = [np.ascontiguousarray(row, dtype) for row in rows]
    out = np.zeros(49, dtype)
    kinds = ["f32" if suffix else "f64"] * (count + 1)
    cuda.RawKernel(call(f"__nv_{name}{suffix}", count, kinds), "k")(1, 49, (*given, out))
    for got, row in zip(out, zip(*given)):
        with mpmath.workdps(40):
            length = mpmath.sqrt(sum(mpmath.mpf(float(x)) ** 2 for x in row))
            exact = length if name.startswith("n") else 1 / length if length else mpmath.inf
        if exact > float(info.max) or np.isinf(got):
            assert np.isinf(got) and exact > float(info.max) * (1 - float(info.eps))
        else:
            with np.errstate(over="ignore"):
                assert abs(float(got) - exact) <= 2 * np.spacing(dtype.type(exact)), (row, got)
