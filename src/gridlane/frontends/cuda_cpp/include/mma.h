// Products of matrices by a warp, nvcuda::wmma, by PTX's wmma instructions.
#pragma once
#define __CUDA_MMA_H__
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}

// The registers of a matrix are the words of x. Use, the shape of the product, the elements' type.
template <typename Use, int M_, int N_, int K_, typename T, typename Layout = void> class fragment;

namespace gridlane {

template <typename T, int Count> struct elements {
    typedef T element_type, storage_element_type;
    enum { num_elements = Count, num_storage_elements = Count };
    T x[Count];
};
template <typename W_, int Count> struct words {
    W_ w[Count];
    words() = default;
    template <typename F_> __device__ explicit words(const F_ &f)
    {
        static_assert(sizeof(f.x) == sizeof(w), "a register is a word");
        __builtin_memcpy(w, f.x, sizeof(w));
    }
    template <typename F_> __device__ void write(F_ &f) const { __builtin_memcpy(f.x, w, sizeof(w)); }
};

}  // namespace gridlane

// The operands of an asm statement: names for the text, then the registers.
#define GRIDLANE_T1(n) "{%[" n "0]}"
#define GRIDLANE_T2(n) "{%[" n "0],%[" n "1]}"
#define GRIDLANE_T4(n) "{%[" n "0],%[" n "1],%[" n "2],%[" n "3]}"
#define GRIDLANE_T8(n) \
    "{%[" n "0],%[" n "1],%[" n "2],%[" n "3],%[" n "4],%[" n "5],%[" n "6],%[" n "7]}"
