"""Splits a long function into internal functions of bounded length.

The cost of LLVM's passes grows faster than the number of loops and blocks of a function. The
emitter cuts the text of a large kernel into pieces (``text.Body.cut``), which may nest. Here each
piece becomes a function that the code around it calls:

- Pieces exchange values in the frame, a block of memory whose address all of them get. A value that
  other pieces use is stored in the frame behind its definition. A piece loads the values that it
  uses at its start, and the results of its inner pieces after their calls.
- Slots, the stack memory of variables and masks that LLVM promotes to registers, are stack memory
  of each function that accesses them. What is live at a piece's start or end goes through the
  frame. - A piece returns the number of the label at which its caller continues.

LLVM's verifier rejects text that is inconsistent, so that an error here is not a wrong answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.codegen.llvm.outline.frame import Frame
from gridlane.codegen.llvm.outline.liveness import Liveness, read, slots_of
from gridlane.codegen.llvm.outline.pieces import Piece, pieces_of
from gridlane.codegen.llvm.outline.result_types import result_type
from gridlane.core.frozen import frozen


@frozen
class Outlined:
    """The lines of the function, which call its pieces, and the functions of the pieces.

    ``frame`` is the bytes of the frame. The lines need its address as ``%frame``.
    """

    lines: list[str]
    functions: list[str]
    frame: int


def outlined(
    entry: str, parameters: dict[str, str], allocas: list[str], lines: list[str]
) -> Outlined:
    """Split a function whose lines have cuts.

    Args:
        entry: the function's name.
        parameters: the types of its parameters, by name.
        allocas: the lines of its stack memory.
        lines: the other lines of its body.
    """
    return _Outliner(entry, parameters, allocas, lines).result()


class _Outliner:
    """The pieces of a function and what they exchange.

    Attributes:
        given: the types of the values that the function begins with, and of its stack memory other
            than slots.
        loads: by piece, values that it loads at its start.
        reloads: by piece, values that the code around it loads after the call.
    """

    def __init__(
        self, entry: str, parameters: dict[str, str], allocas: list[str], lines: list[str]
    ) -> None:
        self.entry, self.allocas, self.frame = entry, allocas, Frame()
        known = read(lines)
        self.slots = slots_of(allocas, known)
        self.liveness = Liveness(known, self.slots)
        self.pieces = pieces_of(known, self.slots)
        names = [line.split()[0] for line in allocas]
        memory = {name: "ptr" for name in names if name not in self.slots}
        self.given = parameters | memory
        self.loads: dict[Piece, list[str]] = {piece: [] for piece in self.pieces}
        self.reloads: dict[Piece, list[str]] = {piece: [] for piece in self.pieces}
        self._exchange()
        self.entering = {p: self._live(f"piece {p.number}", p.slots) for p in self.pieces[1:]}
        self.leaving = {
            p: {label: self._live(label, p.written) for label in p.exits} for p in self.pieces[1:]
        }

    def result(self) -> Outlined:
        """The text."""
        whole, *others = self.pieces
        given = [
            line for name in self.given if name in self.frame for line in self.frame.store(name)
        ]
        lines = [*given, *self._lines(whole)]
        functions = [self._function(piece) for piece in others]
        return Outlined(lines, functions, self.frame.size)

    # ---- what goes through the frame

    def _exchange(self) -> None:
        """Find the values that a piece uses and another one makes."""
        whole = self.pieces[0]
        home = dict.fromkeys(self.given, whole)
        home |= {name: piece for piece in self.pieces for name in piece.made}
        for piece in self.pieces:
            for name in piece.used:
                maker = home.get(name)
                if maker is None or maker is piece:
                    continue
                type_ = self.given.get(name) or result_type(maker.made[name])
                self.frame.add(name, type_)
                inside = [inner for inner in maker.around() if inner.outer is piece]
                if inside:
                    self.reloads[inside[0]].append(name)
                else:
                    self.loads[piece].append(name)

    def _live(self, block: str, among: set[str]) -> list[str]:
        """The slots among some that are live at a block's start, in the frame from now on."""
        names = [name for name in self.liveness.at(block) if name in among]
        for name in names:
            self.frame.add(name, self.slots[name])
        return names

    # ---- text

    def _function(self, piece: Piece) -> str:
        """The function of a piece."""
        lines = [f'define internal i32 @"{self.entry}.{piece.number}"(ptr noalias %frame) #1 {{']
        lines += ["entry:"]
        lines += [f"  {name} = alloca {self.slots[name]}" for name in self._held(piece)]
        lines += [line for name in self.loads[piece] for line in self.frame.load(name)]
        lines += [line for name in self.entering[piece] for line in self.frame.copy_in(name)]
        lines += self._lines(piece)
        for number, (label, slots) in enumerate(self.leaving[piece].items()):
            lines += [f"{label}:"]
            lines += [line for name in slots for line in self.frame.copy_out(name)]
            lines += [f"  ret i32 {number}"]
        return "\n".join([*lines, "}"])

    def _held(self, piece: Piece) -> list[str]:
        """The slots that a piece's function has in its stack memory."""
        wanted = piece.own | set(self.entering[piece])
        wanted.update(*self.leaving[piece].values())
        for inner in piece.inner:
            wanted.update(self.entering[inner], *self.leaving[inner].values())
        return [name for name in self.slots if name in wanted]

    def _lines(self, piece: Piece) -> Iterator[str]:
        """A piece's lines, with calls of the pieces in it and stores of what others use."""
        pending: list[str] = []
        for item in piece.items:
            if isinstance(item, Piece):
                yield from self._call(item)
                continue
            name, _, instruction = item[2:].partition(" = ")
            is_phi = instruction.startswith("phi ")
            if pending and not is_phi:
                yield from pending
                pending = []
            yield item
            if instruction and name in self.frame:
                pending += self.frame.store(name)
                if not is_phi:
                    yield from pending
                    pending = []

    def _call(self, piece: Piece) -> Iterator[str]:
        """Call a piece and continue at the label that it returns."""
        for name in self.entering[piece]:
            yield from self.frame.copy_out(name)
        result = f"%exit.{piece.number}"
        yield f'  {result} = call i32 @"{self.entry}.{piece.number}"(ptr %frame)'
        for name in self.reloads[piece]:
            yield from self.frame.load(name)
        for name in dict.fromkeys(slot for live in self.leaving[piece].values() for slot in live):
            yield from self.frame.copy_in(name)
        first, *others = piece.exits
        if others:
            cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(others, 1))
            yield f"  switch i32 {result}, label %{first} [{cases}]"
        else:
            yield f"  br label %{first}"
