"""Texture and surface instructions that no compiler writes, queries, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx import model_textures as model
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas

from gridlane import cuda
from gridlane.core.errors import ArgumentError, PtxError
from gridlane.cuda import texture
from gridlane.frontends.ptx.forms import FORMS
from gridlane.frontends.ptx.textures.calls import SHAPES
from gridlane.launch import current
from gridlane.launch.devices import get_device

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
F = np.float32
SOME = ["interp", *(name for name in DEVICES if name in ("cpu", "cuda", "vulkan"))]
PIXELS = np.arange(12, dtype=F).reshape(3, 4)
FLAGS = texture.cudaArraySurfaceLoadStore
FORM = texture.ChannelFormatDescriptor(32, 0, 0, 0, texture.cudaChannelFormatKindFloat)


def kernel(body: str) -> cuda.RawKernel:
    """A kernel with an object t and an array out; r0 is the thread's number, and out is in rd1."""
    text = f"""{HEAD}
.visible .entry k(.param .u64 t, .param .u64 out)
{{
    .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<20>; .reg .pred %p<4>;
    ld.param.u64 %rd0, [t];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
    {body}
    ret;
}}"""
    return cuda.RawKernel(text, "k")


@pytest.fixture(params=SOME)
def device(request: pytest.FixtureRequest) -> str:
    current.choose(get_device(request.param))
    return request.param


def pixels(flags: int = 0) -> texture.CUDAarray:
    made = texture.CUDAarray(FORM, 4, 3, flags=flags)
    made.copy_from(PIXELS)
    return made


def image(**more: object) -> texture.TextureObject:
    resource = texture.ResourceDescriptor(0, cuArr=pixels())
    return texture.TextureObject(resource, texture.TextureDescriptor(**more))


def surface(of: texture.CUDAarray) -> texture.SurfaceObject:
    return texture.SurfaceObject(texture.ResourceDescriptor(0, cuArr=of))


READ = """
    cvt.rn.f32.u32 %f5, %r0;
    tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd0, {%f5, %f5}];
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;
"""


def test_queries(device):
    names = "width", "height", "depth", "array_size", "num_mipmap_levels", "normalized_coords"
    body = "".join(
        f"txq.{name}.b32 %r1, [%rd0]; st.global.u32 [%rd1+{4 * n}], %r1;\n"
        for n, name in enumerate(names)
    )
    out = np.zeros(6, np.int32)
    kernel(body)(1, 1, (image(normalizedCoords=True), out))
    assert list(out) == [4, 3, 1, 1, 1, 1]
    body = body.replace("txq", "suq").replace("num_mipmap_levels", "width")
    made = kernel(body.replace("normalized_coords", "height"))
    made(1, 1, (surface(pixels(FLAGS)), out))
    assert list(out) == [4, 3, 1, 1, 4, 3]


def test_integer_coordinates(device):
    body = """
    add.s32 %r1, %r0, -2;
    tex.2d.v4.f32.s32 {%f1, _, _, _}|%p1, [%rd0, {%r0, %r1}];
    selp.f32 %f1, %f1, 0f00000000, %p1;
    mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f1;
    """
    for modes in ((model.CLAMP,) * 2, (model.BORDER,) * 2):
        how = model.Texture([PIXELS[None, None, :, :, None]], (*modes, 0), border=(5.0,) * 4)
        out, n = np.zeros(8, F), np.arange(8)
        kernel(body)(1, 8, (image(addressModes=modes, borderColors=(5.0,) * 4), out))
        assert list(out) == list(model.fetch(how, [n, n - 2])[:, 0])


def test_levels_by_number(device):
    made = texture.MipmappedArray(FORM, 4, 2, levels=3)
    values = [RNG.normal(0, 1, (2 >> n or 1, 4 >> n)).astype(F) for n in range(3)]
    for number, level in enumerate(values):
        made.level(number).copy_from(level)
    resource = texture.ResourceDescriptor(texture.cudaResourceTypeMipmappedArray, cuArr=made)
    body = """
    add.s32 %r1, %r0, -1; mov.u32 %r2, 0;
    tex.level.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd0, {%r2, %r2}], %r1;
    mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f1;
    """
    out = np.zeros(5, F)
    kernel(body)(1, 5, (texture.TextureObject(resource, texture.TextureDescriptor()), out))
    assert list(out) == [values[n][0, 0] for n in (0, 0, 1, 2, 2)]


