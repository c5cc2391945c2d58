"""Launches of tile programs, against numpy, on every device."""

from __future__ import annotations

import threading
from collections import namedtuple

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles import programs

import gridlane
from gridlane import cuda, tiles
from gridlane.core.errors import ArgumentError, KernelError
from gridlane.tiles.descriptors import TensorDescriptor

ALL = ["interp", *DEVICES]
tl = tiles.language


def floats(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=ALL)
def device(request):
    with gridlane.device(request.param):
        yield request.param


def test_add(device):
    x, y, out = floats(1000), floats(1000, seed=2), np.zeros(1000, np.float32)
    programs.add[lambda given: (tiles.cdiv(given["n"], given["BLOCK"]),)](
        x, y, out, 1000, BLOCK=128
    )
    assert (out == x + y).all()


def test_an_array_without_axes(device):
    x, out = np.array(3.5, np.float32), np.zeros((), np.float32)
    programs.add[(1,)](x, x, out, 1, BLOCK=32)
    assert out == 7


def test_device_arrays(device):
    x, out = cuda.to_device(floats(100)), cuda.device_array(100, np.float32)
    programs.add[(4,)](x, x, out, 100, 32)
    assert (out.copy_to_host() == floats(100) * 2).all()


def test_softmax(device):
    x, out = floats(5, 13), np.zeros((5, 13), np.float32)
    programs.softmax[(2,)](out, x, 13, 13, 5, 13, BLOCK=16)
    wanted = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_product(device):
    m, n, k = 20, 35, 50
    a, b, c = floats(m, k), floats(k, n, seed=2), np.zeros((m, n), np.float32)
    programs.product[(2, 2)](a, b, c, m, n, k, M=16, N=32, K=16)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_descriptors(device):
    x, out = floats(4, 6), np.full((8, 8), 7, np.float32)
    source = TensorDescriptor.from_tensor(x, [4, 4])
    target = TensorDescriptor.from_tensor(out, [4, 4])
    programs.copy_block[(1,)](source, target, 2)
    wanted = np.zeros((4, 4), np.float32)
    wanted[:3, 1:] = x[1:, :3]
    assert (out[:4, :4] == wanted).all()
    assert (out[4:] == 7).all() and (out[:, 4:] == 7).all()


Pair = namedtuple("Pair", "shift other")  # as programs write it


@pytest.mark.parametrize("make", [lambda *items: tuple(items), Pair])
@pytest.mark.parametrize("shift", [1, 5, 2.5])
def test_tuples(device, make, shift):
    """An item that is 1 is a constant, as an argument is."""
    x, out, other = floats(8), np.zeros(8, np.float32), np.array([3], np.float32)
    programs.scaled[(1,)](x, make(shift, other), out, 8, 2.0, BLOCK=8)
    np.testing.assert_allclose(out, x * 2 + shift + 3, rtol=1e-6)


def test_reinterpreted_arrays():
    x, out = floats(4), np.zeros(4, np.int32)
    wrapped = tiles.reinterpret(x, tl.int32)
    programs.add[(1,)](wrapped, wrapped, out, 4, BLOCK=4)
    assert (out == x.view(np.int32) * 2).all()


def test_assertions(device):
    x = np.array([1, -1], np.int32)
    programs.checked[(1,)](x, 2, BLOCK=2)
    programs.checked[(1,)](np.abs(x), 2, BLOCK=2, debug=True)
    with pytest.raises((AssertionError, KernelError), match="a negative number"):
        programs.checked[(1,)](x, 2, BLOCK=2, debug=True)


def test_assertions_of_scalars(device):
    kernel = tiles.jit(programs.checked_scalar.fn, debug=True)
    kernel[1](cuda.to_device(np.array([3], np.int32)), 4)
    with pytest.raises(KernelError, match="too large"):
        kernel[1](cuda.to_device(np.array([4], np.int32)), 4)


def test_the_launch_decides_about_assertions():
    mine = tiles.jit(programs.checked.fn, debug=True)
    x = np.array([1, -1], np.int32)
    for _ in range(2):
        with pytest.raises((AssertionError, KernelError), match="a negative number"):
            mine[(1,)](x, 2, BLOCK=2)
        mine[(1,)](np.abs(x), 2, BLOCK=2)
        mine[(1,)](x, 2, BLOCK=2, debug=False)


