"""The pages of the API reference, from the docstrings and signatures of the public names."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

import host_names
import kernel_names

from gridlane import cuda
from gridlane.core.vector_names import NAMES as VECTORS
from gridlane.cuda import random, texture
from gridlane.cuda.names import MODULES
from gridlane.frontends.python.stubs import NAMESPACE

# Titles for the modules that host names come from, in the order of the page.
SECTIONS = {
    "kernels": "Kernels",
    "arrays": "Arrays",
    "host.streams": "Streams and events",
    "host.graphs": "Graphs",
    "host.device": "Devices",
    "ufuncs": "Ufuncs and reductions",
    "host.compilation": "Compilation",
    "raw": "PTX and CUDA C++",
    "host": "Host",
    "numba_compat": "numba",
}
# Classes of what functions of a section return: its title, the classes with their modules.
RETURNED = {
    "Kernels": (("gridlane.cuda.kernels.launch", "Configured"),),
    "Arrays": (("gridlane.cuda.arrays.devicearray", "DeviceNDArray"),),
    "Streams and events": (
        ("gridlane.cuda.host.streams", "Stream"),
        ("gridlane.cuda.host.streams", "Event"),
    ),
    "Graphs": (
        ("gridlane.cuda.host.graphs", "Graph"),
        ("gridlane.cuda.host.graphs", "Executable"),
    ),
    "Devices": (
        ("gridlane.cuda.host.device", "CudaDevice"),
        ("gridlane.cuda.host.device", "Context"),
    ),
}
# What launches and other modules call; users do not.
INTERNAL = {
    "bound", "checked", "forget", "kernel_for", "kernel_of", "mark_launch_config_sensitive",
    "plans_of", "user_exception",
}  # fmt: skip
# Names of types have a table of their own.
TYPES = "types"


def pages() -> dict[str, str]:
    """The pages by name, as Markdown."""
    return {
        "gridlane": gridlane_page(),
        "cuda-host": host_page(),
        "cuda-kernels": kernel_page(),
        "actors": actors_page(),
    }


def gridlane_page() -> str:
    import gridlane
    from gridlane.core import errors

    tree = inspect.cleandoc(errors.__doc__ or "").split("\n\n", 1)[1]
    parts = ["# gridlane", prose(inspect.getdoc(gridlane) or "")]
    parts += entry("gridlane.device", gridlane.device, level=2)
    parts += ["## Errors", "Their classes are in `gridlane.core.errors`.", f"```text\n{tree}\n```"]
    for name, value in vars(errors).items():
        if inspect.isclass(value) and value.__module__ == errors.__name__:
            parts += entry(name, value, level=3, members=False)
    parts += ["## Environment variables", variables()]
    return page(parts)


def variables() -> str:
    """A row for each variable that the docstring of the settings names."""
    from gridlane.core.config import Config

    text = re.sub(r"\s+", " ", inspect.getdoc(Config) or "")
    rows = []
    for part in re.split(r"(?:^| )\w+: (?=GRIDLANE_|CUDA_)", text)[1:]:
        name, _, meaning = part.strip().rstrip(".").partition(" ")
        rows.append(f"| `{name.rstrip(',')}` | {escaped(meaning).replace('``', '`')} |")
    return "\n".join(["| variable | |", "|---|---|", *rows])


def host_page() -> str:
    """Names of ``gridlane.cuda`` that the host calls, by their module."""
    parts = [
        "# gridlane.cuda on the host",
        "Under `gridlane run`, and after `gridlane.cuda.install_as_numba()`, `numba.cuda` has "
        "the same names.",
    ]
    left = {
        name: module
        for name, (module, _) in MODULES.items()
        if module != TYPES and name not in VECTORS
    }
    for prefix, title in SECTIONS.items():
        names = [name for name, module in left.items() if module.startswith(prefix)]
        if names:
            parts += group(title, host_names.TEXTS, host_names.EXAMPLES)
        for name in sorted(names, key=str.lower):
            del left[name]
            parts += entry(f"cuda.{name}", getattr(cuda, name), level=3)
        for module, name in RETURNED.get(title, ()):
            returned = getattr(importlib.import_module(module), name)
            parts += entry(name, returned, level=3, constructed=False)
    if left:
        parts.append("## More")
    for name in sorted(left):
        parts += entry(f"cuda.{name}", getattr(cuda, name), level=3)
    parts += group("Textures and surfaces", host_names.TEXTS, host_names.EXAMPLES)
    for name in texture.__all__:
        if inspect.isclass(getattr(texture, name)):
            parts += entry(f"texture.{name}", getattr(texture, name), level=3)
    parts += ["## Types", type_table()]
    return page(parts)


def type_table() -> str:
    rows: dict[str, list[str]] = {}
    for name, (module, _) in MODULES.items():
        if module == TYPES:
            rows.setdefault(str(getattr(cuda, name)), []).append(f"`{name}`")
    lines = [f"| {canonical} | {', '.join(names)} |" for canonical, names in rows.items()]
    vectors = ", ".join(f"`{name}`" for name in sorted(VECTORS) if not name.startswith("make_"))
    return "\n".join(["| type | names |", "|---|---|", *lines]) + f"\n\nShort vectors: {vectors}."


def kernel_page() -> str:
    """Names that have a meaning inside of kernels, by what they are for."""
    types, left = kernel_names.signatures(), dict(NAMESPACE)
    parts = [
        "# gridlane.cuda in kernels",
        "Using one of these outside of a kernel is an error. Under `gridlane run` they are "
        "`numba.cuda`'s. An *index* is an integer, or a tuple of them; *T* is any type of numbers.",
    ]
    groups = {**kernel_names.GROUPS, "More": ()}
    for title, names in groups.items():
        names = names or sorted(left, key=str.lower)
        if not names:
            continue
        parts += group(title, kernel_names.TEXTS, kernel_names.EXAMPLES)
        for name in names:
            parts += stub_entry(f"cuda.{name}", left.pop(name), 3, types)
    parts += ["## Random numbers", "Of `gridlane.cuda.random`; states are made on the host."]
    for name in sorted(vars(random)):
        if name.startswith(("create_", "init_", "xoroshiro128p_")) and not name.endswith("type"):
            function = getattr(random, name)
            parts += entry(name, getattr(function, "py_func", function), level=3)
    return page(parts)


def group(title: str, texts: dict[str, str], examples: dict[str, str]) -> Iterator[str]:
    """The heading of a group, what it is for, and its example."""
    yield f"## {title}"
    if title in examples:
        yield texts[title]
        yield f"```python\n{examples[title].strip()}\n```"


def stub_entry(
    title: str, value: Any, level: int, types: dict[str, list[str]] | None = None
) -> Iterator[str]:
    if isinstance(value, (ModuleType, type)) or not hasattr(value, "__doc__"):
        return
    text = inspect.cleandoc(value.__doc__ or "")
    first, _, rest = text.partition("\n\n")
    called = first.startswith(title + "(")
    yield f"{'#' * level} {title}"
    if called:
        typed = (types or {}).get(title.removeprefix("cuda."), [first])
        yield "```python\n" + "\n".join(dict.fromkeys(typed)) + "\n```"
    yield prose(rest if called else text)
    for name, member in sorted(getattr(value, "__dict__", {}).items()):
        if hasattr(member, "name") and str(getattr(member, "name", "")).startswith(title + "."):
            yield from stub_entry(f"{title}.{name}", member, level + 1, types)


def actors_page() -> str:
    actors = importlib.import_module("gridlane.actors")
    parts = ["# gridlane.actors", prose(inspect.getdoc(actors) or "")]
    for name in sorted(actors.__all__, key=str.lower):
        parts += entry(f"actors.{name}", getattr(actors, name), level=2)
    return page(parts)


def entry(
    title: str, value: Any, level: int, *, members: bool = True, constructed: bool = True
) -> Iterator[str]:
    """A heading, a signature and a docstring; of a class also its methods and properties.

    Args:
        constructed: users call the class, so its signature is shown.
    """
    yield f"{'#' * level} {title}"
    if inspect.ismodule(value) or not (callable(value) or inspect.isclass(value)):
        yield (
            f"A constant: `{value!r}`."
            if isinstance(value, (bool, int, str))
            else prose(inspect.getdoc(type(value)) or "")
        )
        return
    signature = signature_of(value) if constructed else None
    if signature is not None:
        if inspect.isclass(value):
            signature = signature.removesuffix(" -> None").removesuffix(" -> Self")
        yield f"```python\n{title.rpartition('.')[2]}{signature}\n```"
    yield prose(inspect.getdoc(value) or "")
    if not (members and inspect.isclass(value)):
        return
    for name, member in documented(value):
        short = f"{title.rpartition('.')[2]}.{name}"
        if isinstance(member, property):
            yield f"{'#' * (level + 1)} {short}"
            yield prose(inspect.getdoc(member) or "")
        else:
            function = getattr(value, name)
            yield f"{'#' * (level + 1)} {short}"
            yield f"```python\n{name}{signature_of(function) or '(...)'}\n```"
            yield prose(inspect.getdoc(function) or "")


def documented(kind: type) -> Iterator[tuple[str, Any]]:
    """The public members of a class that have docstrings, with those of gridlane's own bases."""
    seen = {"mro"}
    for base in kind.__mro__:
        if not base.__module__.startswith("gridlane"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen or name in INTERNAL:
                continue
            seen.add(name)
            function = member.fget if isinstance(member, property) else getattr(kind, name, None)
            routine = isinstance(member, property) or inspect.isroutine(function)
            if routine and (getattr(function, "__doc__", None) or "").strip():
                yield name, member


class Text:
    """An annotation that prints without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature_of(value: Any) -> str | None:
    """``(x, y=1) -> str``, a parameter a line where it is long; None if Python knows none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = [
        each.replace(annotation=plain(each.annotation))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    returned = plain(signature.return_annotation)
    text = without_places(str(signature.replace(parameters=parameters, return_annotation=returned)))
    if len(text) < 80:
        return text
    # Split where the parameters do: each is printed alone, with the marks between the kinds.
    lines: list[str] = []
    for before, each in zip([None, *parameters], parameters):
        star = each.kind is each.KEYWORD_ONLY
        if star and (before is None or before.kind not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)):
            lines.append("*")
        lines.append(without_places(str(each)))
    result = "" if returned is signature.empty else f" -> {returned!r}"
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")" + result


def plain(annotation: Any) -> Any:
    return Text(annotation) if isinstance(annotation, str) else annotation


def without_places(text: str) -> str:
    """Defaults whose text has an address differ from build to build; a class is its name."""
    text = re.sub(r"<[\w.]+ object at 0x[0-9a-f]+>", "...", text)
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text).replace("numpy.", "np.")
    return re.sub(r"ForwardRef\('(\w+)'\)", r"\1", text)


SECTION = re.compile(r"(Args|Returns|Raises|Yields|Example|Examples|Attributes):")


def prose(text: str) -> str:
    """A docstring as Markdown: sections become bold, their items a list, examples code."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
            continue
        lines: list[str] = []
        for line in block.splitlines():
            item = re.match(r"    (\S[^:]{0,60}): (.*)", line)
            if SECTION.fullmatch(line):
                lines += [f"**{line[:-1]}**", ""]
            elif item:
                lines.append(f"- `{item[1].replace('``', '')}`: {item[2]}")
            else:
                lines.append(line.strip())
        parts.append(escaped("\n".join(lines)).replace("``", "`"))
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Angle brackets outside of code are text, not HTML."""
    return re.sub(r"(`[^`]*`)|<", lambda match: match[1] or "&lt;", text)


def page(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part.strip()) + "\n"
