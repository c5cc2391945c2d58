"""The index of a module: its functions and variables, with the bodies unread.

PTX ISA 9.0, chapters "Syntax", "Directives" and "Abstracting the ABI".
"""

from __future__ import annotations

import re
from dataclasses import field, replace

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import NAME, Declared, declared
from gridlane.frontends.ptx.text import LOC, Text, words_of
from gridlane.frontends.ptx.types import TYPES

NEWEST = (9, 5)
"""The newest version of the ISA that is read to the letter."""

_SPACE = re.compile(r"\s*")
_BRACE = re.compile(r"[{}]|\"(?:[^\"\\\n]|\\.)*\"")
_VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+([\w,\s]*?)(?=\s*(?:\n|\.|$))")
_SIZE = re.compile(r"\.address_size\s+(\d+)")
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\\n]|\\.)*)"(?:\s*,\s*\d+\s*,\s*\d+)?')
_SKIPPED = re.compile(rf"\.pragma\b[^;]*;|{LOC}")
_ALIAS = re.compile(rf"\.alias\s+(?P<name>{NAME})\s*,\s*(?P<of>{NAME})\s*;")
_SECTION = re.compile(r"\.section\s+[^\s{]+\s*\{")
_OPEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|(/\*)")
_LINKING = re.compile(r"\.(extern|visible|weak|common)\b\s*")
_PRAGMA = r'\.pragma\b(?:"[^"]*"|[^;"])*;'
_FUNCTION = re.compile(
    rf"\.(?P<kind>entry|func)\b\s*(?:\((?P<results>[^()]*)\)\s*)?(?P<name>{NAME})\s*"
    rf"(?:\((?P<params>[^()]*)\)\s*)?(?P<tuning>(?>{_PRAGMA}|[^{{;])*)(?P<end>[{{;])"
)
_VARIABLE = re.compile(
    r"\.(?P<space>global|const|shared|local|tex|param)\b(?P<rest>[^;={]*)(?:=\s*(?P<value>[^;]*))?;"
)
_WITHIN = re.compile(
    r"[;{}]\s*\.(?P<space>global|const)\b(?P<rest>[^;={]*)(?:=\s*(?P<value>[^;]*))?(?=;)"
)
"""The same in a body, behind the end of another statement."""
_ARRAY = re.compile(r"\.param\s+(?:\.align\s+\w+\s*)?\.(\w+)\s+[\w$%]+\s*\[\s*(\d+)\s*\]")
_MOST_OPEN = 1024
"""The most bytes of an array that is handed to a parameter without a size."""
_REFERENCE = re.compile(r"\.global\s+\.(?P<kind>texref|surfref)\s+(?P<rest>[^;={]*)(?:=[^;]*)?;")
_SAMPLER = re.compile(rf"\.global\s+\.samplerref\s+(?P<name>{NAME})[^;]*;")
"""Samplers apart from textures. Kernels that use them are refused."""
_TUNING = re.compile(rf"{_PRAGMA}|\.(\w+)\s*((?:\d+\s*,?\s*)*)")
_KNOWN_TUNING = frozenset((
    "maxntid", "reqntid", "minnctapersm", "maxnreg", "noreturn", "maxnctapersm",
    "reqnctapercluster", "explicitcluster", "maxclusterrank", "attribute", "blocksareclusters",
    "abi_preserve", "abi_preserve_control",
))  # fmt: skip


@frozen
class PtxFunction:
    """A kernel or function: its head, and where its body is in the code.

    Attributes:
        start, end: of the body, without the braces; both 0 of a declaration.
        number: among the functions of the module, from 1.
        tuning: the numbers of each performance-tuning directive.
    """

    name: str
    is_entry: bool
    params: tuple[Declared, ...]
    results: tuple[Declared, ...]
    start: int
    end: int
    at: int
    number: int
    tuning: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    @property
    def has_body(self) -> bool:
        """Whether it is defined here."""
        return self.end > 0

    @property
    def names_clusters(self) -> bool:
        """Whether a kernel says that its grids consist of clusters, or of which."""
        return any(each in self.tuning for each in ("reqnctapercluster", "explicitcluster"))

    @property
    def cluster(self) -> tuple[int, int, int] | None:
        """The blocks of a kernel's clusters along each axis, if it says so."""
        sizes = self.tuning.get("reqnctapercluster")
        if not sizes:
            return None
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z


