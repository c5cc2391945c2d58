// Copies of cuda::memcpy_async. They are done when the call returns.
#pragma once

namespace cuda {

// A number of bytes, a multiple of an alignment.
template <size_t Alignment> struct aligned_size_t {
    size_t value;
    __host__ __device__ constexpr explicit aligned_size_t(size_t value) : value(value) {}
    __host__ __device__ constexpr operator size_t() const { return value; }
    static constexpr size_t align = Alignment;
};

namespace gridlane {

// The share of a thread of several: element by element, and of void byte by byte.
template <typename T>
__device__ inline void copy(T *to, const T *from, size_t bytes, size_t rank, size_t threads)
{
    if constexpr (__is_void(T)) {
        for (size_t n = rank; n < bytes; n += threads)
            ((char *)to)[n] = ((const char *)from)[n];
    } else {
        for (size_t n = rank; n < bytes / sizeof(T); n += threads)
            to[n] = from[n];
    }
}

}  // namespace gridlane
}  // namespace cuda
