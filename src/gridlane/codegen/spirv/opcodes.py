"""Numbers of the SPIR-V specification (unified1) and of the instruction set GLSL.std.450."""

from __future__ import annotations

from enum import IntEnum

MAGIC = 0x07230203
VERSION = 0x00010500
"""1.5, the first with physical addresses and the Vulkan memory model in the core."""

# The members' names are the specification's, without their prefixes.
# fmt: off


class Opcode(IntEnum):
    """Instructions."""

    Undef = 1
    Extension = 10
    ExtInstImport = 11
    ExtInst = 12
    MemoryModel = 14
    EntryPoint = 15
    ExecutionMode = 16
    Capability = 17
    TypeVoid = 19
    TypeBool = 20
    TypeInt = 21
    TypeFloat = 22
    TypeVector = 23
    TypeArray = 28
    TypeRuntimeArray = 29
    TypeStruct = 30
    TypePointer = 32
    TypeFunction = 33
    ConstantTrue = 41
    ConstantFalse = 42
    Constant = 43
    ConstantComposite = 44
    ConstantNull = 46
    SpecConstant = 50
    SpecConstantOp = 52
    Function = 54
    FunctionParameter = 55
    FunctionEnd = 56
    FunctionCall = 57
    Variable = 59
    Load = 61
    Store = 62
    AccessChain = 65
    Decorate = 71
    MemberDecorate = 72
    CompositeConstruct = 80
    CompositeExtract = 81
    ConvertFToU = 109
    ConvertFToS = 110
    ConvertSToF = 111
    ConvertUToF = 112
    UConvert = 113
    SConvert = 114
    FConvert = 115
    ConvertUToPtr = 120
    Bitcast = 124
    SNegate = 126
    FNegate = 127
    IAdd = 128
    FAdd = 129
    ISub = 130
    FSub = 131
    IMul = 132
    FMul = 133
    UDiv = 134
    SDiv = 135
    FDiv = 136
    MatrixTimesScalar = 143
    LogicalEqual = 164
    LogicalNotEqual = 165
    LogicalOr = 166
    LogicalAnd = 167
    LogicalNot = 168
    Select = 169
    IEqual = 170
    INotEqual = 171
    UGreaterThan = 172
    SGreaterThan = 173
    UGreaterThanEqual = 174
    SGreaterThanEqual = 175
    ULessThan = 176
    SLessThan = 177
    ULessThanEqual = 178
    SLessThanEqual = 179
    FOrdEqual = 180
    FUnordEqual = 181
    FOrdNotEqual = 182
    FUnordNotEqual = 183
    FOrdLessThan = 184
    FOrdGreaterThan = 186
    FOrdLessThanEqual = 188
    FOrdGreaterThanEqual = 190
    ShiftRightLogical = 194
    ShiftRightArithmetic = 195
    ShiftLeftLogical = 196
    BitwiseOr = 197
    BitwiseXor = 198
    BitwiseAnd = 199
    Not = 200
    BitReverse = 204
    BitCount = 205
    ControlBarrier = 224
    MemoryBarrier = 225
    AtomicLoad = 227
    AtomicStore = 228
    AtomicExchange = 229
    AtomicCompareExchange = 230
    AtomicIAdd = 234
    AtomicISub = 235
    AtomicSMin = 236
    AtomicUMin = 237
    AtomicSMax = 238
    AtomicUMax = 239
    AtomicAnd = 240
    AtomicOr = 241
    AtomicXor = 242
    LoopMerge = 246
    SelectionMerge = 247
    Label = 248
    Branch = 249
    BranchConditional = 250
    Return = 253
    ReturnValue = 254
    Unreachable = 255
    ExecutionModeId = 331
    GroupNonUniformBallot = 339
    GroupNonUniformShuffle = 345
    TypeCooperativeMatrixKHR = 4456
    CooperativeMatrixLoadKHR = 4457
    CooperativeMatrixStoreKHR = 4458
    CooperativeMatrixMulAddKHR = 4459
    AtomicFAddEXT = 6035


class Glsl(IntEnum):
    """Instructions of GLSL.std.450."""

    RoundEven = 2
    Trunc = 3
    FAbs = 4
    SAbs = 5
    Floor = 8
    Ceil = 9
    Sqrt = 31
    InverseSqrt = 32
    UMin = 38
    SMin = 39
    UMax = 41
    SMax = 42
    Fma = 50
    FindILsb = 73
    FindUMsb = 75


