// Loads and stores with a cache hint, fences, and questions about addresses.
#pragma once

// Hints have no result, and neither order nor visibility depends on them.
template <typename T> GRIDLANE_DEVICE T __ldg(const T *p) { return *p; }
template <typename T> GRIDLANE_DEVICE T __ldca(const T *p) { return *p; }
template <typename T> GRIDLANE_DEVICE T __ldcg(const T *p) { return *p; }
template <typename T> GRIDLANE_DEVICE T __ldcs(const T *p) { return *p; }
template <typename T> GRIDLANE_DEVICE T __ldlu(const T *p) { return *p; }
template <typename T> GRIDLANE_DEVICE T __ldcv(const T *p) { return *(const volatile T *)p; }
template <typename T> GRIDLANE_DEVICE void __stwb(T *p, T v) { *p = v; }
template <typename T> GRIDLANE_DEVICE void __stcg(T *p, T v) { *p = v; }
template <typename T> GRIDLANE_DEVICE void __stcs(T *p, T v) { *p = v; }
template <typename T> GRIDLANE_DEVICE void __stwt(T *p, T v) { *p = v; }

GRIDLANE_DEVICE void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
GRIDLANE_DEVICE void __threadfence() { asm volatile("membar.gl;" ::: "memory"); }
GRIDLANE_DEVICE void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }

GRIDLANE_DEVICE bool __isGlobal(const void *p) { return __nvvm_isspacep_global(p); }
GRIDLANE_DEVICE bool __isShared(const void *p) { return __nvvm_isspacep_shared(p); }
GRIDLANE_DEVICE bool __isConstant(const void *p) { return __nvvm_isspacep_const(p); }
GRIDLANE_DEVICE bool __isLocal(const void *p) { return __nvvm_isspacep_local(p); }
#define GRIDLANE_SPACE(name, number)                                                       \
    GRIDLANE_DEVICE size_t __cvta_generic_to_##name(const void *p)                         \
    {                                                                                      \
        return (size_t)(const __attribute__((address_space(number))) void *)p;             \
    }                                                                                      \
    GRIDLANE_DEVICE void *__cvta_##name##_to_generic(size_t p)                             \
    {                                                                                      \
        return (void *)(__attribute__((address_space(number))) void *)p;                   \
    }
GRIDLANE_SPACE(global, 1)
GRIDLANE_SPACE(shared, 3)
GRIDLANE_SPACE(constant, 4)
GRIDLANE_SPACE(local, 5)
#undef GRIDLANE_SPACE
