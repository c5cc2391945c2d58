// Algorithms of a whole device. The host calls them: whole programs have them in device_program.cuh, and
// where kernels alone are compiled they are declarations.
#pragma once
#include "cub/utilities.cuh"
#ifdef GRIDLANE_PROGRAM
#include "cub/gridlane_selections.cuh"
#include "cub/gridlane_segments.cuh"
#include "cub/gridlane_histograms.cuh"
#include "cub/gridlane_elements.cuh"
#else

#define GRIDLANE_CALL(name) \
    template <typename... A_> static cudaError_t name(const A_ &...) { return cudaSuccess; }
#define GRIDLANE_SEVERAL(name)                                             \
    template <int C_, int A_, typename... P_>                              \
    static cudaError_t name(void *, size_t &, const P_ &...) { return cudaSuccess; }
namespace cub {

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
    GRIDLANE_CALL(Flagged) GRIDLANE_CALL(If) GRIDLANE_CALL(FlaggedIf) GRIDLANE_CALL(Unique)
    GRIDLANE_CALL(UniqueByKey)
};
struct DevicePartition { GRIDLANE_CALL(Flagged) GRIDLANE_CALL(If) };
struct DeviceRunLengthEncode { GRIDLANE_CALL(Encode) GRIDLANE_CALL(NonTrivialRuns) };
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
    GRIDLANE_CALL(SortKeysDescending) GRIDLANE_CALL(StableSortPairsDescending)
    GRIDLANE_CALL(StableSortKeysDescending)
};
struct DeviceMergeSort {
    GRIDLANE_CALL(SortPairs) GRIDLANE_CALL(SortKeys) GRIDLANE_CALL(StableSortPairs)
    GRIDLANE_CALL(StableSortKeys) GRIDLANE_CALL(SortPairsCopy) GRIDLANE_CALL(SortKeysCopy)
    GRIDLANE_CALL(StableSortPairsCopy) GRIDLANE_CALL(StableSortKeysCopy)
};
struct DeviceHistogram {
    GRIDLANE_CALL(HistogramEven) GRIDLANE_CALL(HistogramRange)
    GRIDLANE_SEVERAL(MultiHistogramEven) GRIDLANE_SEVERAL(MultiHistogramRange)
};
struct DeviceSpmv { GRIDLANE_CALL(CsrMV) };
struct DeviceFor {
    GRIDLANE_CALL(Bulk) GRIDLANE_CALL(ForEach) GRIDLANE_CALL(ForEachN) GRIDLANE_CALL(ForEachCopy)
    GRIDLANE_CALL(ForEachCopyN)
};
struct DeviceAdjacentDifference {
    GRIDLANE_CALL(SubtractLeft) GRIDLANE_CALL(SubtractLeftCopy) GRIDLANE_CALL(SubtractRight)
    GRIDLANE_CALL(SubtractRightCopy)
};
struct DeviceCopy { GRIDLANE_CALL(Batched) };
struct DeviceMemcpy { GRIDLANE_CALL(Batched) };
struct DeviceMerge { GRIDLANE_CALL(MergeKeys) GRIDLANE_CALL(MergePairs) };
struct DeviceTransform {
    GRIDLANE_CALL(Transform) GRIDLANE_CALL(TransformStableArgumentAddresses)
};
#undef GRIDLANE_CALL
#undef GRIDLANE_SEVERAL

}  // namespace cub
#endif
