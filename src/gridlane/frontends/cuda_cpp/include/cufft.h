// cuFFT for the host, as declarations.
#pragma once
#define _CUFFT_H_
#include "cuComplex.h"
#include "gridlane/libraries.h"

typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
enum cufftResult {
    CUFFT_SUCCESS, CUFFT_INVALID_PLAN, CUFFT_ALLOC_FAILED, CUFFT_INVALID_TYPE, CUFFT_INVALID_VALUE,
    CUFFT_INTERNAL_ERROR, CUFFT_EXEC_FAILED, CUFFT_SETUP_FAILED, CUFFT_INVALID_SIZE,
    CUFFT_UNALIGNED_DATA, CUFFT_INVALID_DEVICE = 11, CUFFT_NO_WORKSPACE = 13,
    CUFFT_NOT_IMPLEMENTED = 14, CUFFT_NOT_SUPPORTED = 16,
};
typedef cufftResult cufftResult_t;
GRIDLANE_REFUSAL(cufftResult, CUFFT_NOT_SUPPORTED)
enum cufftType {
    CUFFT_C2C = 0x29, CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_Z2Z = 0x69, CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c,
};
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
#define GRIDLANE_FFT(name) GRIDLANE_ANY(cufftResult, cufft##name)
GRIDLANE_FFT(CallbackLoadC) GRIDLANE_FFT(CallbackLoadD) GRIDLANE_FFT(CallbackLoadR)
GRIDLANE_FFT(CallbackLoadZ) GRIDLANE_FFT(CallbackStoreC) GRIDLANE_FFT(CallbackStoreD)
GRIDLANE_FFT(CallbackStoreR) GRIDLANE_FFT(CallbackStoreZ) GRIDLANE_FFT(Create) GRIDLANE_FFT(Destroy)
GRIDLANE_FFT(Estimate1d) GRIDLANE_FFT(Estimate2d) GRIDLANE_FFT(Estimate3d)
GRIDLANE_FFT(EstimateMany) GRIDLANE_FFT(ExecC2C) GRIDLANE_FFT(ExecC2R) GRIDLANE_FFT(ExecD2Z)
GRIDLANE_FFT(ExecR2C) GRIDLANE_FFT(ExecZ2D) GRIDLANE_FFT(ExecZ2Z) GRIDLANE_FFT(GetPlanPropertyInt64)
GRIDLANE_FFT(GetProperty) GRIDLANE_FFT(GetSize) GRIDLANE_FFT(GetSize1d) GRIDLANE_FFT(GetSize2d)
GRIDLANE_FFT(GetSize3d) GRIDLANE_FFT(GetSizeMany) GRIDLANE_FFT(GetSizeMany64)
GRIDLANE_FFT(GetVersion) GRIDLANE_FFT(MakePlan1d) GRIDLANE_FFT(MakePlan2d) GRIDLANE_FFT(MakePlan3d)
GRIDLANE_FFT(MakePlanMany) GRIDLANE_FFT(MakePlanMany64) GRIDLANE_FFT(Plan1d) GRIDLANE_FFT(Plan2d)
GRIDLANE_FFT(Plan3d) GRIDLANE_FFT(PlanMany) GRIDLANE_FFT(ResetPlanProperty)
GRIDLANE_FFT(SetAutoAllocation) GRIDLANE_FFT(SetPlanPropertyInt64) GRIDLANE_FFT(SetStream)
GRIDLANE_FFT(SetWorkArea) GRIDLANE_FFT(XtClearCallback) GRIDLANE_FFT(XtExec)
GRIDLANE_FFT(XtExecDescriptor) GRIDLANE_FFT(XtExecDescriptorC2C) GRIDLANE_FFT(XtExecDescriptorC2R)
GRIDLANE_FFT(XtExecDescriptorD2Z) GRIDLANE_FFT(XtExecDescriptorR2C)
GRIDLANE_FFT(XtExecDescriptorZ2D) GRIDLANE_FFT(XtExecDescriptorZ2Z) GRIDLANE_FFT(XtFree)
GRIDLANE_FFT(XtGetSizeMany) GRIDLANE_FFT(XtMakePlanMany) GRIDLANE_FFT(XtMalloc)
GRIDLANE_FFT(XtMemcpy) GRIDLANE_FFT(XtQueryPlan) GRIDLANE_FFT(XtSetCallback)
GRIDLANE_FFT(XtSetCallbackSharedSize) GRIDLANE_FFT(XtSetDistribution) GRIDLANE_FFT(XtSetGPUs)
GRIDLANE_FFT(XtSetWorkArea) GRIDLANE_FFT(XtSetWorkAreaPolicy)
#undef GRIDLANE_FFT
