// The functions of cuSOLVER, by their names: those of types, of the host, and of buffers.
#pragma once

#define GRIDLANE_SOLVER(name) GRIDLANE_ANY(cusolverStatus_t, cusolver##name)
#define GRIDLANE_SOLVER_FOUR_DN(name) GRIDLANE_SOLVER(DnS##name) GRIDLANE_SOLVER(DnD##name)       \
    GRIDLANE_SOLVER(DnC##name) GRIDLANE_SOLVER(DnZ##name)
GRIDLANE_SOLVER_FOUR_DN(getrs) GRIDLANE_SOLVER_FOUR_DN(laswp) GRIDLANE_SOLVER_FOUR_DN(potrfBatched)
GRIDLANE_SOLVER_FOUR_DN(potrs) GRIDLANE_SOLVER_FOUR_DN(potrsBatched) GRIDLANE_SOLVER_FOUR_DN(syevj)
#define GRIDLANE_SOLVER_FOUR_SP(name) GRIDLANE_SOLVER(SpS##name) GRIDLANE_SOLVER(SpD##name)       \
    GRIDLANE_SOLVER(SpC##name) GRIDLANE_SOLVER(SpZ##name)
#define GRIDLANE_SOLVER_NAMES(F) \
    F(csrcholDiag) F(csreigsHost) F(csrlsqvqrHost) F(csrlsvluHost) F(csrluBufferInfoHost) \
    F(csrluExtractHost) F(csrluFactorHost) F(csrluSolveHost) F(csrluZeroPivotHost) \
    F(csrqrBufferInfoBatched) F(csrqrsvBatched) F(csrzfdHost)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER_FOUR_SP)
#define GRIDLANE_SOLVER_HOST(name) GRIDLANE_SOLVER(name) GRIDLANE_SOLVER(name##Host)
#define GRIDLANE_SOLVER_FOUR_HOST_SP(name) GRIDLANE_SOLVER_HOST(SpS##name)                        \
    GRIDLANE_SOLVER_HOST(SpD##name) GRIDLANE_SOLVER_HOST(SpC##name) GRIDLANE_SOLVER_HOST(SpZ##name)
#undef GRIDLANE_SOLVER_NAMES
#define GRIDLANE_SOLVER_NAMES(F) \
    F(csrcholBufferInfo) F(csrcholFactor) F(csrcholSolve) F(csrcholZeroPivot) F(csreigvsi) \
    F(csrlsvchol) F(csrlsvqr) F(csrqrBufferInfo) F(csrqrFactor) F(csrqrSetup) F(csrqrSolve) \
    F(csrqrZeroPivot)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER_FOUR_HOST_SP)
#define GRIDLANE_SOLVER_SIZED(name) GRIDLANE_SOLVER(name) GRIDLANE_SOLVER(name##_bufferSize)
#define GRIDLANE_SOLVER_FOUR_SIZED_DN(name) GRIDLANE_SOLVER_SIZED(DnS##name)                      \
    GRIDLANE_SOLVER_SIZED(DnD##name) GRIDLANE_SOLVER_SIZED(DnC##name)                             \
    GRIDLANE_SOLVER_SIZED(DnZ##name)
#undef GRIDLANE_SOLVER_NAMES
#define GRIDLANE_SOLVER_NAMES(F) \
    F(gebrd) F(geqrf) F(gesvd) F(gesvdaStridedBatched) F(gesvdj) F(gesvdjBatched) F(getrf) \
    F(lauum) F(ormqr) F(potrf) F(potri) F(syevd) F(sytrf) F(sytri)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER_FOUR_SIZED_DN)
#define GRIDLANE_SOLVER_REAL_SIZED_DN(name) GRIDLANE_SOLVER_SIZED(DnS##name)                      \
    GRIDLANE_SOLVER_SIZED(DnD##name)
#undef GRIDLANE_SOLVER_NAMES
#define GRIDLANE_SOLVER_NAMES(F) \
    F(orgbr) F(orgqr) F(orgtr) F(ormtr) F(syevdx) F(syevjBatched) F(sygvd) F(sygvdx) F(sygvj) \
    F(sytrd)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER_REAL_SIZED_DN)
#define GRIDLANE_SOLVER_COMPLEX_SIZED_DN(name) GRIDLANE_SOLVER_SIZED(DnC##name)                   \
    GRIDLANE_SOLVER_SIZED(DnZ##name)
#undef GRIDLANE_SOLVER_NAMES
#define GRIDLANE_SOLVER_NAMES(F) \
    F(heevd) F(heevdx) F(heevj) F(heevjBatched) F(hegvd) F(hegvdx) F(hegvj) F(hetrd) F(ungbr) \
    F(ungqr) F(ungtr) F(unmqr) F(unmtr)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER_COMPLEX_SIZED_DN)
GRIDLANE_SOLVER_HOST(SpCreateCsrcholInfo) GRIDLANE_SOLVER_HOST(SpCreateCsrqrInfo)
GRIDLANE_SOLVER_HOST(SpDestroyCsrcholInfo) GRIDLANE_SOLVER_HOST(SpDestroyCsrqrInfo)
GRIDLANE_SOLVER_HOST(SpXcsrcholAnalysis) GRIDLANE_SOLVER_HOST(SpXcsrqrAnalysis)
#undef GRIDLANE_SOLVER_NAMES
#define GRIDLANE_SOLVER_NAMES(F) \
    F(DnCCgels) F(DnCCgesv) F(DnCEgels) F(DnCEgesv) F(DnCKgels) F(DnCKgesv) F(DnCYgels) \
    F(DnCYgesv) F(DnDBgels) F(DnDBgesv) F(DnDDgels) F(DnDDgesv) F(DnDHgels) F(DnDHgesv) \
    F(DnDSgels) F(DnDSgesv) F(DnDXgels) F(DnDXgesv) F(DnGeqrf) F(DnGesvd) F(DnGetrf) F(DnIRSXgels) \
    F(DnIRSXgesv) F(DnPotrf) F(DnSBgels) F(DnSBgesv) F(DnSHgels) F(DnSHgesv) F(DnSSgels) \
    F(DnSSgesv) F(DnSXgels) F(DnSXgesv) F(DnSyevd) F(DnSyevdx) F(DnXgeev) F(DnXgeqrf) F(DnXgesvd) \
    F(DnXgesvdp) F(DnXgesvdr) F(DnXgetrf) F(DnXlarft) F(DnXpotrf) F(DnXsyevBatched) F(DnXsyevd) \
    F(DnXsyevdx) F(DnXsytrs) F(DnXtrtri) F(DnZCgels) F(DnZCgesv) F(DnZEgels) F(DnZEgesv) \
    F(DnZKgels) F(DnZKgesv) F(DnZYgels) F(DnZYgesv) F(DnZZgels) F(DnZZgesv) F(MgGetrf) F(MgGetrs) \
    F(MgPotrf) F(MgPotri) F(MgPotrs) F(MgSyevd)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER_SIZED)
#undef GRIDLANE_SOLVER_NAMES
#define GRIDLANE_SOLVER_NAMES(F) \
    F(DnCreate) F(DnCreateGesvdjInfo) F(DnCreateParams) F(DnCreateSyevjInfo) F(DnDestroy) \
    F(DnDestroyGesvdjInfo) F(DnDestroyParams) F(DnDestroySyevjInfo) F(DnDsyevj_bufferSize) \
    F(DnGetDeterministicMode) F(DnGetStream) F(DnGetrs) F(DnIRSInfosCreate) F(DnIRSInfosDestroy) \
    F(DnIRSInfosGetMaxIters) F(DnIRSInfosGetNiters) F(DnIRSInfosGetOuterNiters) \
    F(DnIRSInfosGetResidualHistory) F(DnIRSInfosRequestResidual) F(DnIRSParamsCreate) \
    F(DnIRSParamsDestroy) F(DnIRSParamsDisableFallback) F(DnIRSParamsEnableFallback) \
    F(DnIRSParamsGetMaxIters) F(DnIRSParamsSetMaxIters) F(DnIRSParamsSetMaxItersInner) \
    F(DnIRSParamsSetRefinementSolver) F(DnIRSParamsSetSolverLowestPrecision) \
    F(DnIRSParamsSetSolverMainPrecision) F(DnIRSParamsSetSolverPrecisions) F(DnIRSParamsSetTol) \
    F(DnIRSParamsSetTolInner) F(DnLoggerForceDisable) F(DnLoggerOpenFile) F(DnLoggerSetCallback) \
    F(DnLoggerSetFile) F(DnLoggerSetLevel) F(DnLoggerSetMask) F(DnPotrs) F(DnSetAdvOptions) \
    F(DnSetDeterministicMode) F(DnSetStream) F(DnSsyevj_bufferSize) F(DnXgesvdjGetResidual) \
    F(DnXgesvdjGetSweeps) F(DnXgesvdjSetMaxSweeps) F(DnXgesvdjSetSortEig) F(DnXgesvdjSetTolerance) \
    F(DnXgetrs) F(DnXpotrs) F(DnXsyevjGetResidual) F(DnXsyevjGetSweeps) F(DnXsyevjSetMaxSweeps) \
    F(DnXsyevjSetSortEig) F(DnXsyevjSetTolerance) F(MgCreate) F(MgCreateDeviceGrid) \
    F(MgCreateMatrixDesc) F(MgDestroy) F(MgDestroyGrid) F(MgDeviceSelect) \
    F(RfAccessBundledFactorsDevice) F(RfAnalyze) F(RfBatchAnalyze) F(RfBatchRefactor) \
    F(RfBatchResetValues) F(RfBatchSetupHost) F(RfBatchSolve) F(RfBatchZeroPivot) F(RfCreate) \
    F(RfDestroy) F(RfExtractBundledFactorsHost) F(RfExtractSplitFactorsHost) F(RfGetAlgs) \
    F(RfGetMatrixFormat) F(RfGetNumericBoostReport) F(RfGetNumericProperties) \
    F(RfGetResetValuesFastMode) F(RfRefactor) F(RfResetValues) F(RfSetAlgs) F(RfSetMatrixFormat) \
    F(RfSetNumericProperties) F(RfSetResetValuesFastMode) F(RfSetupDevice) F(RfSetupHost) \
    F(RfSolve) F(SpCreate) F(SpCreateCsrluInfoHost) F(SpDestroy) F(SpDestroyCsrluInfoHost) \
    F(SpGetStream) F(SpSetStream) F(SpXcsrissymHost) F(SpXcsrluAnalysisHost) F(SpXcsrluNnzHost) \
    F(SpXcsrmetisndHost) F(SpXcsrpermHost) F(SpXcsrperm_bufferSizeHost) F(SpXcsrqrAnalysisBatched) \
    F(SpXcsrsymamdHost) F(SpXcsrsymmdqHost) F(SpXcsrsymrcmHost)
GRIDLANE_SOLVER_NAMES(GRIDLANE_SOLVER)
#undef GRIDLANE_SOLVER_NAMES
#undef GRIDLANE_SOLVER
