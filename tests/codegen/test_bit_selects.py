"""What LLVM would merge wrongly is seen in object code, and hidden in the text."""

from __future__ import annotations

import pytest

from gridlane.codegen.joined_bits import may_select_bits
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.bit_selects import hidden_choices, is_suspect
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module

CODE = {
    # As objdump -d names them.
    "vpternlogd $184, (%rax){1to8}, %ymm2, %ymm1 {%k1}": (b"\x62\xf3\x6d\x39\x25\x08\xb8", True),
    "vpternlogq $228, (%rdi), %zmm0, %zmm1 {%k7}": (b"\x62\xf3\xfd\x4f\x25\x0f\xe4", True),
    "vpternlogd $216, %ymm1, %ymm4, %ymm2 {%k1}": (b"\x62\xf3\x5d\x29\x25\xd1\xd8", False),
    "vpternlogd $184, (%rax), %ymm2, %ymm1": (b"\x62\xf3\x6d\x28\x25\x08\xb8", False),
    "vpblendmd (%rax), %ymm2, %ymm1 {%k1}": (b"\x62\xf2\x6d\x29\x64\x08", False),
}


@pytest.mark.parametrize("name", CODE)
def test_masked_ternaries_of_memory_are_seen(name: str) -> None:
    code, wanted = CODE[name]
    assert is_suspect(b"\x90" + code + b"\xc3") is wanted


FUNCTION = """
define <8 x {0}> @f(<8 x i1> %m, <8 x {0}> %a, <8 x {0}> %b) {{
  %c = select <8 x i1> %m, <8 x {0}> %a, <8 x {0}> %b
  %d = select <8 x i1> %m, <8 x {0}> zeroinitializer, <8 x {0}> %c
  %e = select i1 true, <8 x {0}> %d, <8 x {0}> %c
  ret <8 x {0}> %e
}}
"""


@pytest.mark.parametrize("kind", ["i32", "i64", "float", "double"])
def test_each_choice_by_lanes_has_an_operand_hidden(kind: str) -> None:
    text = hidden_choices(FUNCTION.format(kind))
    assert text.count("load volatile") == 2
    assert f"= select <8 x i1> %m, <8 x {kind}> %a" not in text
    machine.object_code(text, machine.host())  # LLVM takes it


def test_choices_of_narrow_elements_stay() -> None:
    assert "volatile" not in hidden_choices(FUNCTION.format("i16"))


KERNEL = """
kernel @k(%p: ptr<u32, global>, %n: u32, %f: f32) {
  %x: u32 = load %p
  %low: u32 = const 255
  %a: u32 = and %x, %low
  %high: u32 = const 4294967040
  %b: u32 = and %n, %high
  %four: u32 = const 4
  %up: u32 = shl %x, %four
  %down: u32 = shr %up, %four
  %sum: u32 = add %x, %up
  %1: u32 = or %a, %b
  %2: u32 = xor %b, %a
  %3: u32 = add %a, %down
  %4: u32 = sub %n, %b
  %5: u32 = or %a, %up
  %6: u32 = or %x, %b
  %7: u32 = xor %a, %sum
  %8: u32 = or %a, %low
  %9: u32 = and %a, %b
}
"""


def test_joins_of_what_may_be_masked_are_found() -> None:
    module = parse_module(KERNEL)
    found = [may_select_bits(op) for op in module.kernel.body.ops][-9:]
    assert found == [True] * 4 + [False] * 5
    assert not may_select_bits(arith.Const(0.0, module.kernel.params[2].value.type))