#define GRIDLANE_R1(n, c, v) [n##0] c((v).w[0])
#define GRIDLANE_R2(n, c, v) GRIDLANE_R1(n, c, v), [n##1] c((v).w[1])
#define GRIDLANE_R4(n, c, v) GRIDLANE_R2(n, c, v), [n##2] c((v).w[2]), [n##3] c((v).w[3])
#define GRIDLANE_R8(n, c, v)                                                       \
    GRIDLANE_R4(n, c, v), [n##4] c((v).w[4]), [n##5] c((v).w[5]), [n##6] c((v).w[6]), \
        [n##7] c((v).w[7])

// --- factors

#define GRIDLANE_LOAD_FACTOR(Use, letter, M, N, K, T, E, W, c, count, layout, form)              \
    GRIDLANE_DEVICE void load_matrix_sync(fragment<Use, M, N, K, T, layout##_major> &f,          \
                                          const E *p, unsigned stride)                           \
    {                                                                                            \
        gridlane::words<W, count> made;                                                          \
        asm volatile("wmma.load." letter ".sync.aligned." #layout ".m" #M "n" #N "k" #K "." form \
                     " " GRIDLANE_T##count("d") ", [%[p]], %[s];"                                \
                     : GRIDLANE_R##count(d, "=" c, made) : [p] "l"(p), [s] "r"(stride)           \
                     : "memory");                                                                \
        made.write(f);                                                                           \
    }
#define GRIDLANE_FACTOR(Use, letter, M, N, K, T, E, W, c, count, form)                           \
    template <typename Layout> class fragment<Use, M, N, K, T, Layout>                           \
        : public gridlane::elements<E, sizeof(W) * count / sizeof(E)> {};                        \
    GRIDLANE_LOAD_FACTOR(Use, letter, M, N, K, T, E, W, c, count, row, form)                     \
    GRIDLANE_LOAD_FACTOR(Use, letter, M, N, K, T, E, W, c, count, col, form)
#define GRIDLANE_FACTORS(M, N, K, T, E, W, c, of_a, of_b, form)                                  \
    GRIDLANE_FACTOR(matrix_a, "a", M, N, K, T, E, W, c, of_a, form)                              \
    GRIDLANE_FACTOR(matrix_b, "b", M, N, K, T, E, W, c, of_b, form)

// --- sums

#define GRIDLANE_SUMS_AT(M, N, K, T, W, c, count, form, layout)                                   \
    if (order == mem_##layout##_major)                                                            \
        asm volatile("wmma.load.c.sync.aligned." #layout ".m" #M "n" #N "k" #K "." form           \
                     " " GRIDLANE_T##count("d") ", [%[p]], %[s];"                                 \
                     : GRIDLANE_R##count(d, "=" c, made) : [p] "l"(p), [s] "r"(stride) : "memory");
#define GRIDLANE_STORE_AT(M, N, K, T, W, c, count, form, layout)                                  \
    if (order == mem_##layout##_major)                                                            \
        asm volatile("wmma.store.d.sync.aligned." #layout ".m" #M "n" #N "k" #K "." form          \
                     " [%[p]], " GRIDLANE_T##count("a") ", %[s];"                                 \
                     ::GRIDLANE_R##count(a, c, given), [p] "l"(p), [s] "r"(stride) : "memory");
#define GRIDLANE_SUMS(M, N, K, T, W, c, count, form)                                              \
    template <> class fragment<accumulator, M, N, K, T, void>                                     \
        : public gridlane::elements<T, sizeof(W) * count / sizeof(T)> {};                         \
    GRIDLANE_DEVICE void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *p,       \
                                          unsigned stride, layout_t order)                        \
    {                                                                                             \
        gridlane::words<W, count> made;                                                           \
        GRIDLANE_SUMS_AT(M, N, K, T, W, c, count, form, row)                                      \
        GRIDLANE_SUMS_AT(M, N, K, T, W, c, count, form, col)                                      \
        made.write(f);                                                                            \
    }                                                                                             \
    GRIDLANE_DEVICE void store_matrix_sync(T *p, const fragment<accumulator, M, N, K, T> &f,      \
                                           unsigned stride, layout_t order)                       \
    {                                                                                             \
        gridlane::words<W, count> given(f);                                                       \
        GRIDLANE_STORE_AT(M, N, K, T, W, c, count, form, row)                                     \
        GRIDLANE_STORE_AT(M, N, K, T, W, c, count, form, col)                                     \
    }

// --- products

#define GRIDLANE_PRODUCT(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, la, lb, form)             \
    GRIDLANE_DEVICE void mma_sync(fragment<accumulator, M, N, K, D> &d,                           \
                                  const fragment<matrix_a, M, N, K, T, la##_major> &a,            \
                                  const fragment<matrix_b, M, N, K, T, lb##_major> &b,            \
                                  const fragment<accumulator, M, N, K, D> &c0)                    \
    {                                                                                             \
        gridlane::words<W, of_a> first(a);                                                        \
        gridlane::words<W, of_b> second(b);                                                       \
        gridlane::words<V, count> sums(c0), made;                                                 \
        asm volatile("wmma.mma.sync.aligned." #la "." #lb ".m" #M "n" #N "k" #K "." form          \
                     " " GRIDLANE_T##count("d") ", " GRIDLANE_T##of_a("a") ", "                   \
                     GRIDLANE_T##of_b("b") ", " GRIDLANE_T##count("z") ";"                        \
                     : GRIDLANE_R##count(d, "=" cd, made)                                         \
                     : GRIDLANE_R##of_a(a, c, first), GRIDLANE_R##of_b(b, c, second),             \
                       GRIDLANE_R##count(z, cd, sums));                                           \
        made.write(d);                                                                            \
    }
#define GRIDLANE_PRODUCTS(...)                                                                    \
    GRIDLANE_EACH_LAYOUT(GRIDLANE_PRODUCT, __VA_ARGS__)
#define GRIDLANE_EACH_LAYOUT(made, M, N, K, T, D, W, c, of_a, of_b, V, cd, count, form)           \
    made(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, row, row, form)                           \
    made(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, row, col, form)                           \
    made(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, col, row, form)                           \
    made(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, col, col, form)

// Sums of integers wrap, or saturate if the last argument says so.
#define GRIDLANE_INTEGERS(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, form)                    \
    GRIDLANE_PRODUCTS(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, form)                        \
    GRIDLANE_EACH_LAYOUT(GRIDLANE_LIMITED, M, N, K, T, D, W, c, of_a, of_b, V, cd, count, form)
#define GRIDLANE_LIMITED(M, N, K, T, D, W, c, of_a, of_b, V, cd, count, la, lb, form)             \
    GRIDLANE_DEVICE void mma_sync(fragment<accumulator, M, N, K, D> &d,                           \
                                  const fragment<matrix_a, M, N, K, T, la##_major> &a,            \
                                  const fragment<matrix_b, M, N, K, T, lb##_major> &b,            \
                                  const fragment<accumulator, M, N, K, D> &c0, bool limited)      \
    {                                                                                             \
        if (!limited)                                                                             \
            return mma_sync(d, a, b, c0);                                                         \
        gridlane::words<W, of_a> first(a);                                                        \
        gridlane::words<W, of_b> second(b);                                                       \
        gridlane::words<V, count> sums(c0), made;                                                 \
        asm volatile("wmma.mma.sync.aligned." #la "." #lb ".m" #M "n" #N "k" #K "." form          \
                     ".satfinite " GRIDLANE_T##count("d") ", " GRIDLANE_T##of_a("a") ", "         \
                     GRIDLANE_T##of_b("b") ", " GRIDLANE_T##count("z") ";"                        \
                     : GRIDLANE_R##count(d, "=" cd, made)                                         \
                     : GRIDLANE_R##of_a(a, c, first), GRIDLANE_R##of_b(b, c, second),             \
                       GRIDLANE_R##count(z, cd, sums));                                           \
        made.write(d);                                                                            \
    }

// --- the shapes: words of the first factor, of the second

#define GRIDLANE_SHAPE(M, N, K, of_a, of_b, small_a, small_b)                                     \
    GRIDLANE_FACTORS(M, N, K, __half, __half, unsigned, "r", 8, 8, "f16")                         \
    GRIDLANE_FACTORS(M, N, K, __nv_bfloat16, __nv_bfloat16, unsigned, "r", of_a, of_b, "bf16")    \
    GRIDLANE_FACTORS(M, N, K, signed char, signed char, unsigned, "r", small_a, small_b, "s8")    \
    GRIDLANE_FACTORS(M, N, K, unsigned char, unsigned char, unsigned, "r", small_a, small_b, "u8")\
    GRIDLANE_SUMS(M, N, K, __half, unsigned, "r", 4, "f16")                                       \
    GRIDLANE_SUMS(M, N, K, float, float, "f", 8, "f32")                                           \
    GRIDLANE_SUMS(M, N, K, int, int, "r", 8, "s32")                                               \
    GRIDLANE_PRODUCTS(M, N, K, __half, __half, unsigned, "r", 8, 8, unsigned, "r", 4, "f16.f16")  \
    GRIDLANE_PRODUCTS(M, N, K, __half, float, unsigned, "r", 8, 8, float, "f", 8, "f32.f32")      \
    GRIDLANE_PRODUCTS(M, N, K, __nv_bfloat16, float, unsigned, "r", of_a, of_b, float, "f", 8,    \
                      "f32.bf16.bf16.f32")                                                        \
    GRIDLANE_INTEGERS(M, N, K, signed char, int, unsigned, "r", small_a, small_b, int, "r", 8,    \
                      "s32.s8.s8.s32")                                                            \
    GRIDLANE_INTEGERS(M, N, K, unsigned char, int, unsigned, "r", small_a, small_b, int, "r", 8,  \
                      "s32.u8.u8.s32")
GRIDLANE_SHAPE(16, 16, 16, 4, 4, 2, 2)
GRIDLANE_SHAPE(32, 8, 16, 8, 2, 4, 1)
GRIDLANE_SHAPE(8, 32, 16, 2, 8, 1, 4)
GRIDLANE_FACTORS(16, 16, 8, precision::tf32, float, unsigned, "r", 4, 4, "tf32")
GRIDLANE_SUMS(16, 16, 8, float, float, "f", 8, "f32")
GRIDLANE_PRODUCTS(16, 16, 8, precision::tf32, float, unsigned, "r", 4, 4, float, "f", 8,
                  "f32.tf32.tf32.f32")
GRIDLANE_FACTORS(8, 8, 4, double, double, double, "d", 1, 1, "f64")
GRIDLANE_SUMS(8, 8, 4, double, double, "d", 2, "f64")
GRIDLANE_PRODUCTS(8, 8, 4, double, double, double, "d", 1, 1, double, "d", 2, "f64.f64.f64.f64")
#undef GRIDLANE_SHAPE
#undef GRIDLANE_LIMITED
#undef GRIDLANE_INTEGERS
#undef GRIDLANE_EACH_LAYOUT
#undef GRIDLANE_PRODUCTS
#undef GRIDLANE_PRODUCT
#undef GRIDLANE_SUMS
#undef GRIDLANE_STORE_AT
#undef GRIDLANE_SUMS_AT
#undef GRIDLANE_FACTORS
#undef GRIDLANE_FACTOR
#undef GRIDLANE_LOAD_FACTOR

template <typename Use, int M_, int N_, int K_, typename T, typename L_, typename V_>
GRIDLANE_DEVICE void fill_fragment(fragment<Use, M_, N_, K_, T, L_> &f, const V_ &value)
{
#pragma unroll
    for (int n = 0; n < f.num_elements; n++)
        f.x[n] = value;
}

GRIDLANE_DEVICE float __float_to_tf32(float x)
{
    unsigned made;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(made) : "f"(x));
    return __builtin_bit_cast(float, made);
}

}  // namespace wmma
}  // namespace nvcuda
