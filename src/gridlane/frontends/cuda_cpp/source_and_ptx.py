"""The common input and output of all compilers: the source's text, the mangled names, the headers
read.

A table in the source returns the mangled names of C++ names, such as ``scale<float>``.

A variable for each name is appended to the source. It holds the address, so the compiler
instantiates the template, and its initial value in the PTX is the mangled name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from os.path import abspath
from pathlib import Path

from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp.compiled import CppSource
from gridlane.frontends.cuda_cpp.launches import with_launches

_STEM = "gridlane_name_expression_"
_ROW = re.compile(
    rf"^(?:\.visible )?\.global \.align 8 \.u64 {_STEM}(\d+)(?:\[1\])? = "
    r"\{?(?:generic\()?([\w$.]+)\)?\}?;\n?",
    re.MULTILINE,
)


_ASSEMBLY = re.compile(
    r"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__)\s*)?\(\s*"
    r"(?:\"(?:[^\"\\\n]|\\.)*\"\s*)+:"
)
"""The text of an assembly with operands."""
_REGISTER = re.compile(
    r"(?<!%)(?=%(?:n?tid|n?ctaid|gridid|laneid|n?warpid|n?smid|lanemask_[lg][te]|lanemask_eq"
    r"|clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?|dynamic_smem_size|total_smem_size)\b)"
)


def _with_registers(assembly: re.Match[str]) -> str:
    """Special registers by ``%%``: nvcc takes them by one ``%`` as well."""
    return _REGISTER.sub("%", assembly[0])


_NAME = re.compile(r"(?!(?:static|const|reinterpret)_cast\b)[A-Za-z_]\w*\s*(?:<|::|$)")


def with_table(source: CppSource) -> str:
    """The text of a source with a table of its name expressions behind it, by its own name."""
    rows = [
        f'#line 1 "the name expression {_quoted(each)}"\n'
        f'extern "C" __device__ auto {_STEM}{place} = &{_global(each.strip().lstrip("&"))};\n'
        for place, each in enumerate(source.expressions)
    ]
    name = source.name.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join((f'#line 1 "{name}"', translated(source.code), *rows))


def translated(code: str) -> str:
    """A text of CUDA C++ as clang reads it, where nvcc takes other spellings."""
    code = code.removeprefix("\ufeff")  # a mark of UTF-8, which files begin with
    return with_launches(_ASSEMBLY.sub(_with_registers, code))


def _global(expression: str) -> str:
    """A name as one of the global namespace, whose own names precede those of ``using namespace``,
    such as std::fill beside a kernel ``fill``."""
    return f"::{expression}" if _NAME.match(expression) else expression


def read_table(ptx: str, expressions: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The PTX without the table, and the mangled name of each expression.

    Raises:
        CompileError: a name is missing in the PTX.
    """
    mangled = {int(row[1]): row[2] for row in _ROW.finditer(ptx)}
    names: dict[str, str] = {}
    for place, each in enumerate(expressions):
        if place not in mangled:
            raise CompileError(
                f"the compiler gives no name for the name expression {each!r}: it names a kernel "
                "or a variable of the device, with its template arguments"
            )
        names[each] = mangled[place]
    return _ROW.sub("", ptx) if expressions else ptx, names


_OF_TABLE = re.compile(
    r"^the name expression (?P<own>.*?)(?::\d+:\d+|\(\d+\)): (?:fatal )?error\b"
    r"|^\s*#pragma nv_mangled_name\s+(?P<nvrtc>.*?)\s*$",
    re.MULTILINE,
)


def unknown(message: str, expressions: Sequence[str]) -> tuple[str, ...]:
    """The name expressions that a compiler's errors are about: a source has not what they name."""
    unknown_names = {row["own"] or row["nvrtc"] for row in _OF_TABLE.finditer(message)}
    return tuple(each for each in expressions if unknown_names & {each.strip(), _quoted(each)})


def defines(ptx: str, name: str) -> bool:
    """Whether the PTX of a compiler defines a kernel or variable, and does not only declare it."""
    head = r"^\s*(?:\.(?:visible|weak|common)\s+)?\.(?:entry|func|global|const|shared)\b[^\n;=]*?"
    pattern = rf"{head}(?<![\w$]){re.escape(name)}(?![\w$])"
    return re.search(pattern, ptx, re.MULTILINE) is not None


