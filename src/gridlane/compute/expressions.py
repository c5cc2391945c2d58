"""Nodes of isl's syntax trees, and their expressions as Python's text."""

from __future__ import annotations

from typing import Any

import islpy as isl

# The stubs of islpy lack names that end with an underscore, and have enumerators as integers.
_OP: Any = isl.ast_expr_op_type
_NODE: Any = isl.ast_node_type
FOR, IF, BLOCK, USER = _NODE.for_, _NODE.if_, _NODE.block, _NODE.user
_INFIX: dict[Any, str] = {
    _OP.add: "+", _OP.sub: "-", _OP.mul: "*", _OP.div: "//", _OP.fdiv_q: "//", _OP.pdiv_q: "//",
    _OP.pdiv_r: "%", _OP.zdiv_r: "%", _OP.eq: "==", _OP.le: "<=", _OP.lt: "<", _OP.ge: ">=",
    _OP.gt: ">", _OP.and_: "and", _OP.and_then: "and", _OP.or_: "or", _OP.or_else: "or",
}  # fmt: skip


def python(expression: isl.AstExpr) -> str:
    """The text of an expression of integers."""
    kind = expression.get_type()
    if kind == isl.ast_expr_type.id:
        return str(expression.get_id().get_name())
    if kind == isl.ast_expr_type.int:
        value = expression.get_val().to_python()
        return str(value) if value >= 0 else f"({value})"
    op: Any = expression.get_op_type()
    parts = [python(expression.get_op_arg(n)) for n in range(expression.get_op_n_arg())]
    if op in _INFIX:
        return f"({f' {_INFIX[op]} '.join(parts)})"
    if op in (_OP.max, _OP.min):
        word, text = ("max" if op == _OP.max else "min"), parts[0]
        for each in parts[1:]:
            text = f"{word}({text}, {each})"
        return text
    if op == _OP.minus:
        return f"(-{parts[0]})"
    if op in (_OP.cond, _OP.select):
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    raise AssertionError(f"isl's operator {op} in {expression}")
