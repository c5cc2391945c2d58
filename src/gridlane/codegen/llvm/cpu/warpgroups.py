"""Products of warpgroups, where each warp multiplies its rows: three functions for each shape and
type, of words, of eight lines of a matrix, and of the product.

The items of eight lines are columns of vectors: for each place along the depth, those of the eight
lines. Loops over the depth and the columns keep the code small.
"""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.gridops import first_thread
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.cpu.loops import Loop
from gridlane.codegen.llvm.cpu.mma_memory import first
from gridlane.codegen.llvm.cpu.products import added, element, narrowed, widened
from gridlane.codegen.llvm.cpu.registers import registers_of, vector_of
from gridlane.codegen.llvm.text import Body, vector_constant
from gridlane.core.decisions import decided
from gridlane.ir.ops.products import COLUMNS, Factor
from gridlane.ir.ops.shared_matrix import BASE, LEADING, OFFSET_BITS, STRIDE, SWIZZLE
from gridlane.ir.ops.warpgroups import WARPS, WarpgroupMma, depth_of

_WORDS = "<32 x i32>"
_LINES = 8
_LINE_WORDS = 8
"""Words of a line: 32 bytes."""


@emits(WarpgroupMma)
def mma(state: Emission, op: WarpgroupMma) -> None:
    """Call the function of the shape, with registers in memory."""
    decided(op.loc, "product", "of a warpgroup's rows, by a function")
    function = _Function(op, state.functions, state.body.declared)
    function.define()
    registers = registers_of(state)
    if op.in_memory:
        (sums,) = registers.given(state, op, op.c)
        start, layout = op.a
        left = [f"ptr {first(state, start)}", f"i64 {first(state, layout)}"]
    else:
        words, sums = registers.given(state, op, op.a, op.c)
        left = [f"ptr {words}", "i64 0"]
    destination = registers.made(state, op)
    runs = "true"
    if state.mask is not None:
        runs = state.body.op(f"icmp ne i32 {state.bits(state.mask)}, 0")
    warp = state.body.op(f"lshr i32 {first_thread(state)}, 5")
    arguments = [
        f"ptr {sums}",
        f"ptr {destination}",
        *left,
        f"ptr {first(state, op.b)}",
        f"i64 {first(state, op.layout)}",
        f"i1 {first(state, op.scale)}",
        f"i32 {warp}",
        f"i1 {runs}",
    ]
    state.body.do(f'call fastcc void @"{function.name}"({", ".join(arguments)})')
    registers.keep(state, op, destination)


def _text(name: str, parameters: str, body: Body, declared: dict[str, str]) -> str:
    declared.update(body.declared)
    # LLVM aligns spilled vectors no more than the stack, so that many cross cache lines.
    head = f'define internal fastcc void @"{name}"({parameters}) noinline alignstack(64) #0 {{'
    return "\n".join([head, "entry:", *body.allocas, *body.lines, "  ret void", "}"])


