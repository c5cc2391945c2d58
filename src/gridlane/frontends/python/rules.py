"""The dialect: the combined rules of all expressions, statements and calls."""

from __future__ import annotations

from gridlane.frontends.python.calls import (
    addressed_memory,
    atomics,
    builtin,
    casts,
    clusters,
    complex_mathematics,
    copies,
    creation,
    fp16,
    grid,
    groups,
    hints,
    integers,
    mathematics,
    matrix,
    memory,
    numpy_functions,
    operator_functions,
    pointers,
    reductions,
    type_tests,
    vector_access,
    volatile,
    warps,
)
from gridlane.frontends.python.calls.extended import extended_truth
from gridlane.frontends.python.expressions import EXPRESSIONS
from gridlane.frontends.python.statements import STATEMENTS
from gridlane.frontends.python.translator import Rules

RULES = Rules(EXPRESSIONS, STATEMENTS, extended_truth)

CALLS = (
    atomics, builtin, casts, clusters, complex_mathematics, copies, creation, fp16, grid, groups,
    integers, mathematics, hints, matrix, memory, numpy_functions, operator_functions, pointers,
    reductions, type_tests, vector_access, volatile, warps, addressed_memory,
)  # fmt: skip
"""Modules that register callees in calls/registry.py, each when it is imported. A module that few
kernels need is the ``home`` of its stubs instead: calls/libdevice.py."""
