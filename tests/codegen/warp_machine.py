"""Runs the LLVM code of a kernel without branches for one warp, so that what tensor instructions
are given can be checked without a GPU. They do here what the PTX ISA says of them.

A value is an array over the lanes: unsigned numbers for integers and pointers, float32 for floats,
(32, 2) for pairs; a list of these for structs and arrays.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

from gridlane.interp.matrix import tf32

LANES = np.arange(32)
G, T = LANES // 4, LANES % 4
_TYPES = {"float": "f4", "i16": "u2", "i8": "u1", "i32": "u4", "i64": "u8"}
_ELEMENTS = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "f32": np.dtype(np.float32),
    "s32": np.dtype(np.int32),
}


class Warp:
    """A warp with flat memory: pointers are byte offsets into ``memory``."""

    def __init__(self, memory: np.ndarray, parameters: list[int]) -> None:
        self.memory = memory
        self.values: dict[str, Any] = {
            f"%p{n}": np.full(32, number, np.uint64) for n, number in enumerate(parameters)
        }

    def run(self, text: str) -> None:
        """Run the body of the one function of a module."""
        body = text[text.index("entry:\n") + 7 : text.index("\n}")]
        for line in map(str.strip, body.splitlines()):
            if line == "ret void":
                return
            name, _, what = line.partition(" = ")
            if not what:
                name, what = "", line
            made = self.instruction(what)
            if name:
                self.values[name] = made

    def value(self, text: str, type_: str = "i64") -> Any:
        """A register or a constant."""
        if text.startswith("%"):
            return self.values[text]
        if text == "poison":
            return [None] * 512
        if type_ == "float":
            number = np.frombuffer(int(text, 16).to_bytes(8, "big"), ">f8")[0]
            return np.full(32, number, np.float32)
        return np.full(32, int(text) % 2**64, np.uint64)

    def instruction(self, text: str) -> Any:
        """The result of an instruction."""
        word = text.partition(" ")[0]
        return getattr(self, f"do_{word}")(text)

    # ---- arithmetic

    def binary(self, text: str, function: Any) -> Any:
        _, type_, rest = text.split(" ", 2)
        lhs, rhs = (self.value(part, type_) for part in rest.split(", "))
        made = function(lhs, rhs)
        bits = int(type_[1:])
        return made if bits == 64 else made & np.uint64(2**bits - 1)

    def do_add(self, text: str) -> Any:
        return self.binary(text, np.add)

    def do_mul(self, text: str) -> Any:
        return self.binary(text, np.multiply)

    def do_and(self, text: str) -> Any:
        return self.binary(text, np.bitwise_and)

    def do_or(self, text: str) -> Any:
        return self.binary(text, np.bitwise_or)

    def do_shl(self, text: str) -> Any:
        return self.binary(text, np.left_shift)

    def do_lshr(self, text: str) -> Any:
        return self.binary(text, np.right_shift)

    def do_zext(self, text: str) -> Any:
        return self.value(text.split()[2])

    def do_trunc(self, text: str) -> Any:
        bits = int(text.split()[-1][1:])
        return self.value(text.split()[2]) & np.uint64(2**bits - 1)

    def do_bitcast(self, text: str) -> Any:
        source, value, target = re.fullmatch(r"bitcast (\S+) (\S+) to (\S+)", text).groups()  # type: ignore[union-attr]
        found = self.value(value, source)
        if (source, target) == ("i32", "float"):
            return found.astype(np.uint32).view(np.float32)
        assert (source, target) == ("float", "i32")
        return found.view(np.uint32).astype(np.uint64)

    # ---- memory

    def do_getelementptr(self, text: str) -> Any:
        base, index = re.search(r"(%\w+), i64 (\S+)$", text).groups()  # type: ignore[union-attr]
        return self.value(base) + self.value(index)

    def at(self, addresses: Any, dtype: Any, count: int = 1) -> Any:
        """Elements at addresses, (32, count)."""
        dtype = np.dtype(dtype)
        assert not (addresses % np.uint64(dtype.itemsize * count)).any(), "misaligned"
        places = addresses.astype(np.int64)[:, None] + np.arange(dtype.itemsize * count)
        return self.memory[places].view(dtype)

    def do_load(self, text: str) -> Any:
        type_, pointer = re.match(r"load (\S+), ptr.* (%\w+), align", text).groups()  # type: ignore[union-attr]
        found = self.at(self.value(pointer), _TYPES[type_])[:, 0]
        return found if type_ == "float" else found.astype(np.uint64)

    def do_store(self, text: str) -> None:
        matched = re.match(r"store (<2 x (\S+)>|\S+) (%\w+), ptr.* (%\w+), align", text)
        assert matched is not None
        type_, part, value, pointer = matched.groups()
        name = part or type_
        data = self.value(value, name)
        data = data.reshape(32, -1).astype(_TYPES[name])
        addresses = self.value(pointer)
        assert not (addresses % np.uint64(data.nbytes // 32)).any(), "misaligned"
        places = addresses.astype(np.int64)[:, None] + np.arange(data.nbytes // 32)
        self.memory[places] = np.ascontiguousarray(data).view(np.uint8)

    # ---- aggregates

    def do_insertvalue(self, text: str) -> Any:
        whole, type_, value, index = re.match(  # type: ignore[union-attr]
            r"insertvalue [\[{].*?[\]}] (\S+), (\S+) (\S+), (\d+)", text
        ).groups()
        made = list(self.value(whole))
        made[int(index)] = self.value(value, type_)
        return made

    def do_extractvalue(self, text: str) -> Any:
        whole, index = re.search(r"(%\w+), (\d+)$", text).groups()  # type: ignore[union-attr]
        return self.value(whole)[int(index)]

    def do_insertelement(self, text: str) -> Any:
        whole, type_, value, index = re.match(  # type: ignore[union-attr]
            r"insertelement <.*?> (\S+), (\S+) (\S+), i32 (\d+)", text
        ).groups()
        found = self.value(value, type_)
        made = np.zeros((32, 2), found.dtype) if whole == "poison" else self.value(whole).copy()
        made[:, int(index)] = found
        return made

    # ---- calls

    def do_call(self, text: str) -> Any:
        if ".laneid()" in text:
            return LANES.astype(np.uint64)
        if "ldmatrix" in text:
            pointer = re.search(r"(%\w+)\)$", text).group(1)  # type: ignore[union-attr]
            return self.ldmatrix(self.value(pointer), ".trans." in text)
        if "f2tf32" in text:
            value = self.value(re.search(r"(\S+)\)$", text).group(1), "float")  # type: ignore[union-attr]
            return tf32(value).view(np.uint32).astype(np.uint64)
        assert "mma.sync" in text, text
        return self.mma(text)

    def ldmatrix(self, addresses: Any, transposed: bool) -> list[Any]:
        """x4.b16: lanes 8j to 8j + 7 point to the rows of matrix j; a lane gets two neighbours of
        a row of each matrix, or of a column."""
        rows = self.at(addresses, "u2", 8).reshape(4, 8, 8)
        words = []
        for matrix in rows:
            matrix = matrix.T if transposed else matrix
            low, high = matrix[G, 2 * T], matrix[G, 2 * T + 1]
            words.append(low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(16))
        return words

    def mma(self, text: str) -> list[Any]:
        """mma.sync of a shape and types."""
        matched = re.search(r"\.m(\d+)n8k(\d+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\w+ ", text)
        assert matched is not None
        rows, depth = int(matched[1]), int(matched[2])
        sums, left, right = (_ELEMENTS[name] for name in matched.groups()[2:])
        arguments = re.search(r'"\((.*)\) convergent', text).group(1).split(", ")  # type: ignore[union-attr]
        registers = [self.value(part.split()[1], part.split()[0]) for part in arguments]
        counts = [rows * depth * left.itemsize // 128, depth * right.itemsize // 16]
        a = gathered(registers[: counts[0]], left, places_a(rows, depth, left.itemsize))
        b = gathered(registers[counts[0] : sum(counts)], right, places_b(depth, right.itemsize))
        where = places_c(rows)
        c = gathered(registers[sum(counts) :], sums, where)
        wide = np.int64 if sums.kind == "i" else np.float64
        total = (a.astype(wide) @ b.astype(wide) + c).astype(sums)
        return scattered(total, where, len(arguments) - sum(counts))


# Where element i of a lane is, by the formulas under "Matrix Fragments for mma" of the PTX ISA.


def places_a(rows: int, depth: int, size: int) -> list[tuple[Any, Any]]:
    each = 4 // size
    words = [(i // each, i % each) for i in range(rows * depth // 32)]
    return [(G + 8 * (w % 2), T * each + i + depth // 2 * (w // 2)) for w, i in words]


def places_b(depth: int, size: int) -> list[tuple[Any, Any]]:
    each = 4 // size
    count = depth * 8 // 32
    return [(T * each + i % each + depth // 2 * (i >= each), G) for i in range(count)]


def places_c(rows: int) -> list[tuple[Any, Any]]:
    return [(G + 8 * (i >= 2), 2 * T + i % 2) for i in range(rows // 4)]


def gathered(registers: list[Any], dtype: Any, places: list[tuple[Any, Any]]) -> np.ndarray:
    """A matrix from the registers of the lanes."""
    elements = []
    for register in registers:
        narrow = register.astype(np.float32 if register.dtype.kind == "f" else np.uint32)
        elements.append(np.ascontiguousarray(narrow).reshape(32, 1).view(dtype))
    values = np.concatenate(elements, axis=1)
    rows, cols = (np.stack(axis, axis=1) for axis in zip(*places, strict=True))
    assert values.shape == rows.shape
    made = np.zeros((rows.max() + 1, cols.max() + 1), dtype)
    made[rows, cols] = values
    return made


def scattered(matrix: np.ndarray, places: list[tuple[Any, Any]], count: int) -> list[Any]:
    """The registers of a matrix."""
    values = np.stack([matrix[row, col] for row, col in places], axis=1)
    words = np.ascontiguousarray(values).view(np.float32 if matrix.dtype == "f4" else np.uint32)
    kept = [words[:, n] for n in range(count)]
    return kept if matrix.dtype == "f4" else [word.astype(np.uint64) for word in kept]
