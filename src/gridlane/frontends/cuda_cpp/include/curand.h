// cuRAND for the host, as declarations; curand_kernel.h is for kernels.
#pragma once
#define CURAND_H_
#include "gridlane/libraries.h"

struct curandGenerator_st;
typedef curandGenerator_st *curandGenerator_t;
enum curandStatus {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED,
    CURAND_STATUS_ALLOCATION_FAILED,
    CURAND_STATUS_TYPE_ERROR,
    CURAND_STATUS_OUT_OF_RANGE,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE,
    CURAND_STATUS_DOUBLE_PRECISION_REQUIRED,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_PREEXISTING_FAILURE,
    CURAND_STATUS_INITIALIZATION_FAILED,
    CURAND_STATUS_ARCH_MISMATCH,
    CURAND_STATUS_INTERNAL_ERROR = 999,
};
typedef curandStatus curandStatus_t;
GRIDLANE_REFUSAL(curandStatus, CURAND_STATUS_INITIALIZATION_FAILED)
enum curandRngType {
    CURAND_RNG_PSEUDO_DEFAULT = 100,
    CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MTGP32 = 141,
    CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
    CURAND_RNG_QUASI_DEFAULT = 200,
    CURAND_RNG_QUASI_SOBOL32 = 201,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL32,
    CURAND_RNG_QUASI_SOBOL64,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL64,
};
typedef curandRngType curandRngType_t;
enum curandOrdering {
    CURAND_ORDERING_PSEUDO_BEST = 100,
    CURAND_ORDERING_PSEUDO_DEFAULT,
    CURAND_ORDERING_PSEUDO_SEEDED,
    CURAND_ORDERING_PSEUDO_LEGACY,
    CURAND_ORDERING_PSEUDO_DYNAMIC,
    CURAND_ORDERING_QUASI_DEFAULT = 201,
};
typedef curandOrdering curandOrdering_t;
enum curandDirectionVectorSet {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6,
};
typedef curandDirectionVectorSet curandDirectionVectorSet_t;
#define GRIDLANE_RANDOM(name) GRIDLANE_ANY(curandStatus_t, curand##name)
#define GRIDLANE_NAMES(F) \
    F(CreateGenerator) F(CreateGeneratorHost) F(CreatePoissonDistribution) F(DestroyDistribution) \
    F(DestroyGenerator) F(Generate) F(GenerateLogNormal) F(GenerateLogNormalDouble) \
    F(GenerateLongLong) F(GenerateNormal) F(GenerateNormalDouble) F(GeneratePoisson) \
    F(GenerateSeeds) F(GenerateUniform) F(GenerateUniformDouble) F(GetDirectionVectors32) \
    F(GetDirectionVectors64) F(GetProperty) F(GetScrambleConstants32) F(GetScrambleConstants64) \
    F(GetVersion) F(MakeMTGP32Constants) F(MakeMTGP32KernelState) F(SetGeneratorOffset) \
    F(SetGeneratorOrdering) F(SetPseudoRandomGeneratorSeed) F(SetQuasiRandomGeneratorDimensions) \
    F(SetStream)
GRIDLANE_NAMES(GRIDLANE_RANDOM)
#undef GRIDLANE_NAMES
#undef GRIDLANE_RANDOM
