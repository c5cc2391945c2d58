"""Evaluate ``consteval`` in a function's ast, before the function is translated.

The rewriting runs for each translation: parameters are their types inside of ``consteval``. Nodes
keep their places, so that errors have the program's lines. What is no literal is a name that no
program can write, bound to the object.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from gridlane.frontends.python.consteval_stubs import (
    ConstevalError,
    compiling_for,
    consteval,
    local_array_from,
)
from gridlane.frontends.python.liveness import analyse
from gridlane.frontends.python.source import FunctionSource
from gridlane.frontends.python.stubs import local
from gridlane.frontends.python.unrolling import (
    bound_targets,
    check_unrolled,
    items_of_parameter,
    substituted,
)

_LITERALS = (bool, int, float, complex, str, bytes, type(None))
_NONE = object()
_LOCAL_ARRAY = "cuda.local_array"
"""The name of the stub in rewritten text: no name of a program has a dot."""
Lookup = Callable[[str], tuple[bool, Any]]
"""Whether a name is bound around the function, and its value."""


@dataclass(slots=True)
class Rewritten:
    """A function whose compile-time parts are evaluated.

    Attributes:
        source: with the new ast.
        values: the objects that its new names are bound to.
    """

    source: FunctionSource
    values: dict[str, Any]

    @property
    def text(self) -> str:
        """The function as Python text."""
        node = copy.copy(self.source.node)
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
        return ast.unparse(node)


def rewritten(
    source: FunctionSource,
    lookup: Lookup,
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Rewritten | None:
    """The function with its ``consteval`` parts evaluated; None if it has no compile-time part.

    Args:
        source: of the function.
        lookup: finds what names around the function are bound to.
        parameters: the types of the parameters that are known, by name.
        options: what ``current_target_options()`` returns.

    Raises:
        ConstevalError: an expression cannot be evaluated, or a loop cannot be unrolled; located.
    """
    if not isinstance(source.node, ast.FunctionDef) or not _has_parts(source.node, lookup):
        return None
    node = copy.deepcopy(source.node)
    source_copy = replace(source, node=node, flows={}, locations={}, reads=None)
    rewriter = _Rewriter(source_copy, lookup, dict(parameters))
    with compiling_for(options):
        node.body = rewriter.block(node.body)
    source_copy.flows = analyse(source_copy.body, node)
    return Rewritten(source_copy, rewriter.values)


def _has_parts(node: ast.AST, lookup: Lookup) -> bool:
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(_named(each.func, lookup) in (consteval, local_array_from) for each in calls)


def _named(node: ast.expr, lookup: Lookup) -> Any:
    """The object that a name, or an attribute of a module, is; None of any other expression."""
    if isinstance(node, ast.Name):
        is_bound, value = lookup(node.id)
        return value if is_bound else None
    if isinstance(node, ast.Attribute):
        owner = _named(node.value, lookup)
        if isinstance(owner, types.ModuleType):
            return getattr(owner, node.attr, None)
    return None


@dataclass(slots=True)
class _Rewriter(ast.NodeTransformer):
    """The state of one rewriting.

    Attributes:
        known: the variables whose values are known when the kernel is compiled.
        values: the objects that new names are bound to.
    """

    source: FunctionSource
    lookup: Lookup
    parameters: dict[str, Any]
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: int = 0

    # --- statements ---

    def block(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that a list of statements becomes, never none."""
        statements = self.statements(nodes)
        return statements or [ast.copy_location(ast.Pass(), nodes[0])]

    def statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that a list of statements becomes, in their order."""
        return [each for node in nodes for each in self.statement(node)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements that one becomes."""
        if isinstance(node, ast.With) and self.is_call(node.items[0].context_expr, consteval):
            return self.run(node)
        if isinstance(node, ast.For) and self.is_call(node.iter, consteval):
            return self.unroll(node)
        if isinstance(node, ast.If):
            return self.branch(node)
        if isinstance(node, ast.While | ast.For):
            return [self.loop(node)]
        if isinstance(node, ast.FunctionDef | ast.With | ast.Try):
            return [self.nested(node)]
        if isinstance(node, ast.Assign) and self.is_call(node.value, local_array_from):
            return self.array(node)
        return self.simple(node)

    def simple(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement without others inside."""
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        is_part = isinstance(value, ast.expr) and self.is_call(value, consteval)
        rewritten_node = self.visit(node)
        for each in _names([node]):
            self.known.pop(each, None)
        if is_part and isinstance(node, ast.Expr):
            return [] if isinstance(node.value, ast.Constant) else [rewritten_node]
        if is_part and len(targets) == 1 and isinstance(targets[0], ast.Name):
            self.known[targets[0].id] = self.value_of(rewritten_node.value)
        return [rewritten_node]

    def branch(self, node: ast.If) -> list[ast.stmt]:
        """An if: the statements of its one branch where the condition is known."""
        is_part = self.is_part(node.test)
        node.test = self.visit(node.test)
        if is_part and isinstance(node.test, ast.Constant):
            return self.statements(node.body if node.test.value else node.orelse)
        before = dict(self.known)
        node.body = self.block(node.body)
        after, self.known = self.known, before
        node.orelse = self.statements(node.orelse)
        self.known = {
            name: value for name, value in self.known.items() if after.get(name, _NONE) is value
        }
        return [node]

    def loop(self, node: ast.While | ast.For) -> ast.stmt:
        """A loop that runs: what it assigns is not known inside or after it."""
        for name in _names(list(ast.walk(node))):
            self.known.pop(name, None)
        if isinstance(node, ast.For):
            node.iter = self.visit(node.iter)
        else:
            node.test = self.visit(node.test)
        before = dict(self.known)
        node.body = self.block(node.body)
        node.orelse = self.statements(node.orelse)
        self.known = before
        return node

    def nested(self, node: ast.FunctionDef | ast.With | ast.Try) -> ast.stmt:
        """A statement with others inside."""
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            if inner:
                setattr(node, name, self.block(inner))
        for handler in getattr(node, "handlers", ()):
            handler.body = self.block(handler.body)
        if isinstance(node, ast.With):
            node.items = [self.visit(item) for item in node.items]
        return node

    # --- what consteval says ---

    def run(self, node: ast.With) -> list[ast.stmt]:
        """Run the statements of ``with consteval():`` in Python."""
        variable = node.items[0].optional_vars
        if variable is not None or len(node.items) > 1:
            shown = ast.unparse(variable) if variable is not None else "…"
            self.fail(
                node,
                f"'with consteval() as {shown}:' is not supported; write 'with consteval():', and "
                "consteval(name) for a value of the block",
            )
        for statement in node.body:
            if isinstance(statement, ast.With) and self.is_call(
                statement.items[0].context_expr, consteval
            ):
                self.run(statement)
                continue
            # Its variables are globals of what runs, so that functions inside see them.
            space = self.namespace(statement)
            given = dict(space)
            try:
                exec(self.code(ast.Module([copy.deepcopy(statement)], [])), space)
            except Exception as error:
                self.fail(
                    statement,
                    f"Error executing consteval block statement:\n  {ast.unparse(statement)}\n"
                    f"{type(error).__name__}: {error}",
                    error,
                )
            self.known |= {
                name: value
                for name, value in space.items()
                if name != "__builtins__" and (name not in given or given[name] is not value)
            }
        return []

    def unroll(self, node: ast.For) -> list[ast.stmt]:
        """The body of ``for x in consteval(items)`` once for each of the items."""
        check_unrolled(node, self.fail)
        assert isinstance(node.iter, ast.Call)
        argument = self.argument(node.iter)
        items = items_of_parameter(argument, self.parameters, self.fail)
        if items is None:
            value = self.evaluate(argument)
            try:
                items = list(value)
            except TypeError as error:
                name = type(value).__name__
                self.fail(node, f"consteval iterator must be iterable, got {name}", error)
        statements: list[ast.stmt] = []
        bound: dict[str, Any] = {}
        for item in items:
            bound = bound_targets(node.target, item, self.fail)
            nodes = {name: self.node_of(value) for name, value in bound.items()}
            before = self.known
            self.known = before | _evaluated(bound)
            statements += self.statements([substituted(each, nodes) for each in node.body])
            self.known = {name: value for name, value in self.known.items() if name not in bound}
        self.known |= _evaluated(bound)
        for name, value in bound.items():
            assigned = ast.Assign([ast.Name(name, ast.Store())], self.node_of(value))
            statements.append(ast.fix_missing_locations(ast.copy_location(assigned, node)))
        return statements + self.statements(node.orelse)

    def array(self, node: ast.Assign) -> list[ast.stmt]:
        """A local array and a loop, for ``x = local_array_from((f(v) for v in values), dtype)``."""
        call, target = node.value, node.targets[0]
        assert isinstance(call, ast.Call)
        values = call.args[0] if call.args else None
        if not isinstance(target, ast.Name) or not isinstance(values, ast.GeneratorExp):
            self.fail(node, "local_array_from takes a generator expression, and gives a variable")
        if len(values.generators) != 1 or values.generators[0].ifs:
            self.fail(node, "local_array_from takes a generator with one for, without an if")
        self.values[_LOCAL_ARRAY] = local.array
        index, each = f"__laf_i_{self.arrays}", values.generators[0]
        self.arrays += 1
        given = [*call.args[1:], *[word.value for word in call.keywords]]
        over, dtype = ast.unparse(each.iter), ", ".join(f"dtype={ast.unparse(x)}" for x in given)
        template = (
            f"{target.id} = __array(len({over}), {dtype})\n"
            f"for {index} in range(len({over})):\n"
            f"    __target = ({over})[{index}]\n"
            f"    {target.id}[{index}] = {ast.unparse(values.elt)}"
        )
        statements = ast.parse(template).body
        assert isinstance(statements[0], ast.Assign) and isinstance(statements[1], ast.For)
        statements[0].value.func = ast.Name(_LOCAL_ARRAY, ast.Load())  # type: ignore[attr-defined]
        statements[1].body[0].targets = [each.target]  # type: ignore[attr-defined]  # an Assign
        for inner in [inner for statement in statements for inner in ast.walk(statement)]:
            ast.copy_location(inner, node)
        return self.statements(statements)

    # --- expressions ---

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call of ``consteval`` becomes its value."""
        if self.is_call(node, consteval):
            value = self.evaluate(self.argument(node))
            return ast.copy_location(self.node_of(value), node)
        return self.generic_visit(node)

    def is_call(self, node: ast.AST, stub: Any) -> bool:
        """Whether an expression calls a stub."""
        return isinstance(node, ast.Call) and _named(node.func, self.lookup) is stub

    def is_part(self, node: ast.expr) -> bool:
        """Whether a condition is ``consteval(...)``, or ``not`` of it."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node = node.operand
        return self.is_call(node, consteval)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """``not consteval(x)`` is known as well."""
        known = isinstance(node.op, ast.Not) and self.is_part(node.operand)
        result = self.generic_visit(node)
        if known and isinstance(result, ast.UnaryOp) and isinstance(result.operand, ast.Constant):
            return ast.copy_location(ast.Constant(not result.operand.value), node)
        return result

    def argument(self, node: ast.Call) -> ast.expr:
        """The one argument of a call of ``consteval``."""
        if len(node.args) != 1 or node.keywords:
            self.fail(node, "consteval expects exactly one positional argument")
        return node.args[0]

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression in Python."""
        node = self.visit(copy.deepcopy(node))
        try:
            return eval(self.code(ast.Expression(copy.deepcopy(node))), self.namespace(node))
        except Exception as error:
            self.fail(
                node,
                f"Cannot evaluate consteval argument '{ast.unparse(node)}' at compile time: "
                f"{type(error).__name__}: {error}",
                error,
            )

    def code(self, tree: ast.Expression | ast.Module) -> types.CodeType:
        """Code with the lines of the program's file, where functions find their source."""
        tree = ast.increment_lineno(ast.fix_missing_locations(tree), self.source.line_offset)
        kind = "eval" if isinstance(tree, ast.Expression) else "exec"
        return compile(tree, self.source.file, kind, dont_inherit=True)

    def namespace(self, node: ast.AST) -> dict[str, Any]:
        """What the names of some Python are bound to."""
        space: dict[str, Any] = {}
        for name in {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}:
            is_bound, value = self.lookup(name)
            if is_bound:
                space[name] = value
        return space | self.known | self.values | self.parameters

    def node_of(self, value: Any) -> ast.expr:
        """The expression of a value: a literal, or a new name."""
        if isinstance(value, ast.expr):
            return value
        if _is_literal(value):
            return ast.Constant(value)
        name = f"__consteval_{len(self.values)}__"
        self.values[name] = value
        return ast.Name(name, ast.Load())

    def value_of(self, node: ast.expr) -> Any:
        """The value that an expression of ``node_of`` has."""
        return node.value if isinstance(node, ast.Constant) else self.values[node.id]  # type: ignore[attr-defined]  # a Name

    def fail(self, node: ast.AST, message: str, cause: Exception | None = None) -> NoReturn:
        """Raise the error of a place."""
        raise ConstevalError(message, self.source.locate(node)) from cause


def _is_literal(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_literal, value))
    return type(value) in _LITERALS


def _evaluated(bound: dict[str, Any]) -> dict[str, Any]:
    """The names without those of expressions, which have no value yet."""
    return {name: value for name, value in bound.items() if not isinstance(value, ast.expr)}


def _names(nodes: list[Any]) -> list[str]:
    """The names that targets, or assignments among nodes, bind."""
    inside = [each for node in nodes if isinstance(node, ast.AST) for each in ast.walk(node)]
    return [
        each.id
        for each in inside
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del)
    ]