RNG = np.random.default_rng(3)


def test_srgb(device):
    bytes_ = np.arange(256, dtype=np.uint8).reshape(4, 16, 4)
    made = texture.CUDAarray(texture.ChannelFormatDescriptor(8, 8, 8, 8, 1), 16, 4)
    made.copy_from(bytes_)
    how = texture.TextureDescriptor(readMode=texture.cudaReadModeNormalizedFloat, sRGB=True)
    object_ = texture.TextureObject(texture.ResourceDescriptor(0, cuArr=made), how)
    body = """
    and.b32 %r1, %r0, 15; shr.u32 %r2, %r0, 4;
    tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd0, {%r1, %r2}];
    mul.wide.u32 %rd2, %r0, 16; add.s64 %rd3, %rd1, %rd2;
    st.global.v4.f32 [%rd3], {%f1, %f2, %f3, %f4};
    """
    out = np.zeros((64, 4), F)
    kernel(body)(1, 64, (object_, out))
    want = model.decoded(bytes_.reshape(64, 4), True, True)
    assert np.abs(out - want).max() < 1e-7 and out[0, 0] == 0 and out[63, 3] == 1


def test_handles_in_memory(device):
    """An object is a number that programs keep where they like."""
    body = READ.replace("%rd0", "%rd5").replace("tex", "ld.global.u64 %rd5, [%rd0+8];\n    tex", 1)
    known, out = image(), np.zeros(3, F)
    table = cuda.to_device(np.array([0, known.ptr], np.uint64))
    kernel(body)(1, 3, (table, out))
    assert list(out) == [0, 5, 10]


def test_atomics(device):
    counts = texture.CUDAarray(texture.ChannelFormatDescriptor(32, 0, 0, 0, 0), 8, 2, flags=FLAGS)
    counts.copy_from(np.zeros((2, 8), np.int32))
    body = """
    and.b32 %r1, %r0, 3; shl.b32 %r2, %r1, 2; mov.u32 %r3, 1; mov.u32 %r4, -2; mov.u32 %r5, 900;
    sured.b.add.2d.u32.trap [%rd0, {%r2, %r3}], %r0;
    sured.b.min.2d.s32.clamp [%rd0, {%r5, %r4}], %r4;
    sured.b.or.2d.b32.zero [%rd0, {%r5, %r4}], %r4;
    """
    kernel(body)(1, 32, (surface(counts), 0))
    out = np.zeros((2, 8), np.int32)
    counts.copy_to(out)
    want = np.zeros((2, 8), np.int32)
    want[1, :4] = [sum(range(n, 32, 4)) for n in range(4)]
    want[0, 7] = -2
    assert (out == want).all()


# --- references

REFERENCES = f"""{HEAD}
.visible .global .texref image;
.global .surfref canvas;
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, 1; shl.b32 %r3, %r0, 2;
    mov.u64 %rd2, image;
    tex.2d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [%rd2, {{%r0, %r1}}];
    tex.2d.v4.f32.s32 {{%f2, %f3, %f4, %f5}}, [image, {{%r0, %r1}}];
    suld.b.2d.b32.trap {{%f5}}, [canvas, {{%r3, %r1}}];
    add.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f5;
    mul.wide.u32 %rd3, %r0, 4; add.s64 %rd3, %rd1, %rd3; st.global.f32 [%rd3], %f1;
    ret;
}}"""


def test_references(device):
    module = cuda.RawModule(code=REFERENCES)
    out = np.zeros(4, F)
    with pytest.raises(RuntimeError, match="or a reference is unbound"):
        module.get_function("k")(1, 4, (out,))
        cuda.synchronize()
    resource = texture.ResourceDescriptor(0, cuArr=pixels())
    texture.TextureReference(module.get_texref("image"), resource, texture.TextureDescriptor())
    module.get_texref("canvas").bind(surface(pixels(FLAGS)))
    kernel = module.get_function("k")
    del module, resource  # the kernel keeps what its module's references are bound to
    kernel(1, 4, (out,))
    assert list(out) == list(3 * PIXELS[1])