@pytest.mark.parametrize("power", ["2 ** N", "1 << N"])
def test_constants_of_many_digits_are_refused(power):
    @tiles.jit
    def wide(out, N: tl.constexpr):
        tl.store(out, 2**N == 1 << N)

    out = np.zeros(1, np.int32)
    wide[(1,)](out, 70)
    assert out[0] == 1
    wide._unsafe_update_src(f"def wide(out, N: tl.constexpr):\n    tl.store(out, {power})\n")
    with pytest.raises(tiles.CompilationError, match="does not fit in 64 bits"):
        wide[(1,)](out, 10**9)


def test_a_grid_of_no_programs_launches_nothing():
    x, out = floats(4), np.zeros(4, np.float32)
    kernel = programs.add[(0,)](x, x, out, 4, BLOCK=4)
    assert not out.any()
    assert kernel.name == "add"


def test_a_program_is_compiled_once_for_its_types():
    mine = tiles.jit(programs.add.fn)
    x, out = floats(64), np.zeros(64, np.float32)
    for n in (5, 9, 63):
        mine[(1,)](x, x, out, n, BLOCK=64)
    assert len(mine._programs) == 1
    mine[(1,)](x, x, out, 64, BLOCK=64)  # a multiple of 16
    mine[(1,)](x, x, out, 48, BLOCK=64)
    assert len(mine._programs) == 2
    mine[(1,)](x, x, out, 1, BLOCK=64)  # 1 is a constant
    mine[(1,)](x, x, out, 2**40, BLOCK=64)  # of 64 bits
    mine[(1,)](x, x, out, 64, BLOCK=32)
    mine[(1,)](x.astype(np.float64), x, out, 64, BLOCK=64)
    assert len(mine._programs) == 6
    plain = tiles.jit(programs.add.fn, do_not_specialize=["n"])
    for n in (1, 2, 16):
        plain[(1,)](x, x, out, n, BLOCK=64)
    assert len(plain._programs) == 1


def test_equal_constants_of_other_types_are_others():
    @tiles.jit
    def put(out, VALUE: tl.constexpr):
        tl.store(out, VALUE / 2 if isinstance(VALUE, float) else VALUE // 2)

    out = np.zeros(1, np.float32)
    for value, wanted in ((3, 1.0), (3.0, 1.5), (True, 0.0), (1, 0.0), (1.0, 0.5)) * 2:
        put[(1,)](out, value)
        assert out[0] == wanted

    @tiles.jit
    def inverse(out, VALUES: tl.constexpr):
        tl.store(out, VALUES[0] * 2.0 if isinstance(VALUES[0], float) else 5.0)

    for value, sign in ((0.0, False), (-0.0, True), (0, False), (False, False)) * 2:
        inverse[(1,)](out, (value,))
        assert np.signbit(out[0]) == sign
        assert out[0] == (0 if isinstance(value, float) else 5)


def test_read_only_arrays(device):
    x, out = floats(8), np.zeros(8, np.float32)
    x.flags.writeable = False
    programs.add[(1,)](x, x[::-1][::-1], out, 8, BLOCK=8)
    assert (out == x * 2).all()
    whole = floats(8)
    part = whole[:4]
    part.flags.writeable = False
    programs.add[(1,)](part, part, whole, 4, BLOCK=4)
    assert (whole[:4] == floats(8)[:4] * 2).all()
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="wrote into a read-only array"):
        programs.add[(1,)](x, floats(8, seed=3), out, 8, BLOCK=8)
    assert (out == x * 2).all()


class Sized:
    """A constant without a hash."""

    __hash__ = None

    def __init__(self, size):
        self.size = size

    def __eq__(self, other):
        return True


def test_constants_without_a_hash():
    @tiles.jit
    def put(out, ITEMS: tl.constexpr):
        tl.store(out, ITEMS[0])

    out = np.zeros(1, np.int32)
    for value in (3, 5, 3):
        put[(1,)](out, [value, 7])
        assert out[0] == value
    with pytest.raises(ArgumentError, match="a constant of type Sized"):
        put[(1,)](out, Sized(2))


