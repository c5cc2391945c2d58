"""The reserved words of each language, which are no names of fields or structures.

A field with such a name gets another in that language alone; see names.py. Sources: C++20 [lex.key]
and GNU's predefined macros, the GLSL 4.60 specification 3.6 with the explicit arithmetic types,
WGSL 15 (keywords and reserved words), and the Metal Shading Language Specification 2.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CPP = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires restrict return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor
xor_eq
"""

CUDA_CPP: frozenset[str] = _words(
    f"{_CPP} linux unix i386 NULL EOF NAN INFINITY assert errno offsetof stdin stdout stderr "
    "threadIdx blockIdx blockDim gridDim warpSize signbit isnan isinf isfinite main std"
)

MSL: frozenset[str] = _words(
    f"{_CPP} NULL NAN INFINITY assert offsetof main "
    "kernel vertex fragment mesh object visible stitchable intersection device constant thread "
    "threadgroup threadgroup_imageblock ray_data object_data tile half bfloat uchar ushort uint "
    "ulong size_t ptrdiff_t metal std simd int8_t uint8_t int16_t uint16_t int32_t uint32_t "
    "int64_t uint64_t texture sampler atomic array vec matrix packed_vec"
)

_NUMBERS = "char uchar short ushort int uint long ulong longlong ulonglong half float double"
VECTORS: frozenset[str] = frozenset(f"{each}{n}" for each in _NUMBERS.split() for n in "1234")
"""The types of CUDA and of MSL that no structure may hide; fields may have these names."""

_SIZES = ("", "8", "16", "32", "64")
_GLSL_TYPES = (
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in _SIZES[1:]),
    *(f"float{bits}_t" for bits in _SIZES[2:]),
    *(f"{sign}{bits}vec{n}" for sign in "iuf" for bits in _SIZES[1:] for n in "234"),
    *(f"{kind}vec{n}" for kind in ("", "b", "d", "h", "i", "u") for n in "234"),
    *(f"{kind}mat{n}" for kind in ("", "d") for n in "234"),
    *(f"{kind}mat{n}x{m}" for kind in ("", "d") for n in "234" for m in "234"),
    *(f"{kind}mat{n}" for kind in ("f16", "f32", "f64") for n in "234"),
    *(f"{kind}mat{n}x{m}" for kind in ("f16", "f32", "f64") for n in "234" for m in "234"),
)
_GLSL_SHAPES = _words("1D 2D 3D 1DArray 2DArray 2DMS 2DMSArray 2DRect Buffer Cube CubeArray")
_GLSL_SHADOWS = _words("1DShadow 2DShadow 1DArrayShadow 2DArrayShadow 2DRectShadow CubeShadow")

GLSL: frozenset[str] = _words(
    """
    active asm atomic_uint attribute bool break buffer case cast centroid class coherent common
    const continue default demote discard do double else enum extern external false filter fixed
    flat float for fvec2 fvec3 fvec4 goto half highp hvec2 if image in inline inout input int
    interface invariant layout long lowp main mediump namespace noinline nonuniformEXT
    noperspective out output partition patch precise precision public readonly resource restrict
    return sample sampler sampler3DRect samplerCubeArrayShadow shared short sizeof smooth static
    struct subpassInput subpassInputMS subroutine superp switch template texture this true typedef
    uint uniform union unsigned using varying void volatile while writeonly export
    devicecoherent queuefamilycoherent workgroupcoherent subgroupcoherent shadercallcoherent
    nonprivate nontemporal accelerationStructureEXT rayPayloadEXT rayPayloadInEXT rayQueryEXT
    hitAttributeEXT callableDataEXT callableDataInEXT samplerShadow samplerExternalOES
    terminateInvocation terminateRayEXT ignoreIntersectionEXT
    taskPayloadSharedEXT perprimitiveEXT pervertexEXT spirv_instruction spirv_execution_mode
    spirv_execution_mode_id spirv_decorate spirv_decorate_id spirv_decorate_string spirv_type
    spirv_storage_class spirv_by_reference spirv_literal
    """
) | frozenset(
    (
        *_GLSL_TYPES,
        *(f"{kind}{shape}" for kind in ("sampler", "texture", "image") for shape in _GLSL_SHAPES),
        *(
            f"{sign}{kind}{shape}"
            for sign in "iu"
            for kind in ("sampler", "texture", "image")
            for shape in _GLSL_SHAPES
        ),
        *(f"{sign}subpassInput{kind}" for sign in "iu" for kind in ("", "MS")),
        *(f"sampler{shape}" for shape in _GLSL_SHADOWS),
    )
)

WGSL: frozenset[str] = _words(
    """
    alias break case const const_assert continue continuing default diagnostic discard else enable
    false fn for if let loop override requires return struct switch true var while
    NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become
    cast catch class co_await co_return co_yield coherent column_major common compile
    compile_fragment concept const_cast consteval constexpr constinit crate debugger decltype delete
    demote demote_to_helper do dynamic_cast enum explicit export extends extern external
    fallthrough filter final finally friend from fxgroup get goto groupshared highp impl implements
    import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module
    move mut mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent
    noperspective null nullptr of operator package packoffset partition pass patch pixelfragment
    precise precision premerge priv protected pub public readonly ref regardless register
    reinterpret_cast require resource restrict self set shared sizeof smooth snorm static
    static_assert static_cast std subroutine super target template this thread_local throw trait
    try type typedef typeid typename typeof union unless unorm unsafe unsized use using varying
    virtual volatile wgsl where with writeonly yield
    """
)

WGSL_PREDECLARED: frozenset[str] = _words(
    "bool f16 f32 i32 u32 array vec2 vec3 vec4 vec2u vec2f ptr atomic function storage read "
    "read_write bitcast extractBits insertBits min select it at word value main"
)
"""Names that the generated text uses, so that no structure may hide them."""
