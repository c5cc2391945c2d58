"""Divisions and upper halves of products of integers, for which processors have no vector
instructions."""

from __future__ import annotations

from gridlane.codegen.llvm.text import Body, splat, widen


def divided(body: Body, name: str, lanes: int, a: str, b: str, signed: bool) -> str:
    """a / b of vectors, inside the domain of a division.

    Processors have no vector division of integers, so a vector divides in binary64. That is exact
    for operands below 2**53, since the quotient's distance to the next integer, at least 1 / b, is
    more than the rounding error. 64-bit operands are tested; vectors with larger ones divide lane
    by lane.
    """
    type_ = widen(name, lanes)
    if int(name[1:]) <= 32:
        return _float_quotient(body, type_, lanes, a, b, signed)
    quick, slow, done = body.label("quick"), body.label("slow"), body.label("divided")
    body.branch_if(_all_small(body, type_, lanes, (a, b), signed), quick, slow)
    body.start(quick)
    fast = _float_quotient(body, type_, lanes, a, b, signed)
    body.branch(done)
    body.start(slow)
    full = body.op(f"{'sdiv' if signed else 'udiv'} {type_} {a}, {b}")
    body.branch(done)
    body.start(done)
    return body.op(f"phi {type_} [ {fast}, %{quick} ], [ {full}, %{slow} ]")


def _float_quotient(body: Body, type_: str, lanes: int, a: str, b: str, signed: bool) -> str:
    """The quotient through binary64."""
    real = widen("double", lanes)
    up, down = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    x = body.op(f"{up} {type_} {a} to {real}")
    y = body.op(f"{up} {type_} {b} to {real}")
    return body.op(f"{down} {real} {body.op(f'fdiv {real} {x}, {y}')} to {type_}")


def _all_small(body: Body, type_: str, lanes: int, values: tuple[str, str], signed: bool) -> str:
    """Whether the magnitude of every lane of both i64 vectors is below 2**53."""
    mask, limit = widen("i1", lanes), 1 << 53
    tests: list[str] = []
    for value in values:
        moved = value
        if signed:
            moved = body.op(f"add {type_} {value}, {splat(str(limit), 'i64', lanes)}")
        bound = splat(str(2 * limit if signed else limit), "i64", lanes)
        tests.append(body.op(f"icmp ult {type_} {moved}, {bound}"))
    both = body.op(f"and {mask} {tests[0]}, {tests[1]}")
    bits = body.op(f"bitcast {mask} {both} to i{lanes}")
    return body.op(f"icmp eq i{lanes} {bits}, -1")


def upper_of_vectors(body: Body, type_: str, lanes: int, operands: list[str], signed: bool) -> str:
    """The upper halves of products of 64-bit integers, from products of their 32-bit halves: LLVM
    would multiply lane by lane."""
    half, mask = splat("32", "i64", lanes), splat(str((1 << 32) - 1), "i64", lanes)
    a, b = operands
    low = [body.op(f"and {type_} {value}, {mask}") for value in operands]
    high = [body.op(f"lshr {type_} {value}, {half}") for value in operands]

    def product(x: str, y: str) -> str:
        return body.op(f"mul {type_} {x}, {y}")

    carried = body.op(f"lshr {type_} {product(low[0], low[1])}, {half}")
    middle = body.op(f"add {type_} {product(high[0], low[1])}, {carried}")
    rest = body.op(f"and {type_} {middle}, {mask}")
    other = body.op(f"add {type_} {product(low[0], high[1])}, {rest}")
    upper = product(high[0], high[1])
    for part in (middle, other):
        upper = body.op(f"add {type_} {upper}, {body.op(f'lshr {type_} {part}, {half}')}")
    if not signed:
        return upper
    # A negative factor reads as itself plus 2**64, which adds the other one to the upper half.
    for factor, times in ((a, b), (b, a)):
        sign = body.op(f"ashr {type_} {factor}, {splat('63', 'i64', lanes)}")
        upper = body.op(f"sub {type_} {upper}, {body.op(f'and {type_} {sign}, {times}')}")
    return upper
