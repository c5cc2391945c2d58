// Algorithms of a whole device. The host calls them: they are declarations where kernels alone are
// compiled, and what whole programs have of them is in device_program.cuh.
#pragma once
#include "cub/utilities.cuh"
#include "gridlane/absent.h"

// Each takes the temporary memory, its size, and what the algorithm needs.
#define GRIDLANE_CALL(name)                                                                   \
    template <typename... A_>                                                                 \
    GRIDLANE_ABSENT static cudaError_t name(void *, size_t &, const A_ &...)                  \
        GRIDLANE_BODY(return cudaSuccess;)
#ifdef GRIDLANE_PROGRAM
#include "cub/device_program.cuh"
#endif

namespace cub {

#ifndef GRIDLANE_PROGRAM
struct DeviceReduce {
    GRIDLANE_CALL(Reduce) GRIDLANE_CALL(Sum) GRIDLANE_CALL(Min) GRIDLANE_CALL(Max)
    GRIDLANE_CALL(ArgMin) GRIDLANE_CALL(ArgMax) GRIDLANE_CALL(ReduceByKey)
    GRIDLANE_CALL(TransformReduce)
};
struct DeviceScan {
    GRIDLANE_CALL(ExclusiveSum) GRIDLANE_CALL(InclusiveSum) GRIDLANE_CALL(ExclusiveScan)
    GRIDLANE_CALL(InclusiveScan) GRIDLANE_CALL(ExclusiveSumByKey) GRIDLANE_CALL(InclusiveSumByKey)
    GRIDLANE_CALL(ExclusiveScanByKey) GRIDLANE_CALL(InclusiveScanByKey)
    GRIDLANE_CALL(InclusiveScanInit)
};
struct DeviceRadixSort {
    GRIDLANE_CALL(SortPairs) GRIDLANE_CALL(SortPairsDescending)
    GRIDLANE_CALL(SortKeys) GRIDLANE_CALL(SortKeysDescending)
};
struct DeviceSelect {
    GRIDLANE_CALL(Flagged) GRIDLANE_CALL(If) GRIDLANE_CALL(Unique) GRIDLANE_CALL(UniqueByKey)
};
struct DevicePartition { GRIDLANE_CALL(Flagged) GRIDLANE_CALL(If) };
struct DeviceRunLengthEncode { GRIDLANE_CALL(Encode) GRIDLANE_CALL(NonTrivialRuns) };
#endif
struct DeviceSegmentedReduce {
    GRIDLANE_CALL(Reduce) GRIDLANE_CALL(Sum) GRIDLANE_CALL(Min) GRIDLANE_CALL(Max)
    GRIDLANE_CALL(ArgMin) GRIDLANE_CALL(ArgMax)
};
struct DeviceSegmentedRadixSort {
    GRIDLANE_CALL(SortPairs) GRIDLANE_CALL(SortPairsDescending)
    GRIDLANE_CALL(SortKeys) GRIDLANE_CALL(SortKeysDescending)
};
struct DeviceSegmentedSort {
    GRIDLANE_CALL(SortPairs) GRIDLANE_CALL(SortKeys) GRIDLANE_CALL(StableSortPairs)
    GRIDLANE_CALL(StableSortKeys) GRIDLANE_CALL(SortPairsDescending)
    GRIDLANE_CALL(SortKeysDescending)
};
struct DeviceMergeSort {
    GRIDLANE_CALL(SortPairs) GRIDLANE_CALL(SortKeys) GRIDLANE_CALL(StableSortPairs)
    GRIDLANE_CALL(StableSortKeys)
};
struct DeviceHistogram {
    GRIDLANE_CALL(HistogramEven) GRIDLANE_CALL(HistogramRange)
    template <int C_, int A_, typename... P_>
    GRIDLANE_ABSENT static cudaError_t MultiHistogramEven(void *, size_t &, const P_ &...)
        GRIDLANE_BODY(return cudaSuccess;)
};
struct DeviceSpmv { GRIDLANE_CALL(CsrMV) };
struct DeviceFor {
    template <typename... A_> GRIDLANE_ABSENT static cudaError_t Bulk(const A_ &...)
        GRIDLANE_BODY(return cudaSuccess;)
    template <typename... A_> GRIDLANE_ABSENT static cudaError_t ForEach(const A_ &...)
        GRIDLANE_BODY(return cudaSuccess;)
    template <typename... A_> GRIDLANE_ABSENT static cudaError_t ForEachN(const A_ &...)
        GRIDLANE_BODY(return cudaSuccess;)
};
struct DeviceAdjacentDifference {
    GRIDLANE_CALL(SubtractLeft) GRIDLANE_CALL(SubtractLeftCopy) GRIDLANE_CALL(SubtractRight)
    GRIDLANE_CALL(SubtractRightCopy)
};
struct DeviceCopy { GRIDLANE_CALL(Batched) };
struct DeviceMemcpy { GRIDLANE_CALL(Batched) };
struct DeviceMerge { GRIDLANE_CALL(MergeKeys) GRIDLANE_CALL(MergePairs) };
struct DeviceTransform {
    template <typename... A_> GRIDLANE_ABSENT static cudaError_t Transform(const A_ &...)
        GRIDLANE_BODY(return cudaSuccess;)
};
#undef GRIDLANE_CALL

}  // namespace cub
