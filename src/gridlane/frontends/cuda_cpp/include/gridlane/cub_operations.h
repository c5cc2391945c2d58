// The operators of cub.
#pragma once

namespace cub {

struct Sum {
    template <typename T> __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
struct Max {
    template <typename T> __device__ T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
struct Min {
    template <typename T> __device__ T operator()(const T &a, const T &b) const
    {
        return b < a ? b : a;
    }
};

struct Equality {
    template <typename T> __device__ bool operator()(const T &a, const T &b) const { return a == b; }
};
struct Inequality {
    template <typename T> __device__ bool operator()(const T &a, const T &b) const { return a != b; }
};
template <typename To = void> struct CastOp {
    template <typename T> __device__ To operator()(const T &a) const { return (To)a; }
};

template <typename Key, typename Value> struct KeyValuePair {
    typedef Key KeyType;
    typedef Value ValueType;
    Key key;
    Value value;
};
struct ArgMax {
    template <typename P_> __device__ P_ operator()(const P_ &a, const P_ &b) const
    {
        return b.value > a.value || (b.value == a.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <typename P_> __device__ P_ operator()(const P_ &a, const P_ &b) const
    {
        return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a;
    }
};

namespace gridlane {

GRIDLANE_DEVICE int rank()
{
    return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

template <typename T, typename F_> GRIDLANE_DEVICE T by_words(const T &value, F_ exchange)
{
    constexpr int count = (sizeof(T) + 3) / 4;
    struct Words { unsigned word[count]; } words = {};
    __builtin_memcpy(&words, &value, sizeof(T));
#pragma unroll
    for (int n = 0; n < count; n++)
        words.word[n] = exchange(words.word[n]);
    T made;
    __builtin_memcpy(&made, &words, sizeof(T));
    return made;
}
template <typename T> GRIDLANE_DEVICE T up(unsigned mask, const T &v, unsigned by, int width)
{
    return by_words(v, [=](unsigned word) { return __shfl_up_sync(mask, word, by, width); });
}
template <typename T> GRIDLANE_DEVICE T down(unsigned mask, const T &v, unsigned by, int width)
{
    return by_words(v, [=](unsigned word) { return __shfl_down_sync(mask, word, by, width); });
}
template <typename T> GRIDLANE_DEVICE T at(unsigned mask, const T &v, int lane, int width)
{
    return by_words(v, [=](unsigned word) { return __shfl_sync(mask, word, lane, width); });
}
template <typename T> __device__ T &&any();
// Shared memory of a part that is made without any, one for each type.
template <typename S_> __device__ inline S_ &own_storage()
{
    __shared__ S_ storage;
    return storage;
}
// An element in shared memory, which has no constructor.
template <typename T> struct cell {
    alignas(T) unsigned char bytes[sizeof(T)];
    __device__ void set(const T &v) { __builtin_memcpy(bytes, &v, sizeof(T)); }
    __device__ T get() const
    {
        T v;
        __builtin_memcpy(&v, bytes, sizeof(T));
        return v;
    }
};
// Operators of two values, and callbacks, which get a block's total.
template <typename F_, typename T>
using operates = decltype(any<F_ &>()(any<const T &>(), any<const T &>()));
template <typename P_, typename T> using prefixes = decltype(any<P_ &>()(any<T>()));
// The lanes of a warp's part; a width that is no power of two is the first lanes of a warp.
template <int Width> GRIDLANE_DEVICE unsigned lanes()
{
    constexpr unsigned all = Width == 32 ? 0xffffffffu : (1u << (Width & 31)) - 1;
    return (Width & (Width - 1)) ? all : all << (__nvvm_read_ptx_sreg_laneid() & ~(Width - 1));
}

}  // namespace gridlane
}  // namespace cub
