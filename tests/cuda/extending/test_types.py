"""Types that a program defines, on every device."""

from __future__ import annotations

import math
import operator
from collections import namedtuple

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.encoding import NotEncodable
from gridlane.core.errors import ArgumentError, TypingError, UnsupportedError
from gridlane.cuda import cgutils, types
from gridlane.cuda.extending import (
    as_numba_type,
    lower_builtin,
    lower_getattr,
    make_attribute_wrapper,
    models,
    overload,
    overload_attribute,
    overload_method,
    register_model,
    type_callable,
    typeof_impl,
)
from gridlane.cuda.extending.imputils import lower_constant
from gridlane.cuda.extending.templates import (
    AbstractTemplate,
    AttributeTemplate,
    ConcreteTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.launch import current
from gridlane.launch.devices import get_device


class Vec:
    """A vector of the plane, and a count."""

    def __init__(self, x, y, n=0):
        self.x, self.y, self.count = x, y, n


class VecType(types.Type):
    def __init__(self):
        super().__init__(name="Vec")


vec_type = VecType()


@pytest.fixture(autouse=True)
def _vec():
    """Register Vec, as a program does once."""

    @register_model(VecType)
    class VecModel(models.StructModel):
        def __init__(self, dmm, fe_type):
            members = [("x", types.float32), ("y", types.float32), ("n", types.int32)]
            super().__init__(dmm, fe_type, members)

    for member, name in (("x", "x"), ("y", "y"), ("n", "count")):
        make_attribute_wrapper(VecType, member, name)

    @typeof_impl.register(Vec)
    def _(value, context):
        return vec_type

    @type_callable(Vec)
    def _(context):
        def typer(x, y, n):
            wanted = types.Float, types.Float, types.Integer
            if all(map(isinstance, (x, y, n), wanted)):
                return vec_type(types.float32, types.float32, types.int32)
            return None

        return typer

    @lower_builtin(Vec, types.Float, types.Float, types.Integer)
    def _(context, builder, sig, args):
        made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        made.x, made.y, made.n = args
        return made._getvalue()

    @overload(operator.add)
    def _(a, b):
        if isinstance(a, VecType) and isinstance(b, VecType):
            return lambda a, b: Vec(a.x + b.x, a.y + b.y, a.count + b.count)
        return None

    @overload(operator.eq)
    def _(a, b):
        if isinstance(a, VecType) and isinstance(b, VecType):
            return lambda a, b: a.x == b.x and a.y == b.y
        return None

    @overload(operator.getitem)
    def _(v, i):
        if isinstance(v, VecType):
            return lambda v, i: v.x if i == 0 else v.y
        return None

    @overload_method(VecType, "dot")
    def _(a, b):
        return lambda a, b: a.x * b.x + a.y * b.y

    @overload_attribute(VecType, "length")
    def _(v):
        return lambda v: math.sqrt(v.dot(v))


@cuda.jit(device=True)
def doubled(v):
    return v + v


@cuda.jit(device=True)
def larger(a, b):
    if a.length > b.length:
        return a
    return b


def test_values(device):
    @cuda.jit
    def kernel(out, v, n):
        shared = cuda.shared.array(4, vec_type)
        local = cuda.local.array(4, dtype=vec_type)
        total = Vec(np.float32(0), np.float32(0), 0)
        for i in range(n):
            shared[i] = doubled(v)
            local[i] = larger(shared[i], total)
            total = total + local[i]
            if i == 100:
                total = v
        total += v
        out[0], out[1], out[2] = total.x, total.y, total.count
        out[3], out[4] = v.length, v[0] + v[1]
        out[5] = v == Vec(np.float32(3), np.float32(4), 0)

    def expected(x, n):
        total, twice = (0, 0, 0), (2 * x, 8, 14)
        for _ in range(n):
            more = twice if math.hypot(*twice[:2]) > math.hypot(*total[:2]) else total
            total = tuple(a + b for a, b in zip(total, more))
        return [total[0] + x, total[1] + 4, total[2] + 7]

    out = np.zeros(6, np.float32)
    for x, n in ((3, 4), (1.5, 2)):
        kernel[1, 1](out, Vec(x, 4, 7), n)
        np.testing.assert_array_equal(out[:3], np.array(expected(x, n), np.float32))
        np.testing.assert_allclose(out[3], math.hypot(x, 4), rtol=1e-6)
        assert out[4] == x + 4 and out[5] == (x == 3)


@pytest.fixture
def _interpreter():
    current.choose(get_device("interp"))


def run(kernel, *args):
    out = np.zeros(4, np.float64)
    cuda.jit(kernel)[1, 1](out, *args)
    return out.tolist()


Line = namedtuple("Line", "start end")


@pytest.mark.usefixtures("_interpreter")
class TestTypes:
    def test_types_within_types(self):
        class PairType(types.Type):
            def __init__(self, inner):
                self.inner = inner
                super().__init__(name=f"Pair({inner})")

        class Pair:
            def __init__(self, first, second):
                self.first, self.second = first, second

        @register_model(PairType)
        class PairModel(models.StructModel):
            def __init__(self, dmm, fe_type):
                members = [("first", fe_type.inner), ("second", types.int64[::1])]
                super().__init__(dmm, fe_type, members)

        make_attribute_wrapper(PairType, "first", "first")
        make_attribute_wrapper(PairType, "second", "second")
        typeof_impl.register(Pair, lambda value, context: PairType(vec_type))

        def kernel(out, p):
            out[0] = p.first.dot(p.first) + p.second[1] + p.second.size
            out[1] = doubled(p.first).count

        assert run(kernel, Pair(Vec(3, 4, 5), np.array([1, 2])))[:2] == [29, 10]
        with pytest.raises(
            ArgumentError, match=r"second is array\(float64, 1d, C\), and its model"
        ):
            run(kernel, Pair(Vec(3, 4, 5), np.ones(2)))
        with pytest.raises(ArgumentError, match="the Vec has no attribute count"):
            broken = Vec(1, 2)
            del broken.count
            run(kernel, Pair(broken, np.array([1, 2])))

    def test_values_in_tuples_and_conditions(self):
        def kernel(out, v, n):
            both = (v, doubled(v))
            line = Line(both[0], both[1])
            chosen = line.start if n > 0 else line.end
            out[0] = chosen.x + line.end.y

        assert run(kernel, Vec(1, 2), 1)[0] == 5
        assert run(kernel, Vec(1, 2), 0)[0] == 6

    def test_code_of_attributes(self):
        @infer_getattr
        class VecAttributes(AttributeTemplate):
            key = VecType

            def resolve_area(self, kind):
                return types.float32

        @lower_getattr(VecType, "area")
        def _(context, builder, kind, value):
            sides = [builder.extract_value(value, n) for n in (0, 1)]
            return builder.fmul(*sides)

        def kernel(out, v):
            out[0] = v.area

        assert run(kernel, Vec(3, 4))[0] == 12

    def test_templates(self):
        def half(x): ...

        def more(x, y): ...

        @infer_global(half)
        class Half(ConcreteTemplate):
            key = half
            cases = [signature(types.float64, types.float64)]

        @infer_global(more)
        class More(AbstractTemplate):
            key = more

            def generic(self, args, kws):
                return signature(types.int64, *args) if len(args) == 2 else None

        @lower_builtin(half, types.float64)
        def _(context, builder, sig, args):
            return builder.fmul(args[0], context.get_constant(types.float64, 0.5))

        @lower_builtin(more, types.Any, types.Any)
        def _(context, builder, sig, args):
            return context.get_constant(types.int64, 1)

        @lower_builtin(more, types.Integer, types.Any)
        def _(context, builder, sig, args):
            return context.get_constant(types.int64, 2)

        @lower_builtin(more, types.int64, types.int64)
        def _(context, builder, sig, args):
            return builder.add(*args)

        def kernel(out, x, n):
            out[0], out[1], out[2], out[3] = half(x), more(x, x), more(n, x), more(n, n)

        assert run(kernel, 3.0, 4) == [1.5, 1, 2, 8]

    def test_no_data(self):
        class Mode: ...

        class ModeType(types.Opaque):
            pass

        typeof_impl.register(Mode, lambda value, context: ModeType("mode"))
        overload_attribute(ModeType, "factor")(lambda m: lambda m: 3)

        def kernel(out, mode):
            out[0] = mode.factor

        assert run(kernel, Mode())[0] == 3

    def test_refusals(self):
        class Bare(types.Type):
            pass

        class Thing: ...

        typeof_impl.register(Thing, lambda value, context: Bare("bare"))

        def plain(out, thing):
            out[0] = 1

        def nothing(out, v):
            out[0] = v.z

        def changes(out, v):
            v.x = 2

        def subtracts(out, v):
            out[0] = (v - v).x

        def stores(out, v):
            cuda.local.array(2, vec_type)[0] = 3

        def tests(out, v):
            if v:
                out[0] = 1

        wrong = [
            (plain, Thing(), TypingError, "the type bare has no model; write @register_model"),
            (nothing, Vec(1, 2), TypingError, "Vec has no attribute z; it has .*x, .*length"),
            (changes, Vec(1, 2), TypingError, "does not change: .x cannot be assigned"),
            (subtracts, Vec(1, 2), TypingError, "- between Vec and Vec .*implement it"),
            (stores, Vec(1, 2), TypingError, "a value of Vec is required here, not int64"),
            (tests, Vec(1, 2), TypingError, r"no truth value; .* one by @overload\(bool\)"),
        ]
        for kernel, value, kind, words in wrong:
            with pytest.raises(kind, match=words):
                run(kernel, value)

    def test_the_code_of_another_key(self):
        def seen(v): ...

        def coded(v): ...

        @infer_global(seen, typing_key=coded)
        class Seen(AbstractTemplate):
            def generic(self, args, kws):
                return signature(types.float32, *args)

        @lower_builtin(coded, VecType)
        def _(context, builder, sig, args):
            return cgutils.create_struct_proxy(vec_type)(context, builder, value=args[0]).y

        def kernel(out, v):
            out[0] = seen(v)

        assert run(kernel, Vec(1, 2))[0] == 2
        with pytest.raises(TypeError, match="target"):
            infer_global(seen, target="cuda")

    def test_models_without_end(self):
        class Kind(types.Type):
            def __init__(self, name):
                self.members = []
                super().__init__(name)

        class Growing(types.Type):
            def __init__(self, count):
                self.count = count
                super().__init__(f"Growing{count}")

        @register_model(Kind)
        class Model(models.StructModel):
            def __init__(self, dmm, kind):
                super().__init__(dmm, kind, kind.members)

        @register_model(Growing)
        class GrowingModel(models.StructModel):
            def __init__(self, dmm, kind):
                super().__init__(dmm, kind, [("inner", Growing(kind.count + 1))])

        class Held: ...

        typeof_impl.register(Held, lambda value, context: value.kind)

        def passed(out, held):
            out[0] = 1

        def kept(out):
            cuda.shared.array(2, wanted)

        node, pair, both, row = (Kind(name) for name in ("Node", "Pair", "Both", "Row"))
        node.members = [("n", types.int32), ("next", types.Tuple([types.int32, pair]))]
        pair.members = [("first", node)]
        both.members = [("v", types.int32), ("w", types.int32), ("v", types.float32)]
        row.members = [("all", row[3])]
        wrong = [
            (node, r"the model of Node contains Node itself \(Node -> Pair -> Node\)"),
            (both, "the model of Both has two members called v; rename one"),
            (row, r"the model of Row contains Row itself \(Row -> Row\)"),
            (Growing(0), "Growing0, Growing1, Growing2, ...: types within types, more than 100"),
        ]
        for wanted, words in wrong:
            held = Held()
            held.kind = wanted
            with pytest.raises(TypingError, match=words):
                run(passed, held)
            with pytest.raises(TypingError, match=words) as caught:
                run(kept)
            assert "cuda.shared.array(2, wanted)" in str(caught.value)

        holder = Kind("Holder")
        holder.members = [("a", vec_type), ("b", vec_type)]  # the same part twice has an end

        def holds(out):
            out[0] = cuda.local.array(2, holder).itemsize

        assert run(holds)[0] == 24

    def test_errors_of_registration(self):
        with pytest.raises(TypeError, match="register_model takes a class derived"):
            register_model(int)
        with pytest.raises(TypeError, match="typeclass should be a Type subclass"):
            make_attribute_wrapper(int, "x", "x")
        with pytest.raises(UnsupportedError, match="lower_setattr: a value of a type of yours"):
            from gridlane.cuda.extending import lower_setattr

            lower_setattr(VecType, "x")

    def test_types_of_annotations(self):
        as_numba_type.register(Vec, vec_type)
        assert as_numba_type(Vec) is vec_type and as_numba_type(float) is types.float64
        with pytest.raises(TypeError, match="no type is registered for"):
            as_numba_type(bytes)


def _truth_by_count():
    """A number, which numba casts to a bool as well."""

    @overload(bool)
    def _(v):
        return (lambda v: v.count) if isinstance(v, VecType) else None


def test_truth_by_an_overload(device):
    """Wherever Python asks for a truth value. ``not v`` as a value and ``operator.truth(v)`` need
    overloads of their own in numba."""
    _truth_by_count()

    @cuda.jit
    def kernel(out, v):
        if v:
            out[0] = 1
        elif not v:
            out[0] = 2
        n = 0
        w = v
        while w:
            n += 1
            w = Vec(w.x, w.y, w.count - 1)
        out[1] = n
        out[2] = 5 if w else 6
        both, either = v and Vec(np.float32(7), w.y, 0), v or Vec(np.float32(7), w.y, 0)
        out[3], out[4] = both.x, either.x
        unlike = not v
        out[5] = unlike
        out[6] = 10 * operator.truth(v) + 100 * operator.not_(v)
        out[7] = any((w, v)) + 2 * all((v, 3)) + 4 * np.logical_and(v, True)
        out[8] = bool(v)
        match n:
            case _ if v:
                out[9] = 8
            case _:
                out[9] = 9

    for count, want in (
        (0, [2, 0, 6, 1, 7, 1, 100, 0, 0, 9]),
        (3, [1, 3, 6, 7, 1, 0, 10, 7, 3, 8]),
    ):
        out = np.zeros(10, np.int32)
        kernel[1, 1](out, Vec(1, 2, count))
        assert out.tolist() == want


@pytest.mark.usefixtures("_interpreter")
class TestTruth:
    def test_other_types(self):
        """Arrays and tuples, too; numbers keep their own."""
        _truth_by_count()
        asked = []

        @overload(bool)
        def _(v):
            asked.append(v)
            if isinstance(v, types.Array):
                return lambda v: v.size > 2
            if isinstance(v, types.BaseTuple) and len(v) == 1:
                return lambda v: v[0] > 2
            return None

        def kernel(out, few):
            out[0] = 1 if few else 2
            out[1] = 1 if out else 2
            out[2] = 3 if (1,) else 4
            out[3] = (5 if (1, 2) else 6) + (10 if few.size else 20)

        assert run(kernel, np.zeros(2)) == [2, 1, 4, 15]
        assert not any(isinstance(kind, types.Number) for kind in asked)

    def test_strings(self):
        @overload(bool)
        def _(v):
            return (lambda v: v == "yes") if isinstance(v, types.UnicodeCharSeq) else None

        def kernel(out, words):
            for i in range(2):
                out[i] = (1 if words[i] else 2) + 10 * bool(words[i])
            out[2] = 1 if words[0] or out.size == 2 else 2

        out = np.zeros(3, np.int32)
        cuda.jit(kernel)[1, 1](out, np.array(["no", "yes"]))
        assert out.tolist() == [2, 11, 2]

    def test_asserts(self):
        _truth_by_count()

        @cuda.jit(debug=True, opt=False)
        def kernel(v):
            assert v

        kernel[1, 1](Vec(1, 2, 3))
        with pytest.raises(AssertionError):
            kernel[1, 1](Vec(1, 2, 0))

    def test_results_that_are_no_truth(self):
        @overload(bool)
        def _(v):
            return (lambda v: (v.count,)) if isinstance(v, VecType) else None

        def kernel(out, v):
            if v:
                out[0] = 1

        with pytest.raises(TypingError, match=r"bool\(\) of Vec gives .*; an overload of bool ret"):
            run(kernel, Vec(1, 2))

    def test_no_key(self):
        """An expression does not name bool, so every kernel may use it."""
        _truth_by_count()

        @cuda.jit
        def kernel(out):
            out[0] = 1

        with pytest.raises(NotEncodable, match="operators are implemented"):
            fingerprint(kernel.py_func)


def test_kinds_of_types():
    assert isinstance(types.int8, types.Integer) and isinstance(types.int8, types.Number)
    assert isinstance(types.float32, types.Float) and not isinstance(types.boolean, types.Number)
    assert isinstance(types.complex64, types.Complex) and isinstance(types.complex64, types.Number)
    assert isinstance(types.float32[:, ::1], types.Array) and isinstance(types.none, types.NoneType)
    pair = types.UniTuple(types.int32, 2)
    assert isinstance(pair, types.UniTuple) and isinstance(pair, types.BaseTuple)
    assert pair == types.Tuple((types.int32, types.int32)) and pair.count == len(pair) == 2
    mixed = types.Tuple((types.int32, types.float32))
    assert isinstance(mixed, types.Tuple) and not isinstance(mixed, types.UniTuple)
    three = types.literal(3)
    assert isinstance(three, types.IntegerLiteral) and isinstance(three, types.Integer)
    assert three.literal_value == 3 and types.unliteral(three) is types.int64
    assert three == types.literal(3) != types.literal(4)

    class Mine(types.Integer):
        def __init__(self):
            super().__init__("mine")

    assert isinstance(Mine(), types.Integer) and not isinstance(types.int8, Mine)
    assert Mine() == Mine() and hash(Mine()) == hash(Mine())
    assert str(Mine()[:]) == "array(mine, 1d, A)" and str(Mine()(types.int8)) == "mine(int8)"


@pytest.mark.usefixtures("_interpreter")
def test_extensions_of_kernels_give_the_members():
    class Text:
        def prepare_args(self, kind, value, stream, retr):
            if kind == vec_type:
                x, y = value.word.split()
                return types.UniTuple(types.float32, 3), (float(x), float(y), 7)
            return kind, value

    class Written(Vec):
        def __init__(self, word):
            self.word = word

    @cuda.jit(extensions=[Text()])
    def kernel(out, v):
        out[0], out[1], out[2] = v.x, v.y, v.count

    out = np.zeros(3)
    kernel[1, 1](out, Written("1.5 2"))
    assert out.tolist() == [1.5, 2, 7]


def test_objects_that_a_kernel_captures(monkeypatch):
    @lower_constant(VecType)
    def _(context, builder, kind, value):
        made = cgutils.create_struct_proxy(kind)(context, builder)
        made.x = context.get_constant(types.float32, value.x)
        made.y = context.get_constant(types.float32, value.y)
        made.n = context.get_constant(types.int32, value.count)
        return made._getvalue()

    shift = Vec(1.5, 2.5, 3)

    @cuda.jit
    def kernel(out, v):
        moved = v + shift
        out[0], out[1], out[2] = moved.x, moved.y, moved.count

    out = np.zeros(3, np.float32)
    kernel[1, 1](out, Vec(1.0, 2.0, 4))
    assert out.tolist() == [2.5, 4.5, 7]

    @cuda.jit
    def keeping(out):
        held = shift

    # Undone here: the fixture of the whole test ends after that of the registrations.
    with monkeypatch.context() as patch:
        patch.setattr(EXTENSIONS, "operators", False)
        with pytest.raises(NotEncodable, match="a function of the program emits its value"):
            fingerprint(keeping.py_func)
