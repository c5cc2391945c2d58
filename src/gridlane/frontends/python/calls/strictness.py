"""The parameters of a function of types and of the implementation that it returns are the same."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from gridlane.core.signatures import signature_of

_DIFFER = "Typing and implementation arguments differ in"


def check_parameters(choose: Any, implementation: Any) -> None:
    """Require the same names and defaults.

    Raises:
        ValueError: they differ; the message names the parameter.
    """
    wanted, declared = (
        list(signature_of(each).parameters.values()) for each in (choose, implementation)
    )
    for each in (*wanted, *declared):
        if each.kind is Parameter.VAR_KEYWORD:
            raise ValueError(
                "use of VAR_KEYWORD (e.g. **kwargs) is unsupported; the offending argument name "
                f"is '**{each.name}'"
            )
    _check_positional(_without_default(wanted), _without_default(declared))
    _check_keywords(_with_default(wanted), _with_default(declared))


def _without_default(parameters: list[Parameter]) -> list[Parameter]:
    return [each for each in parameters if each.default is Parameter.empty]


def _with_default(parameters: list[Parameter]) -> dict[str, Parameter]:
    return {each.name: each for each in parameters if each.default is not Parameter.empty}


def _check_positional(wanted: list[Parameter], parameters: list[Parameter]) -> None:
    """Parameters without a default, in order. ``*args`` of the implementation matches the rest; in
    the function of types it does so only if the implementation has it too."""
    starred = [each for each in wanted if each.kind is Parameter.VAR_POSITIONAL]
    in_found = [each for each in parameters if each.kind is Parameter.VAR_POSITIONAL]
    if starred and not in_found:
        raise ValueError(
            "VAR_POSITIONAL (e.g. *args) argument kind is in the function of types and not in the "
            f"implementation; the offending argument name is '*{starred[0].name}'"
        )
    own = [each for each in wanted if each not in starred]
    others = [each for each in parameters if each not in in_found]
    if in_found:
        own = own[: len(others)]
    names, given = [each.name for each in own], [each.name for each in others]
    if names == given:
        return
    if in_found:
        first = next(b for a, b in zip([*names, None], [*given, None]) if a != b)
        shown = f"First difference: {first!r}"
    else:
        shown = f"First difference: {_first(names, given)!r}"
    lone = [str(_shown(each)) for each in own if each.name not in given]
    more = [str(_shown(each)) for each in others if each.name not in names]
    raise ValueError(
        f"{_DIFFER} argument names: {', '.join(lone) or 'none'} only in the function of types, "
        f"{', '.join(more) or 'none'} only in the implementation. {shown}"
    )


def _first(names: list[str], given: list[str]) -> str | None:
    for number in range(max(len(names), len(given))):
        here, there = names[number : number + 1], given[number : number + 1]
        if here != there:
            return (there or here)[0]
    return None


def _check_keywords(wanted: dict[str, Parameter], declared: dict[str, Parameter]) -> None:
    lone = [_shown(each) for name, each in wanted.items() if name not in declared]
    more = [_shown(each) for name, each in declared.items() if name not in wanted]
    if lone or more:
        raise ValueError(
            f"{_DIFFER} keyword argument names: {', '.join(lone) or 'none'} only in the function "
            f"of types, {', '.join(more) or 'none'} only in the implementation"
        )
    for name, each in wanted.items():
        if each.default is not declared[name].default and each.default != declared[name].default:
            raise ValueError(
                f"{_DIFFER} keyword argument default values: {_shown(each)} in the function of "
                f"types, {_shown(declared[name])} in the implementation"
            )


def _shown(parameter: Parameter) -> str:
    return f'<Parameter "{parameter}">'
