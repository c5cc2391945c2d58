"""C++'s own forms of CUDA's functions, which are made from rows of a table."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gridlane.abi.library import entry
from gridlane.core.cuda_table import written
from gridlane.core.cuda_table.forms import _form, forms
from gridlane.core.cuda_table.functions import exported
from gridlane.frontends.cuda_cpp.clang import INCLUDE

ROWS = {row.name: row for row in exported("runtime", 13)}
CALLS = """
#include <cuda.h>
#include <cuda_runtime.h>
int table[4];
void kernel(int *, float);
void calls(float *p, cudaStream_t stream, cudaMemPool_t pool, cudaGraph_t graph, CUgraph other)
{
    size_t pitch = 0, count = 0;
    cudaMalloc(&p, 4);
    cudaMalloc((void **)&p, 4);
    cudaMallocHost(&p, 4);
    cudaMallocHost(&p, 4, 1u);
    cudaMallocHost((void **)&p, 4, 1u);
    cudaHostAlloc(&p, 4, 0);
    cudaHostGetDevicePointer(&p, p, 0);
    cudaMallocManaged(&p, 4);
    cudaMallocPitch(&p, &pitch, 4, 4);
    cudaMallocAsync(&p, 4, stream);
    cudaMallocAsync(&p, 4, pool, stream);
    cudaMallocAsync((void **)&p, 4, pool, stream);
    cudaMallocFromPoolAsync(&p, 4, pool, stream);
    cudaStreamAttachMemAsync(stream, p);
    cudaMemcpyToSymbol(table, p, 16);
    cudaMemcpyFromSymbol(p, table, 16);
    cudaMemcpyToSymbolAsync(table, p, 16);
    cudaMemcpyFromSymbolAsync(p, table, 16, 0, cudaMemcpyDeviceToHost, stream);
    cudaGetSymbolAddress(&p, table);
    cudaGetSymbolAddress((void **)&p, table);
    cudaGetSymbolSize(&pitch, table);
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraphAddMemcpyNodeToSymbol(&node, graph, 0, 0, table, p, 4, 0, cudaMemcpyDefault);
    cudaGraphAddMemcpyNodeFromSymbol(&node, graph, 0, 0, p, table, 4, 0, cudaMemcpyDefault);
    cudaGraphMemcpyNodeSetParamsToSymbol(node, table, p, 4, 0, cudaMemcpyDefault);
    cudaGraphMemcpyNodeSetParamsFromSymbol(node, p, table, 4, 0, cudaMemcpyDefault);
    cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, table, p, 4, 0, cudaMemcpyDefault);
    cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, p, table, 4, 0, cudaMemcpyDefault);
    dim3 one(1, 1, 1);
    void *arguments[] = { &p, &count };
    cudaLaunchKernel(kernel, one, one, arguments);
    cudaLaunchKernel((const void *)kernel, one, one, arguments, 0, stream);
    cudaLaunchCooperativeKernel(kernel, one, one, arguments);
    cudaFuncAttributes facts;
    cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferL1);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 4);
    cudaFuncGetAttributes(&facts, kernel);
    const char *name;
    cudaKernel_t handle;
    cudaFuncGetName(&name, kernel);
    cudaGetKernel(&handle, kernel);
    int blocks = 0;
    cudaLaunchConfig_t config = {};
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 32, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 32, 0, 0);
    cudaOccupancyAvailableDynamicSMemPerBlock(&pitch, kernel, 1, 32);
    cudaOccupancyMaxPotentialClusterSize(&blocks, kernel, &config);
    cudaOccupancyMaxActiveClusters(&blocks, kernel, &config);
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaEventCreate(&event, 0);
    cudaEventRecord(event);
    cudaLibraryGetGlobal(&p, &pitch, 0, "x");
    cudaLibraryGetUnifiedFunction(&p, 0, "x");
    cudaGraphGetEdges(graph, 0, 0, &count);
    cudaGraphGetEdges(graph, 0, 0, 0, &count);
    cudaGraphAddDependencies(graph, 0, 0, 0);
    cudaStreamUpdateCaptureDependencies(stream, 0, 0);
    cudaStreamCaptureStatus status;
    cudaStreamGetCaptureInfo(stream, &status);
    cuGraphGetEdges(other, 0, 0, &count);
    cuGraphGetEdges(other, 0, 0, 0, &count);
    cuMemAdvise(0, 4, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
def test_calls_of_all_forms_compile(tmp_path):
    file = tmp_path / "calls.cpp"
    file.write_text(CALLS)
    rooms = Path(entry.__file__).parent / "include", written.folder(), INCLUDE
    folders = [f"-I{each}" for each in rooms]
    command = ["g++", "-std=c++17", "-fsyntax-only", *folders, str(file)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_a_form_calls_its_function_with_what_differs():
    assert _form("cudaMallocHost = cudaHostAlloc pHost* flags=0", ROWS, "E") == (
        "template <class T0> inline E cudaMallocHost(T0 ** a0, size_t a1, unsigned int a2 =0)"
        " { return ::cudaHostAlloc((void **)(void *)a0, a1, a2); }"
    )
    assert _form("cudaGraphGetEdges edgeData-", ROWS, "E") == (
        "inline E cudaGraphGetEdges(cudaGraph_t a0, cudaGraphNode_t * a1, cudaGraphNode_t * a2,"
        " size_t * a4) { return ::cudaGraphGetEdges(a0, a1, a2, nullptr, a4); }"
    )
    assert _form("cudaEventRecord stream=0", ROWS, "E") == (
        'extern "C" E cudaEventRecord(cudaEvent_t a0, cudaStream_t a1 =0);'
    )


def test_rows_name_parameters_of_the_table():
    assert len([*forms("runtime", 13, "E")]) > 80 and len([*forms("driver", 13, "E")]) == 11
    for row in ("cudaMalloc pointer*", "cudaMalloc devPtr!"):
        with pytest.raises(ValueError, match="cudaMalloc has no such parameters"):
            _form(row, ROWS, "E")
