"""C++'s own forms of functions, which are rows of ``forms.txt``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gridlane.core.cuda_table.functions import Api, Function, Parameter, exported
from gridlane.core.cuda_text import lines

_CHANGE = re.compile(r"(\w+)(=\w+|\*|&|\(\)|\.|-)")


def forms(api: Api, major: int, error: str) -> Iterator[str]:
    """The lines of a library's forms, in C++.

    Args:
        error: the type of its errors.
    """
    rows = {row.name: row for row in exported(api, major)}
    family = ""
    for line in lines("forms"):
        if line.startswith("["):
            family = line.strip("[]")
        elif family == api:
            yield _form(line, rows, error)


def _form(line: str, rows: dict[str, Function], error: str) -> str:
    name, called, words = re.fullmatch(r"(\w+)(?: = (\w+))?(.*)", line).groups()  # type: ignore[union-attr]  # a row
    row, changes = rows[called or name], list[tuple[str, str]](_CHANGE.findall(words))
    kinds = dict(each for each in changes if each[1][0] != "=")
    values = dict(each for each in changes if each[1][0] == "=")
    unknown = {*kinds, *values} - {each.name for each in row.parameters}
    if unknown or len(changes) != len(words.split()):
        raise ValueError(f"forms.txt, {line}: {called or name} has no such parameters")
    texts = [_declared(each, number, kinds.get(each.name, "")) for number, each in _of(row)]
    given = [
        f"{text} {values[each.name]}" if each.name in values else text
        for text, each in zip(texts, row.parameters, strict=True)
        if text
    ]
    head = f"{error} {name}({', '.join(given)})"
    if not called and not kinds:
        return f'extern "C" {head};'
    passed = ", ".join(_passed(each, n, kinds.get(each.name, "")) for n, each in _of(row))
    types = ", ".join(f"class T{n}" for n, each in _of(row) if kinds.get(each.name, "-") != "-")
    template = f"template <{types}> " if types else ""
    return f"{template}inline {head} {{ return ::{row.name}({passed}); }}"


def _of(row: Function) -> Iterator[tuple[int, Parameter]]:
    return iter(enumerate(row.parameters))


def _declared(parameter: Parameter, number: int, kind: str) -> str:
    """A parameter of a form, by a number: programs have macros of the names."""
    of = f"T{number}"
    text = {
        "": parameter.type,
        "*": parameter.type.replace("void", of),
        "&": f"const {of} &",
        "()": f"{of} *",
        ".": of,
    }.get(kind)
    return "" if text is None else f"{text} a{number}"


def _passed(parameter: Parameter, number: int, kind: str) -> str:
    """What a form passes for a parameter of the function."""
    return {
        "": f"a{number}",
        "*": f"({parameter.type})(void *)a{number}",
        "&": f"({parameter.type})&a{number}",
        "-": "nullptr",
    }.get(kind, f"({parameter.type})a{number}")
