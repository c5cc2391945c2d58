"""Kernels whose source has no key, as those that use extensions, are kept under the key of their
IR: a process translates them, and generates code for what it has not seen."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import fields

import numpy as np
import pytest

from gridlane import compiler, cuda
from gridlane.compiler.cache import DiskCache
from gridlane.core.dtypes import f64
from gridlane.core.encoding import NotEncodable
from gridlane.core.exports import Export
from gridlane.core.options import KernelOptions, Target
from gridlane.core.source import Loc
from gridlane.core.tensor_map import Element, TensorMapUse
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.ir.builder import Builder
from gridlane.ir.source import ModuleSource, module_key
from gridlane.ir.values import Function, Module

PROGRAM = """
import logging, operator, sys
import numpy as np
from gridlane import cuda
from gridlane.cuda import cgutils, types
from gridlane.cuda.extending import (
    intrinsic, lower_builtin, make_attribute_wrapper, models, overload, overload_attribute,
    overload_method, register_model, type_callable, typeof_impl,
)

class Count(logging.Handler):
    compiled = 0

    def emit(self, record):
        Count.compiled += record.getMessage().startswith("compiled")

logging.getLogger("gridlane").addHandler(Count())
logging.getLogger("gridlane").setLevel(logging.INFO)
CHANGED = set(sys.argv[1].split(","))

def value(what):
    return 7 if what in CHANGED else 3

def by_closure(x): ...
def by_global(x): ...
def by_host(x): ...
def by_callee(x): ...
def by_text(x): ...
def by_default(x): ...

GLOBAL, TABLE = value("global"), {"int32": value("host")}

def closed(n):
    @overload(by_closure)
    def _(x):
        return lambda x: x * n

closed(value("closure"))

@overload(by_global)
def _(x):
    return lambda x: x * GLOBAL

@overload(by_host)  # what no key of a source could follow: a call of any function of the host
def _(x):
    found = TABLE.get(str(x))
    return (lambda x: x * 3) if found == 3 else (lambda x: x * 7)

@cuda.jit(device=True)
def inner(x):
    return x * value_of_inner

value_of_inner = value("callee")

@overload(by_callee)
def _(x):
    return lambda x: inner(x)

@overload(by_text)
def _(x):
    return lambda x: x * TEXT

@overload(by_default)
def _(x, n=value("default")):
    return lambda x, n=value("default"): x * n