def test_launches_like_earlier_ones():
    """On device arrays and host arrays, over grids of several sizes."""
    calls = [0]
    x = floats(64)
    for make in (np.array, cuda.to_device):
        given, out = make(x), make(np.zeros(64, np.float32))
        for n in (5, 64, 1, 9, 2):
            for count in (1, 3, 0, 2):
                out[:] = 0
                programs.add[lambda named, count=count: (count * min(named["BLOCK"], 1),)](
                    given, given, out, n, BLOCK=16
                )
                ends = min(n, 16 * count)
                found = np.asarray(out.copy_to_host() if make is not np.array else out)
                assert (found[:ends] == x[:ends] * 2).all() and not found[ends:].any()
                calls[0] += 1
    assert calls == [40]


def test_a_launch_of_another_grid_is_checked():
    x, out = floats(4), np.zeros(4, np.float32)
    for _ in range(2):
        programs.add[(1,)](x, x, out, 4, BLOCK=4)
        with pytest.raises(Exception, match="grid"):
            programs.add[(1, 70_000)](x, x, out, 4, BLOCK=4)


def test_what_is_compiled():
    x, out = floats(4), np.zeros(4, np.float32)
    kernel = programs.add.warmup(x, x, out, 4, BLOCK=4, grid=(1,), num_warps=2)
    assert not out.any()
    assert "tile_load" in kernel.asm["ttir"] and "object" in kernel.asm
    assert kernel.metadata.num_warps == 2 and kernel.metadata.name == "add"
    assert kernel.n_regs > 0 and kernel.n_spills >= 0
    rows = programs.softmax.warmup(x, x, 4, 4, 1, 4, BLOCK=4, grid=(1,))
    assert rows.metadata.shared > 0  # programs divide by it
    kernel[(1, 1, 1)](x, x, out, 4, 4)
    assert (out == x * 2).all()
    with pytest.raises(ArgumentError, match=r"add takes 5 arguments, .*BLOCK; 4 were passed"):
        kernel[(1, 1, 1)](x, x, out, 4)


def test_names():
    def name(given):
        assert given.fn is programs.add.fn
        assert given.constants == {"n": 1, "BLOCK": 4}
        return "_".join([given.fn.__name__, *given.signature.values()])

    named = tiles.jit(programs.add.fn, repr=name)
    x = np.zeros(4, np.int64)
    made = named.warmup(x, x.astype(np.float16), x, 1, BLOCK=4, grid=(1,))
    assert made.name == "add_*i64_*fp16_*i64_constexpr_constexpr"


@tiles.jit
def fused(x, out):
    tl.store(out, tl.load(x) * tl.load(x + 1) + tl.load(x + 2))


def test_fusion_is_an_option():
    """A product that needs more than 24 bits, whose rounded value is the negated addend."""
    x = np.array([1 + 2**-13, 1 - 2**-13, -1], np.float32)
    out = np.zeros(1, np.float32)
    for _ in range(2):
        fused[(1,)](x, out)
        assert out[0] == -(2.0**-26)
        fused[(1,)](x, out, enable_fp_fusion=False)
        assert out[0] == 0
        with tiles.knobs.language.scope():
            tiles.knobs.language.default_fp_fusion = False
            fused[(1,)](x, out)
            assert out[0] == 0