def test_the_type_of_a_handle(device):
    body = """mov.u64 %rd2, image; mov.u64 %rd4, canvas;
    istypep.texref %p1, %rd2; istypep.surfref %p2, %rd2; istypep.surfref %p3, %rd4;
    selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; selp.u32 %r3, 4, 0, %p3;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%rd1], %r1; ret; }"""
    head = REFERENCES[: REFERENCES.index("mov.u32 %r0")] + ".reg .pred %p<4>;"
    module = cuda.RawModule(code=head + body, via="ir")  # the references are gridlane's
    resource = texture.ResourceDescriptor(0, cuArr=pixels())
    texture.TextureReference(module.get_texref("image"), resource, texture.TextureDescriptor())
    module.get_texref("canvas").bind(surface(pixels(FLAGS)))
    out = np.zeros(1, np.uint32)
    module.get_function("k")(1, 1, (out,))
    assert out[0] == 5


def test_bad_references():
    current.choose(get_device("cpu"))
    module = cuda.RawModule(code=REFERENCES)
    with pytest.raises(ArgumentError, match="no reference k here; the references are: image, can"):
        module.get_texref("k")
    with pytest.raises(ArgumentError, match="image is bound to a TextureObject or SurfaceObject"):
        module.get_texref("image").bind(PIXELS)
    module.get_texref("image").bind(None)
    gone = image()
    gone.destroy()
    with pytest.raises(ArgumentError, match="is destroyed"):
        module.get_texref("image").bind(gone)


# --- bad objects


def refused(match: str, body: str, object_: object) -> None:
    with pytest.raises(RuntimeError, match=match) as caught:
        kernel(body)(1, 1, (object_, np.zeros(4, F)))
        cuda.synchronize()
    assert "line 13" in str(caught.value)  # that of the instruction


LOAD = "\n mov.u32 %r1, 0;\n suld.b.2d.b32.trap %r2, [%rd0, {%r1, %r1}]; st.global.u32 [%rd1], %r2;"


def test_no_object(device):
    refused("the texture object is null", READ, 0)
    refused("the surface object is null", LOAD, 0)


def test_a_destroyed_object(device):
    known = image()
    handle = known.ptr
    known.destroy()
    known.destroy()
    refused("no texture object of the shape .* or one that was destroyed", READ, handle)
    with pytest.raises(ArgumentError, match="this TextureObject is destroyed"):
        kernel(READ)(1, 1, (known, np.zeros(4, F)))


def test_an_object_of_another_shape(device):
    line = texture.CUDAarray(FORM, 4)
    resource = texture.ResourceDescriptor(0, cuArr=line)
    other = texture.TextureObject(resource, texture.TextureDescriptor())
    refused("no texture object of the shape", READ, other)
    refused("no surface object of the shape", LOAD, image())
    refused("no texture object of the shape", READ, surface(pixels(FLAGS)))


def test_an_access_with_no_room(device):
    wide = LOAD.replace("b32.trap %r2", "v2.b64.clamp {%rd4, %rd5}").replace("], %r2", "], %r1")
    thin = texture.CUDAarray(FORM, 3, 3, flags=FLAGS)
    refused("16 bytes are not at such an x", wide, surface(thin))
    odd = LOAD.replace("r1, 0", "r1, 6")
    refused("4 bytes are not at such an x", odd, surface(thin))
    kernel(wide)(1, 1, (surface(pixels(FLAGS)), np.zeros(4, F)))


# --- what is refused when the kernel is loaded