@intrinsic
def emitted(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.mul(args[0], context.get_constant(types.int32, value("intrinsic")))
    return types.int32(types.int32), codegen

@overload_method(types.Array, "scaled")
def _(a, x):
    n = value("method")
    return lambda a, x: x * n

class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

class PairType(types.Type):
    def __init__(self):
        super().__init__(name="Pair")

pair_type = PairType()
typeof_impl.register(Pair)(lambda value, context: pair_type)

@register_model(PairType)
class PairModel(models.StructModel):
    def __init__(self, dmm, kind):
        wide = types.int64 if "model" in CHANGED else types.int32
        super().__init__(dmm, kind, [("a", wide), ("b", types.int32)])

make_attribute_wrapper(PairType, "a", "a")
make_attribute_wrapper(PairType, "b", "b")

@overload(operator.add)
def _(a, b):
    if isinstance(a, PairType):
        n = value("operator")
        return lambda a, b: (a.a + b) * n - a.b * n

@overload(bool)
def _(a):
    if isinstance(a, PairType):
        n = value("truth")
        return lambda a: a.b == n

def k_closure(out, x): out[0] = by_closure(x)
def k_global(out, x): out[0] = by_global(x)
def k_host(out, x): out[0] = by_host(x)
def k_callee(out, x): out[0] = by_callee(x)
def k_text(out, x): out[0] = by_text(x)
def k_default(out, x): out[0] = by_default(x)
def k_intrinsic(out, x): out[0] = emitted(x)
def k_method(out, x): out[0] = out.scaled(x)
def k_operator(out, x, pair): out[0] = pair + x
def k_truth(out, x, pair): out[0] = 5 * (7 if pair else 3)
def k_model(out, x, pair): out[0] = cuda.shared.array(2, pair_type).itemsize

def run(what, *more):
    out = np.zeros(1, np.int64)
    cuda.jit(globals()["k_" + what])[1, 1](out, np.int32(5), *more)
    return int(out[0])

for what in "closure global host callee text default intrinsic method".split():
    print(what, run(what) == 5 * value(what))
print("operator", run("operator", Pair(2, 2)) == 5 * value("operator"))
print("truth", run("truth", Pair(2, 7)) == 5 * value("truth"))
print("model", run("model", Pair(2, 3)) == (16 if "model" in CHANGED else 8))
print(Count.compiled)
"""
ALL = "closure global host callee text default intrinsic method operator truth model".split()


def ran(folder, tmp_path, *changed):
    """The number of kernels that a process generates code for, with right answers of all."""
    program = tmp_path / "program.py"
    text = textwrap.dedent(PROGRAM).replace("TEXT", "7" if "text" in changed else "3")
    program.write_text(text)
    settings = {"GRIDLANE_CACHE": "1", "GRIDLANE_CACHE_DIR": str(folder), "GRIDLANE_DEVICE": "cpu"}
    done = subprocess.run(
        [sys.executable, str(program), ",".join(changed)],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )
    *answers, count = done.stdout.splitlines() or [""]
    assert answers == [f"{what} True" for what in ALL], (done.stdout, done.stderr)
    return int(count)


def test_processes(tmp_path):
    """Cold, warm, each thing changed, and back: never an artifact of something else, and nothing
    made twice."""
    cache = tmp_path / "cache"
    assert ran(cache, tmp_path) == len(ALL)
    assert ran(cache, tmp_path) == 0
    assert ran(cache, tmp_path, *ALL) == len(ALL)
    assert ran(cache, tmp_path, *ALL[:8:2]) == 0  # each kernel depends on its own thing alone
    assert ran(cache, tmp_path, *ALL[1:8:2], *ALL[8:]) == 0


class Odd:
    """Its equality is its own, so nothing tells whether a kernel's use of it is the same."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return True

    __hash__ = None


def test_any_reason(tmp_path, monkeypatch):
    """An object of which a source's key cannot tell; two of them with one value share code."""
    cache = DiskCache(tmp_path)
    monkeypatch.setattr(compiler, "default_cache", lambda: cache)
    made = []
    generated = compiler._made
    monkeypatch.setattr(compiler, "_made", lambda *given: made.append(1) or generated(*given))

    def launch(number):
        odd = Odd(number)

        @cuda.jit
        def kernel(out):
            mine = odd
            out[0] = mine.number

        with pytest.raises(NotEncodable):
            fingerprint(kernel.py_func)
        out = np.zeros(1, np.int64)
        kernel[1, 1](out)
        return int(out[0])

    assert [launch(n) for n in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert len(made) == 2


# ---- the key of a module


def module(value=1.0, name="k", **fields_of_module):
    made = Module(**fields_of_module)
    function = made.functions[name] = Function(name, is_kernel=True)
    b = Builder(made, function)
    b.const(value, f64)
    b.return_(())
    return made


def test_the_key_has_what_the_text_leaves_out():
    """Each field of a module, and the bits of its NaNs."""
    nan, other = np.array([0x7FF8 << 48, 0x7FF8000000000001], "<u8").view("<f8").tolist()
    made = [module(), module(2.0), module(0.0), module(-0.0), module(nan), module(other)]
    loc = Loc("file", 1, 2, 3, "f", Loc("file", 9))
    told = {
        "stack": ("f calls itself", loc),
        "stack_bytes": 64,
        "stack_holds_addresses": False,
        "coarse": 2,
        "buffers": (1,),
        "known": ("f",),
        "export": Export("f", "c", None, 8, 8),
        "tensor_maps": (TensorMapUse(0, (1,), (), Element.F16, (8,), 0, False, 2),),
    }
    for field in fields(Module):
        if field.name not in ("functions", "globals", "errors"):
            default = field.default
            made.append(module(**{field.name: told.get(field.name, not default)}))
    made.append(module(stack=("f calls itself", Loc("file", 1, 2, 3, "f", Loc("file", 8)))))
    keys = [module_key(each) for each in made]
    assert len(set(keys)) == len(keys)
    assert module_key(module()) == keys[0] == ModuleSource(module()).key()


def test_options_and_target_are_in_the_key():
    def source():
        return ModuleSource(module())

    def key(target="cpu", **options):
        return compiler.translated_key(source(), (), KernelOptions(**options), Target(target))

    keys = [key(), key("interp"), key(fastmath=True), key(opt=False)]
    assert len(set(keys)) == 4 and key() == keys[0]
    assert compiler.artifact_key(source(), (), KernelOptions(), Target("cpu")) not in keys