@frozen
class Item:
    """A directive of a module, in the order of the text.

    Attributes:
        kind: ``function``, ``variable``, ``sampler``, ``alias``, ``file``, ``section``, ``size``
            (of addresses) or "" for others.
        start, end: of its text, with its linking directive.
        linking: ``extern``, ``visible``, ``weak``, ``common`` or "".
        made: what a function or variable is declared as.
        of: the function that an alias is of.
    """

    kind: str
    start: int
    end: int
    name: str = ""
    linking: str = ""
    made: PtxFunction | Declared | None = None
    of: str = ""


@frozen
class PtxModule:
    """A module.

    Attributes:
        version: of the ISA that the text names.
        target: ``sm_80`` and the like; ``options``: what ``.target`` names beside it.
        files: the source files that ``.loc`` numbers.
        items: all directives behind ``.target``.
        notes: what was read other than to the letter.
        hints: by names without a definition, the text of an error about them.
        known: by functions of linked units, the names that their unit has. Others see all.
    """

    text: Text
    version: tuple[int, int]
    target: str
    options: tuple[str, ...]
    functions: dict[str, PtxFunction]
    variables: dict[str, Declared]
    files: dict[int, str]
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    hints: dict[str, str] = field(default_factory=dict[str, str])
    known: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def sees(self, function: str, name: str) -> bool:
        """Whether the unit of a function declares a function or variable."""
        known = self.known.get(function)
        return known is None or name in known

    @property
    def meets_as_grid(self) -> bool:
        """Whether a function reads the address of the word at which the blocks of its grid
        synchronise."""
        return "%envreg2" in self.text.code

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the kernels, in order."""
        return tuple(each.name for each in self.functions.values() if each.is_entry)


def name_within(variable: Declared) -> str:
    """The name in the module of a variable that a body declares."""
    return f"{variable.name}${variable.at}"


def parse_ptx(text: str, name: str = "") -> PtxModule:
    """The index of a PTX module.

    Args:
        name: of the file, for errors.

    Raises:
        PtxError: the text is no PTX module; located.
    """
    # C strings come with the zero byte at their end.
    return index(Text(text.rstrip("\0"), name))


def index(text: Text) -> PtxModule:
    """The index of a text that knows its places.

    Raises:
        PtxError: the text is no PTX module; located.
    """
    return _Index(text).module()


class _Index:
    def __init__(self, text: Text) -> None:
        self.text, self.code = text, text.code
        self.functions: dict[str, PtxFunction] = {}
        self.variables: dict[str, Declared] = {}
        self.files: dict[int, str] = {}
        self.items: list[Item] = []
        self.notes: list[str] = []

    def module(self) -> PtxModule:
        """Read everything but the bodies."""
        version, position = self._version()
        target, options, position = self._target(position)
        for match in _OPEN.finditer(self.code, position):
            if match[1]:
                self.text.fail("this comment is not closed", match.start())
        position = self._skip(position)
        while position < len(self.code):
            item = self._item(position)
            self.items.append(item)
            position = self._skip(item.end)
        self._close_parameters()
        return PtxModule(
            self.text,
            version,
            target,
            options,
            self.functions,
            self.variables,
            self.files,
            tuple(self.items),
            tuple(self.notes),
        )

    def _close_parameters(self) -> None:
        """Set the size of parameters without one to that of the largest array that calls pass."""
        largest = 0
        for function in list(self.functions.values()):
            if function.is_entry or all(each.count is not None for each in function.params):
                continue
            largest = largest or self._largest_argument()
            closed = tuple(
                each
                if each.count is not None
                else replace(each, count=largest // TYPES[each.type].size, is_open=True)
                for each in function.params
            )
            self.functions[function.name] = replace(function, params=closed)

    def _largest_argument(self) -> int:
        """Bytes of the largest array in parameter space."""
        sizes = [4]
        for match in _ARRAY.finditer(self.code):
            size = TYPES[match[1]].size * int(match[2][:9]) if match[1] in TYPES else 0
            if size % 4 or size > _MOST_OPEN:
                message = f"beside a parameter without a size, a size is up to {_MOST_OPEN} and a "
                self.text.fail(f"{message}multiple of 4, not {size}", match.start())
            sizes.append(size)
        return max(sizes)

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self.code, position)
        assert match is not None  # it matches nothing
        return match.end()

    def _version(self) -> tuple[tuple[int, int], int]:
        position = self._skip(0)
        if "\0" in self.code:
            self.text.fail("this is no text: it has a zero byte", self.code.index("\0"))
        match = _VERSION.match(self.code, position)
        if match is None:
            self.text.fail("PTX begins with .version, as in `.version 8.0`", position)
        version = int(match[1][:9]), int(match[2][:9])
        if not (1, 0) <= version < (20, 0):
            self.text.fail(f"there is no PTX ISA {match[1]}.{match[2]}", position, len(match[0]))
        if version > NEWEST:
            self.notes.append(f"PTX ISA {match[1]}.{match[2]} is read as {NEWEST[0]}.{NEWEST[1]}")
        return version, match.end()

    def _target(self, position: int) -> tuple[str, tuple[str, ...], int]:
        position = self._skip(position)
        match = _TARGET.match(self.code, position)
        if match is None:
            self.text.fail("the second directive is .target, as in `.target sm_80`", position)
        names = [word.strip() for word in match[1].split(",")]
        targets = [word for word in names if re.fullmatch(r"sm_\d+[af]?", word)]
        if len(targets) != 1:
            said = f"{len(targets)} targets" if targets else f"the target {match[1].strip()!r}"
            self.text.fail(f"{said}; one is named, as in `.target sm_80`", position, len(match[0]))
        options = tuple(word for word in names if word not in targets)
        return targets[0], options, match.end()

    def _item(self, position: int) -> Item:
        """Read one directive."""
        code, linking, start = self.code, "", position
        if match := _LINKING.match(code, position):
            linking, position = match[1], match.end()
        if match := _FUNCTION.match(code, position):
            return self._function(match, start, linking)
        if match := _REFERENCE.match(code, position):
            handle = self._declared(f".b64 {match['rest']}", "global", match.start("rest") - 5)
            handle = replace(handle, reference=match["kind"])
            variable = self._define_variable(handle, linking, "")
            return Item("variable", start, match.end(), variable.name, linking, variable)
        if match := _SAMPLER.match(code, position):
            return Item("sampler", start, match.end(), match["name"], linking)
        if match := _VARIABLE.match(code, position):
            declared = self._declared(match["rest"], match["space"], match.start("rest"))
            variable = self._define_variable(declared, linking, (match["value"] or "").strip())
            return Item("variable", start, match.end(), variable.name, linking, variable)
        if match := _SIZE.match(code, position):
            if match[1] != "64":
                message = f".address_size {match[1]}: addresses of 32 bits are not translated"
                self.text.fail(f"{message}; compile with -m64", position, len(match[0]))
            return Item("size", start, match.end())
        if match := _FILE.match(code, position):
            self.files[int(match[1][:9])] = match[2]
            return Item("file", start, match.end())
        if match := _SKIPPED.match(code, position):
            return Item("", start, match.end())
        if match := _ALIAS.match(code, position):
            self._alias(match)
            return Item("alias", start, match.end(), match["name"], linking, of=match["of"])
        if match := _SECTION.match(code, position):
            return Item("section", start, self._closed(match.end()))
        if code.startswith((".version", ".target"), position):
            self.text.fail("a second module in one text; give each a text of its own", position)
        word = re.compile(r"\S{1,40}").match(code, position)
        self.text.fail(f"no directive of a module: {word[0] if word else ''}", position)

    def _function(self, match: re.Match[str], position: int, linking: str) -> Item:
        name = match["name"]
        params = self._params(match["params"], match.start("params"))
        results = self._params(match["results"], match.start("results"))
        tuning = self._tuning(match["tuning"], match.start("tuning"))
        start = end = 0
        after = match.end()
        if match["kind"] == "entry" and any(each.space == "reg" for each in params):
            self.text.fail(f"{name} is a kernel: its parameters are .param variables", position)
        if match["end"] == "{":
            start, after = after, self._closed(after)
            end = after - 1
            self._define_within(start, end)
        known = self.functions.get(name)
        number = known.number if known else len(self.functions) + 1
        ptx_function = PtxFunction(
            name, match["kind"] == "entry", params, results, start, end, position, number, tuning
        )
        if known is not None and known.has_body and ptx_function.has_body:
            self.text.fail(f"{name} is defined a second time", match.start("name"), len(name))
        if ptx_function.has_body or known is None:
            self.functions[name] = ptx_function
        return Item("function", position, after, name, linking, ptx_function)

    def _define_within(self, start: int, end: int) -> None:
        """Define the variables of a body whose memory is the module's."""
        for match in _WITHIN.finditer(self.code, start - 1, end):
            variable = self._declared(match["rest"], match["space"], match.start("rest"))
            value = (match["value"] or "").strip()
            self._define_variable(replace(variable, name=name_within(variable)), "", value)

    def _alias(self, match: re.Match[str]) -> None:
        """Give a function that is declared the body of another one."""
        known, new_function = self.functions.get(match["name"]), self.functions.get(match["of"])
        if new_function is None or new_function.is_entry or not new_function.has_body:
            message = f"{match['of']} is no function that is defined in front of its alias"
            self.text.fail(message, match.start("of"), len(match["of"]))
        if known is not None and known.has_body:
            message = f"{match['name']} is defined a second time"
            self.text.fail(message, match.start("name"), len(match["name"]))
        number = known.number if known else len(self.functions) + 1
        self.functions[match["name"]] = replace(new_function, name=match["name"], number=number)

    def _closed(self, position: int) -> int:
        """The end of a brace's block, behind the opening brace at ``position`` - 1."""
        depth = 1
        for match in _BRACE.finditer(self.code, position):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
                if not depth:
                    return match.end()
        self.text.fail("this brace is not closed", position - 1)

    def _tuning(self, text: str, position: int) -> dict[str, tuple[int, ...]]:
        tuning: dict[str, tuple[int, ...]] = {}
        end = 0
        for match in _TUNING.finditer(text):
            if text[end : match.start()].strip():
                break
            if match[1] is None:  # a pragma
                end = match.end()
                continue
            if match[1] not in _KNOWN_TUNING:
                break
            tuning[match[1]] = tuple(int(each[:9]) for each in re.findall(r"\d+", match[2]))
            end = match.end()
        if text[end:].strip():
            self.text.fail(f"no directive of a function: {text[end:].strip()[:40]}", position + end)
        return tuning

    def _params(self, text: str | None, position: int) -> tuple[Declared, ...]:
        results: list[Declared] = []
        if text is None or not text.strip():
            return ()
        for part in text.split(","):
            start = position + len(part) - len(part.lstrip())
            match = re.match(r"\s*\.(param|reg)\b", part)
            if match is None:
                self.text.fail("a parameter is declared with .param or .reg", start)
            results.append(self._declared(part[match.end() :], match[1], position + match.end()))
            position += len(part) + 1
        names = [each.name for each in results]
        for each in results:
            if names.count(each.name) > 1:
                self.text.fail(f"the parameter {each.name} is declared twice", each.at)
        return tuple(results)

    def _declared(self, text: str, space: str, position: int) -> Declared:
        return declared(self.text, text, space, position)

    def _define_variable(self, variable: Declared, linking: str, value: str) -> Declared:
        known = self.variables.get(variable.name)
        if known is not None and known.linking != "extern" and linking != "extern":
            self.text.fail(
                f"{variable.name} is defined a second time", variable.at, len(variable.name)
            )
        count = variable.count
        if count is None and value:
            count = len(words_of(value))
        variable = Declared(
            variable.name,
            variable.type,
            variable.space,
            count,
            variable.align,
            variable.at,
            variable.is_array,
            variable.pointer,
            value,
            linking,
            variable.reference,
            variable.rows,
            variable.is_open,
            variable.is_managed,
        )
        if known is None or linking != "extern":
            self.variables[variable.name] = variable
        return variable
