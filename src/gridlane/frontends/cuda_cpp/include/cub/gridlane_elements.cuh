// cub's algorithms that visit elements by themselves, or with a neighbour, for whole programs.
#pragma once
#include "cub/device_program.cuh"

namespace cub {
namespace gridlane {
// An iterator whose elements are references of the language.
template <typename I_> I_ plain(I_ in) { return in; }
template <typename T> T *plain(thrust::device_ptr<T> in) { return in.get(); }
// How many threads share the work of one range of a batch.
constexpr size_t SHARES = 32;
template <typename I_, typename O_, typename S_> struct copy_ranges {
    I_ in;
    O_ out;
    S_ sizes;
    __device__ void operator()(size_t i) const
    {
        size_t range = i / SHARES, size = sizes[range];
        auto from = in[range];
        auto to = out[range];
        for (size_t n = i % SHARES; n < size; n += SHARES)
            to[n] = from[n];
    }
};
template <typename I_> struct as_bytes {
    I_ in;
    __device__ char *operator[](size_t n) const { return (char *)(void *)in[n]; }
};
template <typename I_> struct as_given_bytes {
    I_ in;
    __device__ const char *operator[](size_t n) const { return (const char *)(const void *)in[n]; }
};
}  // namespace gridlane

// Each is here with temporary memory and without.
#define GRIDLANE_EITHER(name, templates, parameters, arguments, ...)                                \
    template <GRIDLANE_LIST templates>                                                            \
    static cudaError_t name(GRIDLANE_LIST parameters, cudaStream_t stream = 0)                    \
    {                                                                                             \
        return gridlane::now(stream, [&] { __VA_ARGS__; });                                       \
    }                                                                                             \
    template <GRIDLANE_LIST templates>                                                            \
    static cudaError_t name(void *memory, size_t &bytes, GRIDLANE_LIST parameters, cudaStream_t stream = 0) \
    {                                                                                             \
        if (memory)                                                                               \
            return name(GRIDLANE_LIST arguments, stream);                                         \
        bytes = 1;                                                                                \
        return cudaSuccess;                                                                       \
    }
#define GRIDLANE_LIST(...) __VA_ARGS__
struct DeviceFor {
    GRIDLANE_EITHER(Bulk, (typename N_, typename F_), (N_ n, F_ f), (n, f),
                  gridlane::System::each((size_t)n, [=] __device__(size_t i) mutable { f((N_)i); }))
    GRIDLANE_EITHER(ForEach, (typename I_, typename F_), (I_ first, I_ last, F_ f), (first, last, f),
                  visit(gridlane::plain(first), last - first, f))
    GRIDLANE_EITHER(ForEachN, (typename I_, typename N_, typename F_), (I_ first, N_ n, F_ f), (first, n, f),
                  visit(gridlane::plain(first), n, f))
    GRIDLANE_EITHER(ForEachCopy, (typename I_, typename F_), (I_ first, I_ last, F_ f), (first, last, f),
                  visit_copies(first, last - first, f))
    GRIDLANE_EITHER(ForEachCopyN, (typename I_, typename N_, typename F_), (I_ first, N_ n, F_ f), (first, n, f),
                  visit_copies(first, n, f))

private:
    template <typename I_, typename F_> static void visit(I_ in, size_t n, F_ f)
    {
        gridlane::System::each(n, [=] __device__(size_t i) mutable { f(in[i]); });
    }
    template <typename I_, typename F_> static void visit_copies(I_ in, size_t n, F_ f)
    {
        gridlane::System::each(n, [=] __device__(size_t i) mutable { f((gridlane::value_of<I_>)in[i]); });
    }
};
#undef GRIDLANE_EITHER
#undef GRIDLANE_LIST

struct DeviceTransform {
    template <typename... I_, typename O_, typename N_, typename F_>
    static cudaError_t Transform(std::tuple<I_...> in, O_ out, N_ n, F_ f, cudaStream_t stream = 0)
    {
        return spread(in, out, (size_t)n, f, stream, std::index_sequence_for<I_...>());
    }
    template <typename I_, typename O_, typename N_, typename F_>
    static cudaError_t Transform(I_ in, O_ out, N_ n, F_ f, cudaStream_t stream = 0)
    {
        return Transform(std::make_tuple(in), out, n, f, stream);
    }
    template <typename I_, typename O_, typename N_, typename F_>
    static cudaError_t TransformStableArgumentAddresses(I_ in, O_ out, N_ n, F_ f, cudaStream_t stream = 0)
    {
        return Transform(in, out, n, f, stream);
    }

private:
    template <typename... I_, typename O_, typename F_, size_t... each>
    static cudaError_t spread(std::tuple<I_...> in, O_ out, size_t n, F_ f, cudaStream_t stream,
                              std::index_sequence<each...>)
    {
        auto plain = std::make_tuple(gridlane::plain(std::get<each>(in))...);
        return gridlane::now(stream, [&] {
            gridlane::System::each(n, [=] __device__(size_t i) mutable {
                out[i] = f(std::get<each>(plain)[i]...);
            });
        });
    }
};

// An element and the one on its left or right; the one that has none stays as it is.
#define GRIDLANE_SUBTRACT(name, edge, neighbour)                                                  \
    template <typename I_, typename O_, typename F_ = thrust::minus<>>                            \
    static cudaError_t name##Copy(void *memory, size_t &bytes, I_ in, O_ out, long long n, F_ f = F_(), \
                                  cudaStream_t stream = 0)                                        \
    {                                                                                             \
        using T = gridlane::value_of<I_>;                                                         \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::System::each(n, [=] __device__(size_t i) mutable {                          \
                if (i == (size_t)(edge))                                                          \
                    out[i] = (T)in[i];                                                            \
                else                                                                              \
                    out[i] = f((T)in[i], (T)in[neighbour]);                                       \
            });                                                                                   \
        });                                                                                       \
    }                                                                                             \
    template <typename I_, typename F_ = thrust::minus<>>                                         \
    static cudaError_t name(void *memory, size_t &bytes, I_ both, long long n, F_ f = F_(),       \
                            cudaStream_t stream = 0)                                              \
    {                                                                                             \
        using T = gridlane::value_of<I_>;                                                         \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::scratch<gridlane::System, T> copies(n);                                     \
            T *given = copies.p;                                                                  \
            gridlane::System::each(n, [=] __device__(size_t i) { new (given + i) T(both[i]); });  \
            gridlane::System::each(n, [=] __device__(size_t i) mutable {                          \
                if (i != (size_t)(edge))                                                          \
                    both[i] = f(given[i], given[neighbour]);                                      \
            });                                                                                   \
        });                                                                                       \
    }
