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
#define GRIDLANE_NAMES(F) \
    F(CallbackLoadC) F(CallbackLoadD) F(CallbackLoadR) F(CallbackLoadZ) F(CallbackStoreC) \
    F(CallbackStoreD) F(CallbackStoreR) F(CallbackStoreZ) F(Create) F(Destroy) F(Estimate1d) \
    F(Estimate2d) F(Estimate3d) F(EstimateMany) F(ExecC2C) F(ExecC2R) F(ExecD2Z) F(ExecR2C) \
    F(ExecZ2D) F(ExecZ2Z) F(GetPlanPropertyInt64) F(GetProperty) F(GetSize) F(GetSize1d) \
    F(GetSize2d) F(GetSize3d) F(GetSizeMany) F(GetSizeMany64) F(GetVersion) F(MakePlan1d) \
    F(MakePlan2d) F(MakePlan3d) F(MakePlanMany) F(MakePlanMany64) F(Plan1d) F(Plan2d) F(Plan3d) \
    F(PlanMany) F(ResetPlanProperty) F(SetAutoAllocation) F(SetPlanPropertyInt64) F(SetStream) \
    F(SetWorkArea) F(XtClearCallback) F(XtExec) F(XtExecDescriptor) F(XtExecDescriptorC2C) \
    F(XtExecDescriptorC2R) F(XtExecDescriptorD2Z) F(XtExecDescriptorR2C) F(XtExecDescriptorZ2D) \
    F(XtExecDescriptorZ2Z) F(XtFree) F(XtGetSizeMany) F(XtMakePlanMany) F(XtMalloc) F(XtMemcpy) \
    F(XtQueryPlan) F(XtSetCallback) F(XtSetCallbackSharedSize) F(XtSetDistribution) F(XtSetGPUs) \
    F(XtSetWorkArea) F(XtSetWorkAreaPolicy)
GRIDLANE_NAMES(GRIDLANE_FFT)
#undef GRIDLANE_NAMES
#undef GRIDLANE_FFT
