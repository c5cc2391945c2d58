"""Ranges, methods and their like in variables of branches and loops, against Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import launch, returned

from gridlane.core.errors import NameLookupError, TypingError


def test_branches():
    def kernel(out, a, n):
        numbers = range(n)
        if n > 2:
            numbers = range(1, n * 2, 2)
            items = enumerate(a[:n], n)
            back = reversed(range(1, n))
        else:
            items = enumerate(a[n:], 1)
            back = reversed(range(n))
        for i in numbers:
            out[0] += i
        for i, x in items:
            out[1] += i * x
        for i in back:
            out[2] = out[2] * 2 + i
        if n > 1:
            late = zip(a[:n], range(n, 9))
            size = a[n:].sum
        else:
            return
        for x, i in late:
            out[3] += x * i
        out[4] = size()

    a = np.arange(6.0) + 0.5
    for n in range(5):
        found, wanted = np.zeros(5), np.zeros(5)
        kernel(wanted, a, n)
        launch(kernel, 1, 1, found, a, n)
        assert found.tolist() == wanted.tolist(), n


def test_a_loop_keeps_them():
    def kernel(out, a, n):
        numbers, total = range(n), a.sum
        for _ in range(2):
            for i in numbers:
                out[0] += i
            if n > 100:
                numbers = numbers
            total = total
        out[1] = total()

    assert list(returned(kernel, np.ones(3), 4, count=2)) == [12, 3]


def test_a_loop_that_changes_them_is_an_error():
    """Afterwards the variable had what it had before the loop."""

    def methods(out, a, n):
        total = a.sum
        for _ in range(n):
            total = a.max
        out[0] = total()

    def tuples(out, a, n):
        pair = 1, range(2)
        while n > 0:
            n -= 1
            pair = 2, range(3)
        for _ in pair[1]:
            out[0] += pair[0]

    def texts(out, a, n):
        text = f"{n}"
        for i in range(n):
            text = f"{i}"
        print(text)

    for kernel in (methods, tuples, texts):
        with pytest.raises(TypingError, match="has a type here that depends on the path taken"):
            returned(kernel, np.ones(3), 4)


def test_tuples_of_functions_have_constant_indices():
    def kernel(out, n):
        both = (lambda: 1), (lambda: 2)
        out[0] = both[n]()

    with pytest.raises(TypingError, match="needs items of one type"):
        returned(kernel, 1)


def test_a_walrus_on_some_paths_keeps_the_value_before():
    def kernel(out, n):
        a = b = c = d = 1
        if n > 1:
            a = b = c = d = 2
        for _ in range(n):
            d += 1
        first = n == 2 and (a := 3)
        second = (b := 4) if n == 2 else 0
        third = 1 < n < (c := 5)
        out[(d := 3) if n == 2 else 0] = 7 if (n == 0 or (d := d * 10)) else 8
        out[4:] = a, b, c, d, first, second, third

    for n in range(5):
        wanted = np.zeros(11)
        kernel(wanted, n)
        assert returned(kernel, n, count=11).tolist() == wanted.tolist(), n


def test_copies_of_a_loop_have_their_own_types():
    """A number beyond 2^53 is no float64."""

    def kernel(out, n):
        def total(start, step):
            sum_ = start
            for _ in range(3):
                sum_ = sum_ + step
            return sum_

        out[0] = total(1, 0.5)
        out[1] = total(n, 0) - (n - 1)
        for step in (0.5, n):
            last = 0
            for _ in range(3):
                last = last + step
            out[2] = last - 3 * (n - 1)

    assert returned(kernel, 2**53 + 1, count=3).tolist() == [2.5, 1, 3]


def test_the_error_of_a_loop_spells_both_types():
    def tuples(out, n):
        numbers = ()
        for i in range(n):
            numbers = numbers + (i,)
        out[0] = len(numbers)

    def complexes(out, n):
        z = complex(n, 1)
        while n > 0:
            n -= 1
            z = z, z
        out[0] = z[0].real

    found = {
        tuples: r"tuple\(\) or tuple\(int64\)",
        complexes: r"complex128 or tuple\(complex128, ",
    }
    for kernel, words in found.items():
        with pytest.raises(TypingError, match=words):
            returned(kernel, 3)


def test_a_loop_whose_iterations_end_with_several_types_is_an_error():
    """Afterwards the variable had what it had before the loop, or what another iteration gave."""

    def one_of_two(out, n):
        v = 1
        for i in range(n):
            if i == 1:
                v = 2, 3
        out[0] = v == 1

    def function(out, n):
        v = 1
        for i in range(n):
            if i == 1:
                v = lambda: i  # noqa: E731
        out[0] = v is None

    def first_in_the_loop(out, n):
        for i in range(n):
            if i == 1:
                v = 2, 3
            else:
                v = 4
            if i == 5:
                v = 6
                break
        out[0] = v == 6

    def numbers(out, n):
        v = 1
        for i in range(n):
            v = range(i)
        out[0] = v

    def method(out, n):
        v = 1
        while n > 0:
            v = out.sum
            break
        out[0] = v

    def parts(out, n):
        v = 1, 2
        for i in range(n):
            v = 1, range(i)
        out[0] = v[1]

    def first_range(out, n):
        for i in range(n):
            v = range(i)
        for i in v:
            out[0] += i

    found = {
        one_of_two: r"tuple\(int64, int64\) or int64",
        function: "the local function lambda or int64",
        first_in_the_loop: r"tuple\(int64, int64\) or int64",
        numbers: "int64 or range",
        method: "int64 or method sum of array",
        parts: r"tuple\(int64, int64\) or tuple\(int64, range\)",
        first_range: "nothing or range",
    }
    for kernel, words in found.items():
        with pytest.raises(TypingError, match=f"v has a type here .* the path taken: {words}"):
            returned(kernel, 3)


def test_several_types_that_nothing_reads():
    def kernel(out, n):
        v = 1
        for i in range(n):
            if i == 1:
                v = 2, 3
            out[i] += 1
            numbers = range(i)
            size = lambda: len(numbers)  # noqa: E731
            out[i] += size()
        for i in range(n):
            v = 5
            out[i] += v
            if i == 1:
                v = None

    assert returned(kernel, 3, count=3).tolist() == [6, 7, 8]


def test_reads_that_nothing_binds_are_errors_in_branches_too():
    """The rest of the branch was left out."""

    def conditional(out, n):
        if n > 1:
            for i in range(n - 5):
                if i > 10:
                    v = v + 1  # noqa: F821
            out[0] = 7

    def always(out, n):
        if n > 1:
            for _ in range(n - 5):
                v = v + 1  # noqa: F821
            out[0] = 7

    for kernel in (conditional, always):
        with pytest.raises(NameLookupError, match="v is read here, but nothing") as caught:
            returned(kernel, 3)
        assert type(caught.value) is NameLookupError


def test_a_loop_outside_binds_what_one_inside_reads():
    def kernel(out, n):
        for i in range(n):
            for k in range(2):
                if i > 0:
                    out[0] += v + k  # noqa: F821
                    v += 0.5  # noqa: F821
                    w = i
                elif i > 100:
                    out[1] = w
            v = i + 1
        if n > 1:
            out[2] = v + w

    for n in range(4):
        wanted = np.zeros(3)
        kernel(wanted, n)
        assert returned(kernel, n, count=3).tolist() == wanted.tolist(), n


def test_a_loop_keeps_several_types_of_a_branch_before():
    """The compiler did not come to an end."""

    def read(out, n):
        if n > 1:
            v = 1, 2
        else:
            v = 3
        for i in range(n):
            v = i
        out[0] = v

    def assigned(out, n):
        if n > 1:
            v = 1, 2
        else:
            v = 3
        for i in range(n):
            v = i
            out[0] += v
        v = 5
        out[0] += v

    words = r"v has a type here .* the path taken: tuple\(int64, int64\) or int64"
    with pytest.raises(TypingError, match=words):
        returned(read, 3)
    assert returned(assigned, 3) == 8


def test_what_a_loop_assigns_before_it_ends_has_the_type_of_its_end():
    """Only a break leaves ``while True``, so what came before, or at the end of an iteration, does
    not count."""

    def two_before(out, n):
        if n > 1:
            v = 1, 2
        else:
            v = 3
        while True:
            v = 5 + n
            if v > 3:
                break
        out[0] = v

    def others_meanwhile(out, n):
        v = 1, 2
        i = 0
        while True:
            i += 1
            if i > 3:
                v = i * n
                break
            elif i > n + 1:
                v = 2.5
                break
            v = 3, 4, 5
            if i == n:
                continue
            out[1] += v[2]
        out[0] = v

    def of_an_else(out, n):
        v = 1, 2
        for i in range(4):
            if i == n:
                v = i + 5
                break
            v = None
        else:
            v = 2.5
        out[0] = v

    def read_at_the_break(out, n):
        v = 1, 2
        while True:
            if n > 1:
                break
            v = 2.5
            n += 1
        out[0] = v

    for kernel in (two_before, others_meanwhile, of_an_else):
        for n in range(6):
            wanted = np.zeros(2)
            kernel(wanted, n)
            assert returned(kernel, n, count=2).tolist() == wanted.tolist(), (kernel, n)
    with pytest.raises(TypingError, match=r"tuple\(int64, int64\) or float64"):
        returned(read_at_the_break, 3)


def test_a_conditional_expression_joins_what_branches_join():
    """Ranges, methods and tuples with one have no type of their own."""

    def kernel(out, n):
        v = range(n) if n > 2 else range(1, 9, n + 1)
        for i in v:
            out[0] = out[0] * 3 + i
        count, w = (n, range(n, 8)) if n < 4 else (n + 0.5, range(n))
        out[1] = count + len(w) * 10 + (w[0] if len(w) > 0 else 100)
        total = out.sum if n > 3 else out[:1].sum
        out[2] = total()
        out[3] = (3 in v) + 2 * (3 in w)

    def texts(out, n):
        v = (1, range(n)) if n > 1 else (2.5, None)
        out[0] = v[0]

    for n in range(6):
        wanted = np.zeros(4)
        kernel(wanted, n)
        assert returned(kernel, n, count=4).tolist() == wanted.tolist(), n
    with pytest.raises(TypingError, match=r"the sides give .*no common type; convert one of them"):
        returned(texts, 3)