class _Function:
    """The function of a product, and those that it calls."""

    def __init__(
        self, op: WarpgroupMma, functions: dict[str, str], declared: dict[str, str]
    ) -> None:
        self.op, self.functions, self.declared = op, functions, declared
        self.depth = depth_of(op.left)
        self.wide = "i64" if op.limited else "i32" if op.left.is_integer else "double"
        self.vector, self.eight = f"<32 x {self.wide}>", f"<{_LINES} x {self.wide}>"
        facts = [op.columns, op.left.value, op.right.value, op.c[0].type, self.wide]
        names = ("in_memory", "left_across", "right_across", "negated")
        marks = [name for name in names if getattr(op, name)]
        self.name = ".".join(["gridlane.warpgroup", *map(str, facts), *marks])

    def define(self) -> None:
        """Write the function, unless the module has it."""
        if self.name in self.functions:
            return
        body = Body()
        parameters = (
            "ptr %c, ptr %to, ptr %left, i64 %layout, ptr %right, i64 %rows, i1 %scale, i32 %warp, "
            "i1 %runs"
        )
        run, skip = body.label("run"), body.label("skip")
        body.branch_if("%runs", run, skip)
        body.start(skip)
        body.do("ret void")
        body.start(run)
        lines = body.alloca(self.eight, self.depth, 64)
        rows = body.alloca(self.vector, 2 * self.depth, 64)
        for half in (0, 1):
            self._read_left(body, half, lines)
            self._spread(body, half, lines, rows)
        tiles = Loop(body, self.op.columns // COLUMNS, "tile")
        group = body.op(f"trunc i64 {tiles.counter} to i32")
        reader = self._lines(self.op.right, self.op.right_across)
        body.do(f'call fastcc void @"{reader}"(ptr %right, i64 %rows, i32 {group}, ptr {lines})')
        self._tile(body, tiles.counter, lines, rows)
        tiles.end()
        self.functions[self.name] = _text(self.name, parameters, body, self.declared)

    # ---- A

    def _read_left(self, body: Body, half: int, lines: str) -> None:
        """Eight rows of the warp."""
        op = self.op
        if op.in_memory:
            reader = self._lines(op.left, op.left_across)
            first_row = body.op(f"and i32 {body.op('shl i32 %warp, 1')}, {2 * WARPS - 1}")
            group = body.op(f"or i32 {first_row}, {half}")
            place = f"ptr %left, i64 %layout, i32 {group}, ptr {lines}"
            body.do(f'call fastcc void @"{reader}"({place})')
            return
        words = body.alloca(_WORDS, 2, 64)
        picks = vector_constant([row * 4 + word for word in range(4) for row in range(8)], "i32")
        for number in (0, 1):
            word = self._at(body, _WORDS, "%left", str(half + 2 * number))
            value = body.op(f"load {_WORDS}, ptr {word}, align 64")
            moved = f"shufflevector {_WORDS} {value}, {_WORDS} poison, {_WORDS} {picks}"
            where = self._at(body, _WORDS, words, str(number))
            body.do(f"store {_WORDS} {body.op(moved)}, ptr {where}, align 64")
        body.do(f'call fastcc void @"{self._items(op.left)}"(ptr {words}, ptr {lines})')

    def _spread(self, body: Body, half: int, lines: str, rows: str) -> None:
        """The items of eight rows in the lanes that need them."""
        each = Loop(body, self.depth, "spread")
        value = self._load(body, self.eight, lines, each.counter)
        if self.op.negated:
            value = body.op(f"fneg {self.eight} {value}")
        picks = [lane // 4 for lane in range(32)]
        spread = self._picked(body, value, picks)
        index = body.op(f"add i64 {body.op(f'shl i64 {each.counter}, 1')}, {half}")
        where = self._at(body, self.vector, rows, index)
        body.do(f"store {self.vector} {spread}, ptr {where}, align 64")
        each.end()

    # ---- sums of eight columns

    def _tile(self, body: Body, tile: str, lines: str, rows: str) -> None:
        op, held = self.op, vector_of(self.op.c[0])
        count = len(op.c) * COLUMNS // op.columns
        start = body.op(f"mul i64 {tile}, {count}")
        places = [body.op(f"add i64 {start}, {n}") for n in range(count)]
        words = [self._load(body, held, "%c", place) for place in places]
        sums = [
            body.op(f"select i1 %scale, {self.vector} {each}, {self.vector} zeroinitializer")
            for each in widened(body, op, words, self.vector)
        ]
        depth = Loop(body, self.depth, "depth", [(self.vector, each) for each in sums])
        column = self._load(body, self.eight, lines, depth.counter)
        columns = [
            self._picked(body, column, [lane % 4 * 2 + odd for lane in range(32)]) for odd in (0, 1)
        ]
        after: list[str] = []
        for half in (0, 1):
            index = body.op(f"add i64 {body.op(f'shl i64 {depth.counter}, 1')}, {half}")
            row = self._load(body, self.vector, rows, index)
            for odd in (0, 1):
                total = depth.values[2 * half + odd]
                after.append(added(body, op, self.vector, row, columns[odd], total))
        depth.end(after)
        for place, each in zip(places, narrowed(body, op, after, self.vector), strict=True):
            where = self._at(body, held, "%to", place)
            body.do(f"store {held} {each}, ptr {where}, align 64")

    def _picked(self, body: Body, value: str, lanes: list[int]) -> str:
        picks = vector_constant(lanes, "i32")
        return body.op(f"shufflevector {self.eight} {value}, {self.eight} poison, {_WORDS} {picks}")

    def _at(self, body: Body, type_: str, pointer: str, index: str) -> str:
        return body.op(f"getelementptr {type_}, ptr {pointer}, i64 {index}")

    def _load(self, body: Body, type_: str, pointer: str, index: str) -> str:
        return body.op(f"load {type_}, ptr {self._at(body, type_, pointer, index)}, align 64")

    # ---- eight lines of a matrix

    def _items(self, factor: Factor) -> str:
        """The function from 8 x 8 words, the lines innermost, to wide items."""
        name = f"gridlane.warpgroup.items.{factor.value}.{self.wide}"
        if name in self.functions:
            return name
        body = Body()
        for number in (0, 1):
            word = self._load(body, _WORDS, "%words", str(number))
            for part in range(factor.in_word):
                narrow = element(body, word, factor, part)
                for row in range(4):
                    item = (4 * number + row) * factor.in_word + part
                    self._widen(body, narrow, row, item, factor)
        self.functions[name] = _text(name, "ptr %words, ptr %to", body, self.declared)
        return name

    def _widen(self, body: Body, narrow: str, row: int, item: int, factor: Factor) -> None:
        held = "i32" if factor.is_integer else "float"
        picks = vector_constant(range(_LINES * row, _LINES * (row + 1)), "i32")
        kind, eight = f"<32 x {held}>", f"<{_LINES} x {held}>"
        value = body.op(f"shufflevector {kind} {narrow}, {kind} poison, <{_LINES} x i32> {picks}")
        if held != self.wide:
            word = "sext" if factor.is_integer else "fpext"
            value = body.op(f"{word} {eight} {value} to {self.eight}")
        where = self._at(body, self.eight, "%to", str(item))
        body.do(f"store {self.eight} {value}, ptr {where}, align 64")

    def _lines(self, factor: Factor, across: bool) -> str:
        """The function from a matrix, its layout and the number of eight lines to wide items."""
        name = f"gridlane.warpgroup.lines.{factor.value}.{self.wide}{'.across' * across}"
        if name in self.functions:
            return name
        body = Body()
        words = body.alloca("i32", _LINES * _LINE_WORDS, 64)
        matrix = _Matrix(body, across)
        (matrix.read_across if across else matrix.read)(words)
        body.do(f'call fastcc void @"{self._items(factor)}"(ptr {words}, ptr %to)')
        parameters = "ptr %start, i64 %layout, i32 %group, ptr %to"
        self.functions[name] = _text(name, parameters, body, self.declared)
        return name


class _Matrix:
    """The places of a matrix's words; the fields as in ``ir.ops.shared_matrix``."""

    def __init__(self, body: Body, across: bool) -> None:
        self.body = body
        leading, stride = self._offset(LEADING), self._offset(STRIDE)
        mode, self.base = self._field(SWIZZLE, 2), self._field(BASE, 3)
        self.plain = body.op(f"icmp eq i64 {mode}, 0")
        self.shift = self._chosen("4", body.op(f"sub i64 8, {mode}"))
        self.pitch = body.op(f"shl i64 1, {self.shift}")
        self.pattern = body.op(f"sub i64 {body.op(f'lshr i64 {self.pitch}, 4')}, 1")
        self.outer = self._chosen(stride, leading)
        self.chunk = self._chosen(leading, "16")
        self.step = self._chosen(leading, stride) if across else stride
        self.address = body.op("ptrtoint ptr %start to i64")
        self.group = body.op("zext i32 %group to i64")

    def _field(self, place: int, bits: int) -> str:
        moved = self.body.op(f"lshr i64 %layout, {place}")
        return self.body.op(f"and i64 {moved}, {(1 << bits) - 1}")

    def _offset(self, place: int) -> str:
        return self.body.op(f"shl i64 {self._field(place, OFFSET_BITS)}, 4")

    def _chosen(self, plain: str, swizzled: str) -> str:
        return self.body.op(f"select i1 {self.plain}, i64 {plain}, i64 {swizzled}")

    def _place(self, linear: str) -> str:
        body = self.body
        plain = body.op(f"add i64 {self.address}, {linear}")
        row = body.op(f"sub i64 {body.op(f'lshr i64 {plain}, 7')}, {self.base}")
        bits = body.op(f"shl i64 {body.op(f'and i64 {row}, {self.pattern}')}, 4")
        offset = body.op(f"sub i64 {body.op(f'xor i64 {plain}, {bits}')}, {self.address}")
        return body.op(f"getelementptr i8, ptr %start, i64 {offset}")

    def read(self, words: str) -> None:
        """Eight lines of consecutive bytes."""
        body = self.body
        line = Loop(body, _LINES, "line")
        begin = body.op(f"mul i64 {self.group}, {self.step}")
        begin = body.op(f"add i64 {begin}, {body.op(f'mul i64 {line.counter}, {self.pitch}')}")
        for half in (0, 1):
            linear = body.op(f"add i64 {begin}, {self.chunk}") if half else begin
            value = body.op(f"load <4 x i32>, ptr {self._place(linear)}, align 16")
            for number in range(4):
                word = body.op(f"extractelement <4 x i32> {value}, i64 {number}")
                index = body.op(f"add i64 {line.counter}, {(4 * half + number) * _LINES}")
                where = body.op(f"getelementptr i32, ptr {words}, i64 {index}")
                body.do(f"store i32 {word}, ptr {where}, align 4")
        line.end()

    def read_across(self, words: str) -> None:
        """Rows of eight consecutive items of 16 bits, of eight lines."""
        body = self.body
        byte = body.op(f"shl i64 {self.group}, 4")
        inner = body.op(f"and i64 {byte}, {body.op(f'sub i64 {self.pitch}, 1')}")
        outer = body.op(f"mul i64 {body.op(f'lshr i64 {byte}, {self.shift}')}, {self.outer}")
        begin = body.op(f"add i64 {inner}, {outer}")
        for word in range(_LINE_WORDS):
            joined = ""
            for part in (0, 1):
                item = 2 * word + part
                linear = body.op(f"add i64 {begin}, {body.op(f'mul i64 {self.pitch}, {item % 8}')}")
                if item >= 8:
                    linear = body.op(f"add i64 {linear}, {self.step}")
                value = body.op(f"load <8 x i16>, ptr {self._place(linear)}, align 16")
                wide = body.op(f"zext <8 x i16> {value} to <8 x i32>")
                if part:
                    wide = body.op(f"shl <8 x i32> {wide}, splat (i32 16)")
                    joined = body.op(f"or <8 x i32> {joined}, {wide}")
                else:
                    joined = wide
            where = body.op(f"getelementptr <8 x i32>, ptr {words}, i64 {word}")
            body.do(f"store <8 x i32> {joined}, ptr {where}, align 32")
