"""Random programs of several units, and what their kernels compute by the rules of linking."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
NAMES = ("x", "add", "r1", "u32", "$a", "_b", "v12", "generic", "f", "g$unit1$", "ret", "k", "r")
"""Some are opcodes and types, or called as registers are."""
UNDEFINED = -1


@dataclass(slots=True)
class Name:
    """What a name is in one unit.

    Attributes:
        linking: "" of a unit's own, or ``extern``.
        value: of a variable, or what a function adds to what it uses.
        uses: the names whose values a function adds.
    """

    is_function: bool
    linking: str
    value: int
    uses: tuple[str, ...] = ()


@dataclass(slots=True)
class Units:
    """A program.

    Attributes:
        texts: of the units.
        results: what each kernel writes, in order; None where the kernel is refused.
    """

    texts: list[str] = field(default_factory=list[str])
    results: dict[str, list[int] | None] = field(default_factory=dict[str, "list[int] | None"])


def units(seed: int) -> Units:
    """A random program."""
    return _Writer(random.Random(seed)).units()


class _Writer:
    def __init__(self, made: random.Random) -> None:
        self.made = made
        self.count = made.randint(2, 5)
        self.known: list[dict[str, Name]] = [{} for _ in range(self.count)]

    def units(self) -> Units:
        names = self.made.sample(NAMES, self.made.randint(2, len(NAMES)))
        for at, name in enumerate(names):
            self._choose(name, names[:at])
        program = Units()
        for unit in range(self.count):
            kernels = self._kernels(unit)
            program.texts.append(self._text(unit, kernels))
            for kernel, read in kernels.items():
                values = [self.value(unit, name) for name in read]
                known = None if UNDEFINED in values else values
                program.results[kernel] = known
        return program

    def _choose(self, name: str, below: list[str]) -> None:
        """What a name is in each unit. A function uses names that come before it."""
        made, is_function = self.made, self.made.random() < 0.5
        roles = ["absent", "extern", "extern", "", "weak", "weak"]
        if not is_function and made.random() < 0.3:
            roles = ["absent", "extern", "", "common"]
        strong = made.choice((-1, *range(self.count)))
        for unit in range(self.count):
            role = "visible" if unit == strong else made.choice(roles)
            if role == "absent":
                continue
            usable = [each for each in below if each in self.known[unit]]
            uses = made.sample(usable, made.randint(0, min(3, len(usable)))) if is_function else ()
            value = 0 if role == "common" else made.randint(1, 1000)
            self.known[unit][name] = Name(is_function, role, value, tuple(uses))

    # --- the rules

    def value(self, unit: int, name: str) -> int:
        """The value of a name in a unit; UNDEFINED where something that it needs is."""
        found = self.known[unit][name]
        if found.linking:  # not its own
            unit = self._definer(name)
            if unit < 0:
                return UNDEFINED
            found = self.known[unit][name]
        values = [self.value(unit, each) for each in found.uses]
        return UNDEFINED if UNDEFINED in values else found.value + sum(values)

    def _definer(self, name: str) -> int:
        for linking in ("visible", "weak", "common"):
            for unit, known in enumerate(self.known):
                if name in known and known[name].linking == linking:
                    return unit
        return -1

    # --- the text

    def _kernels(self, unit: int) -> dict[str, list[str]]:
        """The kernels with the names that they read: what is defined, and one that is not."""
        known = [*self.known[unit]]
        defined = [each for each in known if self.value(unit, each) != UNDEFINED]
        kernels = {f"read{unit}": defined}
        missing = [each for each in known if each not in defined]
        if missing:
            kernels[f"lacks{unit}"] = missing[:1]
        return kernels

    def _text(self, unit: int, kernels: dict[str, list[str]]) -> str:
        lines: list[str] = []
        for name, each in self.known[unit].items():
            linking = f".{each.linking} " if each.linking else ""
            if each.is_function:
                head = f"{linking}.func (.param .b32 out) {name}()"
                if each.linking == "extern" or self.made.random() < 0.3:
                    lines.append(f"{head};")
                if each.linking != "extern":
                    lines.append(f"{head} {{\n{self._sum(unit, each.uses, each.value)}\n}}")
            else:
                value = f" = {each.value}" * (each.linking not in ("extern", "common"))
                lines.append(f"{linking}.global .u32 {name}{value};")
        for kernel, read in kernels.items():
            lines.append(self._kernel(unit, kernel, read))
        return HEAD + "\n".join(lines)

    def _sum(self, unit: int, uses: tuple[str, ...], value: int) -> str:
        """A function's body."""
        hides = self._hidden(unit, uses)
        reads = "\n".join(self._read(unit, name, "add.u32 %sum, %sum, %one;") for name in uses)
        return (
            f".reg .b32 %sum, %one; mov.b32 %sum, {value};\n{hides}{reads}\n"
            "st.param.b32 [out], %sum;\nret;"
        )

    def _hidden(self, unit: int, uses: tuple[str, ...]) -> str:
        """Registers that are called as names of the unit which the function does not use."""
        made, hides = self.made, ""
        for name in self.known[unit]:
            if name in uses or made.random() < 0.7:
                continue
            if name[-1].isdigit():
                stem = name.rstrip("0123456789")
                declared = f"{stem}<{int(name[len(stem) :]) + made.choice((0, 1, 5))}>"
                if declared.endswith(f"<{name[len(stem) :]}>"):
                    hides += f"{{ .reg .b32 {declared}; }}\n"  # one too few
                    continue
            else:
                declared = name
            hides += f"{{ .reg .b32 {declared}; mov.b32 {name}, 0; add.u32 %sum, %sum, {name}; }}\n"
        return hides

    def _read(self, unit: int, name: str, then: str) -> str:
        if not self.known[unit][name].is_function:
            return f"ld.global.u32 %one, [{name}]; {then} // {name}"
        call = f"call (value), {name}, ();"
        return f"{{ .param .b32 value; {call} ld.param.b32 %one, [value]; {then} }}"

    def _kernel(self, unit: int, kernel: str, read: list[str]) -> str:
        stores = "\n".join(
            self._read(unit, name, f"st.global.u32 [%to+{4 * at}], %one;")
            for at, name in enumerate(read)
        )
        return (
            f".visible .entry {kernel}(.param .u64 p) {{\n.reg .b32 %one; .reg .b64 %to;\n"
            f"ld.param.u64 %to, [p];\n{stores}\nret;\n}}"
        )