_STATIC = re.compile(
    r"(?<![\w$])(?P<name>[A-Za-z_$][\w$]*?)(?P<end>__(?:static|intern)__[0-9a-f]{1,16}\b)"
)
"""The end is a number of 64 bits, without zeros in front."""
_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


def with_statics(ptx: str) -> str:
    """The PTX of relocatable code with one name for each static variable. Clang gives those that
    the host uses a new name, and code that it has compiled before it sees the use has the old."""
    if "__static__" not in ptx and "__intern__" not in ptx:
        return ptx
    ends = {found["name"]: found["end"] for found in _STATIC.finditer(ptx)}
    return _WORD.sub(lambda word: word[0] + ends.get(word[0], ""), ptx)


def made_ptx(path: Path, compiler: str) -> str:
    """The text of the PTX that a compiler wrote.

    Raises:
        CompileError: there is none, as an option requests another output.
    """
    text = path.read_text(errors="replace") if path.is_file() else ""
    if not re.search(r"^\s*\.version\b", text, re.MULTILINE):
        raise CompileError(
            f"{compiler} wrote no PTX: an option asks for something else, such as -E, --help or "
            "-fsyntax-only; leave it out"
        )
    return text


_UNSETTLED = re.compile(r"__has_(?:include|embed)|__(?:DATE|TIME|TIMESTAMP)__")


def settled(
    source: CppSource, headers: Sequence[str], own: Sequence[str]
) -> tuple[str, ...] | None:
    """The headers, if their content and the source decide the PTX; None where a time does, a file
    that is not there, one of options, or one whose name a rule of make does not spell.

    Args:
        own: folders of the compiler's own headers, whose tests are of its own files.
    """
    if _UNSETTLED.search(source.code) or any(each.startswith("@") for each in source.options):
        return None
    inside = tuple(os.path.join(each, "") for each in own)
    for header in headers:
        if header.startswith(inside):
            continue
        try:
            text = Path(header).read_text(errors="replace")
        except OSError:
            return None
        if _UNSETTLED.search(text):
            return None
    return tuple(headers)


def _quoted(expression: str) -> str:
    return re.sub(r'[\\"\n]', "'", expression.strip())


def prerequisites(rule: str) -> Iterator[str]:
    """The headers in a rule of make that a compiler has written."""
    _, _, behind = rule.partition(":")
    for word in re.findall(r"(?:\\[ #]|\$\$|[^\s\\]|\\(?![\n\s]))+", behind):
        yield os.path.abspath(re.sub(r"\\([ #])", r"\1", word).replace("$$", "$"))


_LINE = re.compile(r"^(\s*\.loc\s+)(\d+) \d+ \d+(\s*// )(.+)$", re.MULTILINE)
_FILE = re.compile(r"^\s*\.file\s+(\d+) ", re.MULTILINE)
_PLACE = re.compile(r"(.*):(\d+):(\d+)")


def with_users_lines(ptx: str, folders: Sequence[str]) -> str:
    """PTX of clang's whose lines of inlined functions of headers are those of their calls.

    Clang has the chain of calls in a comment: ``// a.h:1:45 @[ b.h:2:5 @[ c.cu:4:9 ] ]``.

    Args:
        folders: of the headers.
    """
    chains = [(found, _places(found[4])) for found in _LINE.finditer(ptx)]
    files = {places[0][0]: int(found[2]) for found, places in chains}
    last = max((int(each) for each in _FILE.findall(ptx)), default=0)
    added: list[str] = []
    parts: list[str] = []
    end = 0
    for chain, call_places in chains:
        of_user = (each for each in call_places if not each[0].startswith(tuple(folders)))
        chosen = next(of_user, None)
        if chosen is None or chosen == call_places[0]:
            continue
        file, line, column = chosen
        if file not in files:
            files[file] = last = last + 1
            added.append(f'\t.file\t{last} "{file}"\n')
        place = f"{file}:{line}:{column}"
        parts += (ptx[end : chain.start()], chain[1], f"{files[file]} {line} {column}", chain[3])
        parts.append(place)
        end = chain.end()
    return "".join((*parts, ptx[end:], *added))


def _places(chain: str) -> list[tuple[str, int, int]]:
    """The places of a chain of calls, the innermost first. Clang writes the names of files below
    the folder that it works in without that folder."""
    matches = map(_PLACE.fullmatch, chain.rstrip(" ]").split(" @[ "))
    known = (each for each in matches if each)
    return [(abspath(each[1]), int(each[2]), int(each[3])) for each in known] or [("", 0, 0)]
