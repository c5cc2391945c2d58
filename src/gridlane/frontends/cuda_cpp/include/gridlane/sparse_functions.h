// The functions of cuSPARSE, by their names: those of types, and those with functions of buffers.
#pragma once

#define GRIDLANE_SPARSE(name) GRIDLANE_ANY(cusparseStatus_t, cusparse##name)
#define GRIDLANE_SPARSE_FOUR(name) GRIDLANE_SPARSE(S##name) GRIDLANE_SPARSE(D##name)              \
    GRIDLANE_SPARSE(C##name) GRIDLANE_SPARSE(Z##name)
#define GRIDLANE_SPARSE_NAMES(F) \
    F(axpyi) F(bsr2csr) F(bsric02) F(bsrilu02) F(bsrilu02_numericBoost) F(bsrmm) F(bsrmv) \
    F(bsrsm2_analysis) F(bsrsm2_bufferSize) F(bsrsm2_bufferSizeExt) F(bsrsm2_solve) \
    F(bsrsv2_analysis) F(bsrsv2_bufferSize) F(bsrsv2_bufferSizeExt) F(bsrsv2_solve) F(bsrxmv) \
    F(csc2dense) F(csc2hyb) F(csr2bsr) F(csr2csc) F(csr2csr_compress) F(csr2csru) F(csr2dense) \
    F(csr2gebsr_bufferSize) F(csr2hyb) F(csrcolor) F(csrgeam) F(csrgemm) F(csric0) F(csric02) \
    F(csrilu0) F(csrilu02) F(csrilu02_numericBoost) F(csrmm) F(csrmm2) F(csrmv) F(csrmv_mp) \
    F(csrsm2_analysis) F(csrsm2_bufferSizeExt) F(csrsm2_solve) F(csrsm_analysis) F(csrsm_solve) \
    F(csrsv2_analysis) F(csrsv2_bufferSize) F(csrsv2_bufferSizeExt) F(csrsv2_solve) \
    F(csrsv_analysis) F(csrsv_solve) F(dense2csc) F(dense2csr) F(dense2hyb) F(doti) F(gebsr2csr) \
    F(gebsr2gebsc_bufferSize) F(gebsr2gebsr_bufferSize) F(gemmi) F(gthr) F(gthrz) F(gtsv) \
    F(gtsvStridedBatch) F(gtsv_nopivot) F(hyb2csc) F(hyb2csr) F(hyb2dense) F(hybmv) \
    F(hybsv_analysis) F(hybsv_solve) F(nnz) F(nnz_compress) F(sctr)
GRIDLANE_SPARSE_NAMES(GRIDLANE_SPARSE_FOUR)
#define GRIDLANE_SPARSE_SIZED(name) GRIDLANE_SPARSE(name) GRIDLANE_SPARSE(name##_bufferSizeExt)
#define GRIDLANE_SPARSE_FOUR_SIZED(name) GRIDLANE_SPARSE_SIZED(S##name)                           \
    GRIDLANE_SPARSE_SIZED(D##name) GRIDLANE_SPARSE_SIZED(C##name) GRIDLANE_SPARSE_SIZED(Z##name)
#undef GRIDLANE_SPARSE_NAMES
#define GRIDLANE_SPARSE_NAMES(F) \
    F(csr2gebsr) F(csrgeam2) F(csrgemm2) F(csru2csr) F(gebsr2gebsc) F(gebsr2gebsr) \
    F(gpsvInterleavedBatch) F(gtsv2) F(gtsv2StridedBatch) F(gtsv2_nopivot) F(gtsvInterleavedBatch)
GRIDLANE_SPARSE_NAMES(GRIDLANE_SPARSE_FOUR_SIZED)
#define GRIDLANE_SPARSE_STEPS(name) GRIDLANE_SPARSE(name##_analysis)                              \
    GRIDLANE_SPARSE(name##_bufferSize) GRIDLANE_SPARSE(name##_bufferSizeExt)
#define GRIDLANE_SPARSE_FOUR_STEPS(name) GRIDLANE_SPARSE_STEPS(S##name)                           \
    GRIDLANE_SPARSE_STEPS(D##name) GRIDLANE_SPARSE_STEPS(C##name) GRIDLANE_SPARSE_STEPS(Z##name)
GRIDLANE_SPARSE_FOUR_STEPS(bsric02) GRIDLANE_SPARSE_FOUR_STEPS(bsrilu02)
GRIDLANE_SPARSE_FOUR_STEPS(csric02) GRIDLANE_SPARSE_FOUR_STEPS(csrilu02)
#define GRIDLANE_SPARSE_REAL(name) GRIDLANE_SPARSE(S##name) GRIDLANE_SPARSE(D##name)
GRIDLANE_SPARSE_REAL(pruneCsr2csrNnz) GRIDLANE_SPARSE_REAL(pruneCsr2csrNnzByPercentage)
GRIDLANE_SPARSE_REAL(pruneDense2csrNnz) GRIDLANE_SPARSE_REAL(pruneDense2csrNnzByPercentage)
GRIDLANE_SPARSE_REAL(roti)
#define GRIDLANE_SPARSE_REAL_SIZED(name) GRIDLANE_SPARSE_SIZED(S##name)                           \
    GRIDLANE_SPARSE_SIZED(D##name)
GRIDLANE_SPARSE_REAL_SIZED(pruneCsr2csr) GRIDLANE_SPARSE_REAL_SIZED(pruneCsr2csrByPercentage)
GRIDLANE_SPARSE_REAL_SIZED(pruneDense2csr) GRIDLANE_SPARSE_REAL_SIZED(pruneDense2csrByPercentage)
#define GRIDLANE_SPARSE_PAIR(name) GRIDLANE_SPARSE(name) GRIDLANE_SPARSE(name##_bufferSize)
GRIDLANE_SPARSE_PAIR(Cgemvi) GRIDLANE_SPARSE_PAIR(ConstrainedGeMM) GRIDLANE_SPARSE_PAIR(Csr2cscEx2)
GRIDLANE_SPARSE_PAIR(CsrmvEx) GRIDLANE_SPARSE_PAIR(Dgemvi) GRIDLANE_SPARSE_PAIR(SDDMM)
GRIDLANE_SPARSE_PAIR(Sgemvi) GRIDLANE_SPARSE_PAIR(SpMM) GRIDLANE_SPARSE_PAIR(SpMV)
GRIDLANE_SPARSE_PAIR(SpVV) GRIDLANE_SPARSE_PAIR(SparseToDense) GRIDLANE_SPARSE_PAIR(Zgemvi)
GRIDLANE_SPARSE_SIZED(HpruneCsr2csr) GRIDLANE_SPARSE_SIZED(HpruneCsr2csrByPercentage)
GRIDLANE_SPARSE_SIZED(HpruneDense2csr) GRIDLANE_SPARSE_SIZED(HpruneDense2csrByPercentage)
GRIDLANE_SPARSE_SIZED(Xcscsort) GRIDLANE_SPARSE_SIZED(Xcsrsort)
#undef GRIDLANE_SPARSE_NAMES
#define GRIDLANE_SPARSE_NAMES(F) \
    F(Axpby) F(BlockedEllGet) F(BsrSetStridedBatch) F(Cdotci) F(ConstBlockedEllGet) F(ConstCooGet) \
    F(ConstCscGet) F(ConstCsrGet) F(ConstDnMatGet) F(ConstDnMatGetValues) F(ConstDnVecGet) \
    F(ConstDnVecGetValues) F(ConstSpMatGetValues) F(ConstSpVecGet) F(ConstSpVecGetValues) \
    F(CooAoSGet) F(CooGet) F(CooSetPointers) F(CooSetStridedBatch) F(CopyMatDescr) F(Create) \
    F(CreateBlockedEll) F(CreateBsr) F(CreateBsric02Info) F(CreateBsrilu02Info) \
    F(CreateBsrsm2Info) F(CreateBsrsv2Info) F(CreateColorInfo) F(CreateConstBlockedEll) \
    F(CreateConstBsr) F(CreateConstCoo) F(CreateConstCsc) F(CreateConstCsr) F(CreateConstDnMat) \
    F(CreateConstDnVec) F(CreateConstSlicedEll) F(CreateConstSpVec) F(CreateCoo) F(CreateCooAoS) \
    F(CreateCsc) F(CreateCsr) F(CreateCsrgemm2Info) F(CreateCsric02Info) F(CreateCsrilu02Info) \
    F(CreateCsrsm2Info) F(CreateCsrsv2Info) F(CreateCsru2csrInfo) F(CreateDnMat) F(CreateDnVec) \
    F(CreateHybMat) F(CreateIdentityPermutation) F(CreateMatDescr) F(CreatePruneInfo) \
    F(CreateSlicedEll) F(CreateSolveAnalysisInfo) F(CreateSpVec) F(CscGet) F(CscSetPointers) \
    F(Csr2cscEx) F(CsrGet) F(CsrSetPointers) F(CsrSetStridedBatch) F(Csrilu0Ex) \
    F(Csrsv_analysisEx) F(Csrsv_solveEx) F(DenseToSparse_analysis) F(DenseToSparse_bufferSize) \
    F(DenseToSparse_convert) F(Destroy) F(DestroyBsric02Info) F(DestroyBsrilu02Info) \
    F(DestroyBsrsm2Info) F(DestroyBsrsv2Info) F(DestroyColorInfo) F(DestroyCsrgemm2Info) \
    F(DestroyCsric02Info) F(DestroyCsrilu02Info) F(DestroyCsrsm2Info) F(DestroyCsrsv2Info) \
    F(DestroyCsru2csrInfo) F(DestroyDnMat) F(DestroyDnVec) F(DestroyHybMat) F(DestroyMatDescr) \
    F(DestroyPruneInfo) F(DestroySolveAnalysisInfo) F(DestroySpMat) F(DestroySpVec) F(DnMatGet) \
    F(DnMatGetStridedBatch) F(DnMatGetValues) F(DnMatSetStridedBatch) F(DnMatSetValues) \
    F(DnVecGet) F(DnVecGetValues) F(DnVecSetValues) F(Gather) F(GetLevelInfo) F(GetMatDiagType) \
    F(GetMatFillMode) F(GetMatIndexBase) F(GetMatType) F(GetPointerMode) F(GetStream) \
    F(GetVersion) F(HpruneCsr2csrNnz) F(HpruneCsr2csrNnzByPercentage) F(HpruneDense2csrNnz) \
    F(HpruneDense2csrNnzByPercentage) F(LoggerForceDisable) F(LoggerOpenFile) F(LoggerSetCallback) \
    F(LoggerSetFile) F(LoggerSetLevel) F(LoggerSetMask) F(Rot) F(SDDMM_preprocess) F(Scatter) \
    F(SetMatDiagType) F(SetMatFillMode) F(SetMatIndexBase) F(SetMatType) F(SetPointerMode) \
    F(SetStream) F(SpGEMM_compute) F(SpGEMM_copy) F(SpGEMM_createDescr) F(SpGEMM_destroyDescr) \
    F(SpGEMM_estimateMemory) F(SpGEMM_getNumProducts) F(SpGEMM_workEstimation) \
    F(SpGEMMreuse_compute) F(SpGEMMreuse_copy) F(SpGEMMreuse_nnz) F(SpGEMMreuse_workEstimation) \
    F(SpMMOp) F(SpMMOp_createPlan) F(SpMMOp_destroyPlan) F(SpMM_preprocess) F(SpMV_preprocess) \
    F(SpMatGetAttribute) F(SpMatGetFormat) F(SpMatGetIndexBase) F(SpMatGetNumBatches) \
    F(SpMatGetSize) F(SpMatGetStridedBatch) F(SpMatGetValues) F(SpMatSetAttribute) \
    F(SpMatSetNumBatches) F(SpMatSetStridedBatch) F(SpMatSetValues) F(SpSM_analysis) \
    F(SpSM_bufferSize) F(SpSM_createDescr) F(SpSM_destroyDescr) F(SpSM_solve) F(SpSM_updateMatrix) \
    F(SpSV_analysis) F(SpSV_bufferSize) F(SpSV_createDescr) F(SpSV_destroyDescr) F(SpSV_solve) \
    F(SpSV_updateMatrix) F(SpVecGet) F(SpVecGetIndexBase) F(SpVecGetValues) F(SpVecSetValues) \
    F(Xbsric02_zeroPivot) F(Xbsrilu02_zeroPivot) F(Xbsrsm2_zeroPivot) F(Xbsrsv2_zeroPivot) \
    F(Xcoo2csr) F(XcoosortByColumn) F(XcoosortByRow) F(Xcoosort_bufferSizeExt) F(Xcsr2bsrNnz) \
    F(Xcsr2coo) F(Xcsr2gebsrNnz) F(Xcsrgeam2Nnz) F(XcsrgeamNnz) F(Xcsrgemm2Nnz) F(XcsrgemmNnz) \
    F(Xcsric02_zeroPivot) F(Xcsrilu02_zeroPivot) F(Xcsrsm2_zeroPivot) F(Xcsrsv2_zeroPivot) \
    F(Xgebsr2csr) F(Xgebsr2gebsrNnz) F(Zdotci)
GRIDLANE_SPARSE_NAMES(GRIDLANE_SPARSE)
#undef GRIDLANE_SPARSE_NAMES
#undef GRIDLANE_SPARSE