_TEX = "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}"
BAD = {
    "a sampler apart": f"{_TEX}, [%rd0, %rd1, {{%f5, %f5}}];",
    "3 coordinates are given, not 2": f"{_TEX}, [%rd0, {{%f5, %f5, %f5}}];",
    "absent is neither a register nor a reference": f"{_TEX}, [absent, {{%f5, %f5}}];",
    "data is neither a register nor a reference": f"{_TEX}, [data, {{%f5, %f5}}];",
    "taken is neither a register nor a reference": f"{_TEX}, [taken, {{%f5, %f5}}];",
    "grad.cube.* is not translated": f"{_TEX}, [%rd0, {{%f5, %f5}}], %f1, %f2;",
    "tex.2dms.* is not translated": f"{_TEX}, [%rd0, {{%f5, %f5}}];",
    "4 operands in braces": "tex.1d.v4.f32.f32 {%f1, %f2, %f3}, [%rd0, {%f5}];",
    "an operand has 32 bits": f"{_TEX}, [%r0, {{%f5, %f5}}];",
    "no address is translated": f"{_TEX}, [%rd0, {{%f5, %f5}}, 1, 2];",
    "a place in a texture": f"{_TEX}, [%rd0];",
    "with 3 operands is not": f"{_TEX}, [%rd0, {{%f5, %f5}}], {{%r0, %r0}};",
    "sust.p.* is not translated": "sust.p.1d.b32.trap [%rd0, {%r0}], {%r0};",
    "v4.b64.* is not translated": "suld.b.1d.v4.b64.trap {%rd1, %rd2, %rd3, %rd4}, [%rd0, {%r0}];",
    "stands alone in brackets": "txq.width.b32 %r1, [%rd0+4];",
    "channel_order.* is not translated": "txq.channel_order.b32 %r1, [%rd0];",
}
_SPELLED = {"grad.cube": "tex.grad.cube.v4.f32.f32", "tex.2dms": "tex.2dms.v4.f32.f32"}


@pytest.mark.parametrize("told", BAD)
def test_refusals(told):
    current.choose(get_device("interp"))
    line = BAD[told].replace(
        "tex.2d.v4.f32.f32", _SPELLED.get(told.partition(".*")[0], "tex.2d.v4.f32.f32")
    )
    text = f"""{HEAD}
.global .b64 data;
.global .samplerref taken = {{ addr_mode_0 = wrap }};
.global .texref image = {{ width = 4 }};
.visible .entry other(.param .u64 t) {{ ret; }}
.visible .entry k(.param .u64 t)
{{
    .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    {line}
    ret;
}}"""
    cuda.RawKernel(text, "other")(1, 1, (0,))
    with pytest.raises(PtxError, match=told) as caught:
        cuda.RawKernel(text, "k")(1, 1, (0,))
    assert "line 12" in str(caught.value)


# --- what ptxas says of the forms


def _line(spelling: str) -> str:
    """An instruction of a form."""
    root, *parts = spelling.split(".")
    shape = next((each for each in parts if each in SHAPES), "")
    if root in ("txq", "suq"):
        return f"{spelling} %r1, [%rd0];"
    count = SHAPES[shape].operands[1]
    has_layer = shape in ("a1d", "a2d", "acube")
    kind = "%r2" if root[0] == "s" or parts[-1] == "s32" else "%f2"
    places = ["%r2" if n == 0 and has_layer else kind for n in range(count)]
    place = f"[%rd0, {{{', '.join(places)}}}]"
    if root == "sured":
        return f"{spelling} {place}, %{'rd' if parts[3][-2:] == '64' else 'r'}4;"
    if root in ("suld", "sust"):
        bits = int(re.search(r"\.b(\d+)", spelling)[1])
        many = int((re.search(r"\.v(\d)", spelling) or " 1")[1])
        names = [f"%{ {64: 'rd', 32: 'r'}.get(bits, 'h') }{n}" for n in range(3, 3 + many)]
        value = f"{{{', '.join(names)}}}"
        return (
            f"{spelling} " + ", ".join([value, place] if root == "suld" else [place, value]) + ";"
        )
    result = "%f" if parts[-2] == "f32" else "%r"
    made = "{" + ", ".join(f"{result}{n}" for n in range(4, 8)) + "}"
    extra = ""
    if "level" in parts:
        extra = f", {kind}"
    if "grad" in parts:
        axes = SHAPES[shape].axes
        step = "{" + ", ".join(["%f3"] * (4 if axes == 3 else axes)) + "}"
        extra = f", {step}, {step}"
    return f"{spelling} {made}, {place}{extra};"


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_each_form(tmp_path: Path):
    roots = "tex", "tld4", "txq", "suld", "sust", "sured", "suq"
    lines = [_line(each) for root in roots for row in FORMS[root] for each in row.spellings()]
    text = f"""{HEAD.replace("8.0", "8.8")}.visible .entry k(.param .u64 t)
{{
.reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd0, [t];
"""
    assert refused_by_ptxas("\n".join((text, *lines, "ret;\n}\n")), tmp_path) == []
