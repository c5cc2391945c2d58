"""Functions of the driver by name and version."""

from tests.abi.calling import by_row, good, name

from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

BAD = "CUDA_ERROR_INVALID_VALUE"


def test_functions_have_no_addresses_in_python(cpu):
    status = cu.CUdriverProcAddressQueryResult
    get = cu.cuGetProcAddress
    found = good(get(b"cuNonsense", 12000, 0))
    assert found == (0, status.CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
    found = good(get(b"cuLibraryLoadData", 11000, 0))
    assert found == (0, status.CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT)
    assert name(get(b"cuLibraryLoadData", 12000, 0)) == "CUDA_ERROR_NOT_SUPPORTED"
    for values in ((b"cuInit", 99000, 0), (b"cuInit", 12000, 3), (b"", 12000, 0)):
        assert name(get(*values)) == BAD
    assert by_row("driver", "cuGetProcAddress", b"cuNonsense", 12000, 0) == 500
    assert by_row("driver", "cuGetProcAddress", b"cuInit", 12000, 0) == 801
    result = rt.cudaGetDriverEntryPoint(b"cuInit", 0)
    assert name(result) == "cudaErrorNotSupported"
    assert good(rt.cudaGetDriverEntryPointByVersion(b"cuNonsense", 12000, 0))[0] == 0
