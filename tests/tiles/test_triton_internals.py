"""What programs read of Triton's own objects beside their documented names: operator libraries
choose configurations, name caches and pass memory by them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles import programs

from gridlane import device, tiles
from gridlane.frontends.triton.language import standard
from gridlane.tiles.autotuning import Autotuner
from gridlane.tiles.jit import type_canonicalisation_dict

tl = tiles.language


@tiles.jit(do_not_specialize=["n", "gone"], do_not_specialize_on_alignment=[0])
def listed(x, n, BLOCK: tl.constexpr = 4):
    tl.store(x, n)


def test_parameters():
    assert [each.name for each in listed.params] == ["x", "n", "BLOCK"]
    assert [each.num for each in listed.params] == [0, 1, 2]
    assert [each.is_constexpr for each in listed.params] == [False, False, True]
    assert [each.do_not_specialize for each in listed.params] == [False, True, False]
    assert [each.do_not_specialize_on_alignment for each in listed.params] == [True, False, False]
    assert [each.has_default for each in listed.params] == [False, False, True]
    assert listed.params[2].default == 4
    assert listed.__globals__ is globals()


def made(number):
    @tiles.jit
    def program(x):
        tl.store(x, number)

    return program


def test_keys_of_functions():
    assert made(1).cache_key == made(1).cache_key != made(2).cache_key


class Last(Autotuner):
    """Chooses the last of the fastest."""

    def run(self, *args, **keywords):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        times = {each: self._bench(*args, config=each, **keywords) for each in self.configs}
        assert times.pop(self.configs[0]) == [float("inf")] * 3  # a block of 3 elements
        self.pre_hook(self.nargs, reset_only=True)
        config = min(times, key=lambda each: times[each])
        return self.fn.run(*args, **keywords, **config.all_kwargs())


def test_a_tuner_of_a_programs_own():
    configs = [tiles.Config({"BLOCK": size}) for size in (3, 64)]
    tuned = Last(
        programs.add, programs.add.arg_names, configs, key=[], reset_to_zero=["out"],
        do_bench=lambda call, quantiles: call() or (1.0, 1.0, 1.0),
    )  # fmt: skip
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    tuned[(1,)](x, x, out, 64)
    assert (out == 2).all()


@tiles.jit
def least(kind: tl.constexpr):
    if kind.value.is_floating():
        return float("-inf")
    width: tl.constexpr = kind.value.int_bitwidth
    value: tl.constexpr = -(2 ** (width - 1))
    return value


@tiles.constexpr_function
def named(kind):
    return 1 if kind is tl.int32 else 2 if kind is tl.float32 else 3


@tiles.jit
def typed(x, out):
    tl.store(out, least(x.dtype.element_ty))
    tl.store(out + 1, named(x.dtype.element_ty) + 10 * named(tl.load(x).dtype))


def test_types_are_compared_by_identity_and_have_values():
    assert pickle.loads(pickle.dumps(tl.float32)) is tl.float32 is copy.deepcopy(tl.float32)
    for dtype, expected in ((np.int32, [-(2**31), 11]), (np.float32, [-np.inf, 22])):
        out = np.zeros(2, np.float64)
        typed[(1,)](np.zeros(1, dtype), out)
        assert out.tolist() == expected


def test_names_of_the_standard_module():
    assert standard._log2(64) == 6 and standard.load is tl.load


@tiles.jit
def copied(x, out, STEP: tl.constexpr):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i * STEP))


class Backwards:
    """A view of a tensor that no tensor can be."""

    def __init__(self, base):
        self.base, self.dtype, self.shape = base, base.dtype, base.shape

    def stride(self):
        return (-1,)

    def data_ptr(self):
        return self.base.data_ptr() + (self.base.numel() - 1) * self.base.element_size()

    def untyped_storage(self):
        return self.base.untyped_storage()


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_memory_of_tensors(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with device(name):
        x, out = torch.arange(4.0), torch.zeros(4)
        copied[(1,)](Backwards(x), out, STEP=-1)
        assert out.tolist() == [3, 2, 1, 0]
        copied[(1,)](x[2:3].expand(4), out, STEP=0)
        assert out.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("name", "short", "kind"),
    [
        ("float8_e4m3fn", "fp8e4nv", tl.float8e4nv),
        ("float8_e5m2fnuz", "fp8e5b16", tl.float8e5b16),
        ("float8e4b15", "fp8e4b15", tl.float8e4b15),
        ("fp8e5", "fp8e5", tl.float8e5),
        ("bfloat16", "bf16", tl.bfloat16),
        ("double", "fp64", tl.float64),
        ("uint16", "u16", tl.uint16),
        ("i64", "i64", tl.int64),
        ("bool", "u1", tl.int1),
    ],
)
def test_short_names_of_types(name, short, kind):
    assert type_canonicalisation_dict[name] == short
    assert tl.str_to_ty(short, None) == kind
    assert type_canonicalisation_dict[kind.codegen_name()] == short


def test_no_backend_is_triton_s():
    """torch.compile looks for that of the CPU, also where a program compiles no tile program."""
    from gridlane.cuda.triton_compat import MODULES

    assert MODULES["triton.backends"] == "gridlane.tiles.compiling"
    assert "cpu" not in tiles.compiling.backends