def test_threads():
    """Each with a first launch of its own, at once."""
    mine, wrong = tiles.jit(programs.softmax.fn), []

    def run(seed: int) -> None:
        x, out = floats(3, 8, seed=seed), np.zeros((3, 8), np.float32)
        for _ in range(20):
            mine[(2,)](out, x, 8, 8, 3, 8, BLOCK=8)
            wanted = np.exp(x) / np.exp(x).sum(1, keepdims=True)
            if not np.allclose(out, wanted, rtol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


X = floats(4)

BOTH = tiles.jit(programs.add.fn, do_not_specialize=["BLOCK"])

BAD = [
    (lambda: BOTH[(1,)](X, X, X, 4, 4), tiles.CompilationError, "BLOCK marked as constexpr and"),
    (lambda: programs.add(X, X, X, 4, 4), RuntimeError, "outside of the scope of a kernel"),
    (lambda: programs.add[(1,)](X, X, X), ArgumentError, "missing a required argument: 'n'"),
    (lambda: programs.add[(1,)](X, X, X, 4, 4, 5), ArgumentError, "too many positional"),
    (lambda: programs.add[(1,)](X, X, X, 4, 4, warps=2), ArgumentError, "unrecognised"),
    (lambda: programs.add[(1,)](X, X, X, 4, 4, stream=7), ArgumentError, "unrecognised"),
    (lambda: programs.add[(1,)](X, X, X, 4, 4, num_warps=3), AssertionError, "power of 2"),
    (lambda: programs.add[(1, 1, 1, 1)](X, X, X, 4, 4), ArgumentError, "1 to 3 axes"),
    (lambda: programs.add[()](X, X, X, 4, 4), ArgumentError, "1 to 3 axes"),
    (lambda: programs.add[(-1,)](X, X, X, 4, 4), ArgumentError, "whole numbers"),
    (lambda: programs.add[(1.5,)](X, X, X, 4, 4), ArgumentError, "whole numbers"),
    (lambda: programs.add[(1,)](X, X, X, 2**64, 4), OverflowError, "64 bits"),
    (lambda: programs.add[(1,)](X, "x", X, 4, 4), ArgumentError, "y: a tile program cannot"),
    (lambda: programs.add[(1,)](X, object(), X, 4, 4), ArgumentError, "y: a tile program cannot"),
    (lambda: programs.add[(1,)](X, X, X, 4, 3), tiles.CompilationError, "power of"),
    (lambda: tiles.jit(5), ArgumentError, "a Python function"),
    (lambda: TensorDescriptor(X, [4], [1], [2, 2]), ArgumentError, "as many of each"),
    (lambda: TensorDescriptor(X, [2, 2], [1, 2], [2, 2]), ArgumentError, "last stride"),
    (lambda: TensorDescriptor(X, [2.0, 2], [1, 1], [2, 2]), ArgumentError, "extents of a descr"),
    (lambda: TensorDescriptor(X, [2, 2], ["2", 1], [2, 2]), ArgumentError, "strides of a desc"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=[each[2] for each in BAD])
def test_bad_launches(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_wide_constants():
    @tiles.jit
    def last(out, ITEMS: tl.constexpr):
        tl.store(out, ITEMS[-1])

    out = np.zeros(1, np.int32)
    last[(1,)](out, tuple(range(10_000)))
    assert out[0] == 9_999


class Traced:
    """A tensor with a history, of which torch shows no memory."""

    requires_grad = True

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype = array, array.dtype

    def detach(self) -> np.ndarray:
        return self.array

    @property
    def __array_interface__(self):
        raise BufferError("it requires a gradient")


def test_tensors_with_a_history():
    x, out = floats(32), np.zeros(32, np.float32)
    with gridlane.device("interp"):
        programs.add[(1,)](Traced(x), x, Traced(out), 32, BLOCK=32)
    assert (out == 2 * x).all()


def test_a_lambda_is_refused():
    with pytest.raises(ArgumentError, match="not a lambda"):
        tiles.jit(lambda x: tl.store(x, 1.0))


def test_negative_extents_of_descriptors_are_refused():
    with pytest.raises(ArgumentError, match="at least 0"):
        TensorDescriptor(floats(4, 4), [-4, 4], [4, 1], [1, 4])


def test_types_in_place_of_tensors():
    """The program that is compiled for them is the one of a launch; a launch refuses them."""
    mine = tiles.jit(programs.add.fn)
    for kind in (np.dtype(np.float32), tl.float32, tiles.MockTensor(tl.float32)):
        warm = mine.warmup(kind, kind, kind, 64, BLOCK=64, grid=(1,))
        assert warm.metadata.name == "add"
    x = cuda.to_device(floats(64))
    mine[(1,)](x, x, x, 64, BLOCK=64)
    assert len(mine._programs) == 1
    with pytest.raises(ArgumentError, match="launches take tensors"):
        mine[(1,)](tiles.MockTensor(tl.float32), x, x, 64, BLOCK=64)

    @tiles.jit
    def typed(out, bits, KIND: tl.constexpr):
        tl.store(out, KIND.primitive_bitwidth)
        tl.store(out + 1, bits.dtype.element_ty.primitive_bitwidth)

    for kind in (tl.float8e5, np.dtype(np.int16), np.dtype(bool)):
        typed.warmup(np.dtype(np.int32), kind, KIND=tl.float64, grid=(1,))
    assert len(typed._programs) == 3