struct DeviceAdjacentDifference {
    GRIDLANE_SUBTRACT(SubtractLeft, 0, i - 1)
    GRIDLANE_SUBTRACT(SubtractRight, n - 1, i + 1)
};
#undef GRIDLANE_SUBTRACT

struct DeviceCopy {
    template <typename I_, typename O_, typename S_>
    static cudaError_t Batched(void *memory, size_t &bytes, I_ in, O_ out, S_ sizes, long long ranges,
                               cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::System::each(ranges * gridlane::SHARES, gridlane::copy_ranges<I_, O_, S_>{in, out, sizes});
        });
    }
};
struct DeviceMemcpy {
    template <typename I_, typename O_, typename S_>
    static cudaError_t Batched(void *memory, size_t &bytes, I_ in, O_ out, S_ sizes, long long ranges,
                               cudaStream_t stream = 0)
    {
        return DeviceCopy::Batched(memory, bytes, gridlane::as_given_bytes<I_>{in}, gridlane::as_bytes<O_>{out},
                                   sizes, ranges, stream);
    }
};
// A sparse matrix by rows, times a vector.
struct DeviceSpmv {
    template <typename T>
    static cudaError_t CsrMV(void *memory, size_t &bytes, const T *values, const int *rows, const int *columns,
                             const T *x, T *y, int height, int, int, cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::System::each(height, [=] __device__(size_t row) {
                T sum = T();
                for (int i = rows[row]; i < rows[row + 1]; i++)
                    sum += values[i] * x[columns[i]];
                y[row] = sum;
            });
        });
    }
};
}  // namespace cub