class Capability(IntEnum):
    """Capabilities that a module requires of a device."""

    Shader = 1
    Float16 = 9
    Float64 = 10
    Int64 = 11
    Int64Atomics = 12
    Int16 = 22
    Int8 = 39
    GroupNonUniform = 61
    GroupNonUniformBallot = 64
    GroupNonUniformShuffle = 65
    StorageBuffer16BitAccess = 4433
    StorageBuffer8BitAccess = 4448
    DenormPreserve = 4464
    SignedZeroInfNanPreserve = 4466
    RoundingModeRTE = 4467
    VulkanMemoryModel = 5345
    VulkanMemoryModelDeviceScope = 5346
    PhysicalStorageBufferAddresses = 5347
    BFloat16TypeKHR = 5116
    BFloat16CooperativeMatrixKHR = 5118
    CooperativeMatrixKHR = 6022
    AtomicFloat32AddEXT = 6033


class Use(IntEnum):
    """Uses of cooperative matrices."""

    MatrixA = 0
    MatrixB = 1
    MatrixAccumulator = 2


class Lines(IntEnum):
    """Layouts of cooperative matrices in memory."""

    RowMajor = 0
    ColumnMajor = 1


class Storage(IntEnum):
    """Storage classes."""

    Input = 1
    Workgroup = 4
    Private = 6
    Function = 7
    PushConstant = 9
    PhysicalStorageBuffer = 5349


class Decoration(IntEnum):
    """Decorations of results."""

    SpecId = 1
    Block = 2
    ArrayStride = 6
    BuiltIn = 11
    Offset = 35
    NoContraction = 42


class BuiltIn(IntEnum):
    """Built-in interface variables."""

    WorkgroupId = 26
    LocalInvocationId = 27
    LocalInvocationIndex = 29


class Mode(IntEnum):
    """Execution modes."""

    LocalSizeId = 38
    DenormPreserve = 4459
    SignedZeroInfNanPreserve = 4461
    RoundingModeRTE = 4462


class Scope(IntEnum):
    """Scopes of barriers and of accesses."""

    Device = 1
    Workgroup = 2
    Subgroup = 3


class Access(IntEnum):
    """Bits of the memory operands of a load or store."""

    Volatile = 1
    Aligned = 2
    NonPrivatePointer = 32


class Semantics(IntEnum):
    """Bits of memory semantics."""

    Acquire = 0x2
    Release = 0x4
    AcquireRelease = 0x8
    UniformMemory = 0x40
    WorkgroupMemory = 0x100
    MakeAvailable = 0x2000
    MakeVisible = 0x4000


# fmt: on

ADDRESSING_PHYSICAL_STORAGE_BUFFER_64 = 5348
MEMORY_MODEL_VULKAN = 3
MODEL_GL_COMPUTE = 5

LAYOUTS: dict[Opcode, str] = {
    Opcode.Extension: "s",
    Opcode.ExtInstImport: "rs",
    Opcode.ExtInst: "trign",
    Opcode.MemoryModel: "ll",
    Opcode.EntryPoint: "lisn",
    Opcode.ExecutionMode: "iln",
    Opcode.ExecutionModeId: "iln",
    Opcode.Capability: "l",
    Opcode.TypeVoid: "r",
    Opcode.TypeBool: "r",
    Opcode.TypeInt: "rll",
    Opcode.TypeFloat: "rlw",
    Opcode.TypeVector: "ril",
    Opcode.TypeArray: "rii",
    Opcode.TypeRuntimeArray: "ri",
    Opcode.TypeCooperativeMatrixKHR: "riiiii",
    Opcode.CooperativeMatrixLoadKHR: "triiiw",
    Opcode.CooperativeMatrixStoreKHR: "iiiiw",
    Opcode.TypeStruct: "rn",
    Opcode.TypePointer: "rli",
    Opcode.TypeFunction: "rn",
    Opcode.ConstantTrue: "tr",
    Opcode.ConstantFalse: "tr",
    Opcode.Constant: "trw",
    Opcode.SpecConstant: "trw",
    Opcode.SpecConstantOp: "trln",
    Opcode.Function: "trli",
    Opcode.FunctionEnd: "",
    Opcode.Variable: "trln",
    Opcode.Load: "triw",
    Opcode.Store: "iiw",
    Opcode.Decorate: "ilw",
    Opcode.MemberDecorate: "illw",
    Opcode.CompositeExtract: "triw",
    Opcode.LoopMerge: "iil",
    Opcode.SelectionMerge: "il",
    Opcode.Label: "r",
    Opcode.Branch: "i",
    Opcode.BranchConditional: "iii",
    Opcode.ControlBarrier: "iii",
    Opcode.MemoryBarrier: "ii",
    Opcode.AtomicStore: "iiii",
    Opcode.Return: "",
    Opcode.ReturnValue: "i",
    Opcode.Unreachable: "",
}
"""The layout of an instruction's words: t the result's type, r the result, i an id, l a number, s a
text, g an instruction of GLSL.std.450, n ids and w numbers to the end. The default is "trn"."""
