"""The methods of Metal that the driver calls: their selectors and types, in pyobjc's encoding.

The letters are Objective-C's: ``@`` object, ``Q`` unsigned and ``q`` signed 64-bit integer, ``Z``
truth value, ``d`` double, ``v`` nothing, ``^@`` place of an error, ``^v`` bytes, ``S`` an MTLSize,
``0`` an out parameter that is not requested: NULL.
Facts of pyobjc-framework-Metal 12.2.2 (its ``_metadata.py``) and of Apple's headers. The stand-in
has these methods and no others, and the tests check that the driver calls no others.
"""

from __future__ import annotations

from typing import Any

SELECTORS: dict[str, dict[str, str]] = {
    # class: {selector: type of the result, then of the arguments}
    "MTLDevice": {
        "name": "@",
        "registryID": "Q",
        "hasUnifiedMemory": "Z",
        "supportsFamily:": "Zq",
        "maxThreadsPerThreadgroup": "S",
        "maxThreadgroupMemoryLength": "Q",
        "maxBufferLength": "Q",
        "recommendedMaxWorkingSetSize": "Q",
        "currentAllocatedSize": "Q",
        "newBufferWithLength:options:": "@QQ",
        "newCommandQueue": "@",
        "newFence": "@",
        "newSharedEvent": "@",
        "newLibraryWithSource:options:error:": "@@@^@",
        "newBinaryArchiveWithDescriptor:error:": "@@^@",
        "newComputePipelineStateWithDescriptor:options:reflection:error:": "@@Q0^@",
        "newResidencySetWithDescriptor:error:": "@@^@",
    },
    "MTLBuffer": {"contents": "^v", "gpuAddress": "Q", "length": "Q"},
    "MTLCompileOptions": {"setLanguageVersion:": "vQ", "setMathMode:": "vq"},
    "MTLLibrary": {"newFunctionWithName:": "@@"},
    "MTLFunction": {"name": "@"},
    "MTLComputePipelineState": {
        "maxTotalThreadsPerThreadgroup": "Q",
        "threadExecutionWidth": "Q",
        "staticThreadgroupMemoryLength": "Q",
    },
    "MTLCommandQueue": {"commandBuffer": "@", "addResidencySet:": "v@"},
    "MTLCommandBuffer": {
        "computeCommandEncoder": "@",
        "encodeSignalEvent:value:": "v@Q",
        "commit": "v",
        "waitUntilCompleted": "v",
        "status": "Q",
        "error": "@",
        "GPUStartTime": "d",
        "GPUEndTime": "d",
    },
    "MTLComputeCommandEncoder": {
        "setComputePipelineState:": "v@",
        "setBuffer:offset:atIndex:": "v@QQ",
        "setBytes:length:atIndex:": "v^vQQ",
        "setThreadgroupMemoryLength:atIndex:": "vQQ",
        "useResource:usage:": "v@Q",
        "waitForFence:": "v@",
        "updateFence:": "v@",
        "dispatchThreadgroups:threadsPerThreadgroup:": "vSS",
        "endEncoding": "v",
    },
    "MTLFence": {},
    "MTLSharedEvent": {"waitUntilSignaledValue:timeoutMS:": "ZQQ", "signaledValue": "Q"},
    "MTLResidencySet": {
        "addAllocation:": "v@",
        "removeAllocation:": "v@",
        "commit": "v",
        "requestResidency": "v",
    },
    "MTLResidencySetDescriptor": {},
    "MTLBinaryArchive": {
        "addComputePipelineFunctionsWithDescriptor:error:": "Z@^@",
        "serializeToURL:error:": "Z@^@",
    },
    "MTLBinaryArchiveDescriptor": {"setUrl:": "v@"},
    "MTLComputePipelineDescriptor": {"setComputeFunction:": "v@", "setBinaryArchives:": "v@"},
    "NSURL": {"fileURLWithPath:": "@@"},
    "NSError": {"code": "q", "domain": "@", "localizedDescription": "@"},
}

_ENCODED = {
    "S": b"{MTLSize=QQQ}",
    "0": b"^@",
    **{letter: letter.encode() for letter in ("@", "Q", "q", "Z", "d", "v", "^@", "^v")},
}


def types_of(signature: str) -> list[str]:
    """The letters of a signature, one a value.

    >>> types_of("@@^@")
    ['@', '@', '^@']
    """
    letters = iter(signature)
    return [letter + next(letters) if letter == "^" else letter for letter in letters]


def owning_metadata(signature: str) -> dict[str, Any]:
    """pyobjc's metadata of a method ``new…``, corrected: the caller owns its result.

    pyobjc assumes that instance methods ``new…`` return borrowed results and retains them once
    more, so that none is ever freed (pyobjc issue 690). Registered metadata replaces pyobjc's own.
    """
    result, *arguments = types_of(signature)
    arguments_by_number: dict[int, dict[str, Any]] = {}
    for number, letter in enumerate(arguments, 2):  # 0 and 1 are the object and the selector
        arguments_by_number[number] = {"type": _ENCODED[letter]}
        if letter == "^@":
            arguments_by_number[number]["type_modifier"] = b"o"
    return {
        "retval": {"type": _ENCODED[result], "already_retained": True},
        "arguments": arguments_by_number,
    }


def owning() -> dict[str, str]:
    """The selectors whose results the caller owns, with their signatures."""
    return {
        selector: signature
        for methods in SELECTORS.values()
        for selector, signature in methods.items()
        if selector.startswith("new")
    }
