// A block's elements in the order of their keys: a stable split by each bit, the lowest first.
#pragma once
#include "cub/block_exchange.cuh"
#include "cub/block_merge_sort.cuh"

namespace cub {

namespace gridlane {

template <int Bytes> struct bits_of;
template <> struct bits_of<1> { using type = unsigned char; };
template <> struct bits_of<2> { using type = unsigned short; };
template <> struct bits_of<4> { using type = unsigned; };
template <> struct bits_of<8> { using type = unsigned long long; };

// Bits whose order is that of the keys.
template <typename K_> __device__ inline typename bits_of<sizeof(K_)>::type ordered(K_ key)
{
    using word = typename bits_of<sizeof(K_)>::type;
    constexpr word top = (word)((word)1 << (sizeof(K_) * 8 - 1));
    word bits = __builtin_bit_cast(word, key);
    if constexpr (__is_integral(K_))
        return (K_)-1 < (K_)0 ? (word)(bits ^ top) : bits;
    else
        return bits & top ? (word)~bits : (word)(bits | top);
}
template <typename K_> __device__ inline K_ of_ordered(typename bits_of<sizeof(K_)>::type bits)
{
    using word = typename bits_of<sizeof(K_)>::type;
    constexpr word top = (word)((word)1 << (sizeof(K_) * 8 - 1));
    if constexpr (__is_integral(K_))
        bits = (K_)-1 < (K_)0 ? (word)(bits ^ top) : bits;
    else
        bits = bits & top ? (word)(bits ^ top) : (word)~bits;
    return __builtin_bit_cast(K_, bits);
}

}  // namespace gridlane

template <typename K_, int X_, int N_, typename V_ = NullType, int = 4, bool = true, int = 0, int = 0,
          int Y_ = 1, int Z_ = 1, int = 0>
class BlockRadixSort {
    static constexpr int threads = X_ * Y_ * Z_, warps = (threads + 31) / 32;
    static constexpr bool keys_only = __is_same(V_, NullType);
    using Bits = typename gridlane::bits_of<sizeof(K_)>::type;
    using Keys = BlockExchange<Bits, X_, N_, false, Y_, Z_>;
    using Values = BlockExchange<V_, X_, N_, false, Y_, Z_>;

public:
    struct TempStorage {
        union {
            typename Keys::TempStorage keys;
            typename Values::TempStorage values;
        };
        int zeros[warps];
    };
    __device__ BlockRadixSort() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockRadixSort(TempStorage &storage) : storage(storage) {}

#define GRIDLANE_SORT(name, descending, stripes)                                                \
    __device__ void name(K_ (&keys)[N_], int begin = 0, int end = (int)sizeof(K_) * 8)          \
    {                                                                                           \
        V_ none[N_];                                                                            \
        sort<descending, stripes>(keys, none, begin, end);                                      \
    }                                                                                           \
    __device__ void name(K_ (&keys)[N_], V_ (&values)[N_], int begin = 0,                       \
                         int end = (int)sizeof(K_) * 8)                                         \
    {                                                                                           \
        sort<descending, stripes>(keys, values, begin, end);                                    \
    }
    GRIDLANE_SORT(Sort, false, false)
    GRIDLANE_SORT(SortDescending, true, false)
    GRIDLANE_SORT(SortBlockedToStriped, false, true)
    GRIDLANE_SORT(SortDescendingBlockedToStriped, true, true)
#undef GRIDLANE_SORT

private:
    TempStorage &storage;

    template <bool Descending, bool Stripes>
    __device__ void sort(K_ (&keys)[N_], V_ (&values)[N_], int begin, int end)
    {
        Bits bits[N_];
#pragma unroll
        for (int n = 0; n < N_; n++) {
            bits[n] = gridlane::ordered(keys[n]);
            bits[n] = Descending ? (Bits)~bits[n] : bits[n];
        }
        for (int bit = begin; bit < end; bit++) {
            int ranks[N_];
            split(bits, bit, ranks);
            move(bits, ranks, storage.keys);
            if constexpr (!keys_only)
                move(values, ranks, storage.values);
        }
        if constexpr (Stripes) {
            Keys(storage.keys).BlockedToStriped(bits);
            __syncthreads();
            if constexpr (!keys_only) {
                Values(storage.values).BlockedToStriped(values);
                __syncthreads();
            }
        }
#pragma unroll
        for (int n = 0; n < N_; n++)
            keys[n] = gridlane::of_ordered<K_>(Descending ? (Bits)~bits[n] : bits[n]);
    }
    template <typename T, typename S_> __device__ void move(T (&items)[N_], int (&ranks)[N_], S_ &place)
    {
        BlockExchange<T, X_, N_, false, Y_, Z_>(place).ScatterToBlocked(items, ranks);
        __syncthreads();
    }
    // Those with a zero come first.
    __device__ void split(const Bits (&bits)[N_], int bit, int (&ranks)[N_])
    {
        int thread = gridlane::rank(), warp = thread / 32, lane = thread % 32, own = 0;
        unsigned mask = threads - warp * 32 >= 32 ? 0xffffffffu : (1u << (threads & 31)) - 1;
#pragma unroll
        for (int n = 0; n < N_; n++)
            own += !(bits[n] >> bit & 1);
        int upto = own;
#pragma unroll
        for (int by = 1; by < 32; by *= 2) {
            int other = __shfl_up_sync(mask, upto, by);
            upto += lane >= by ? other : 0;
        }
        if (lane == 31 || thread == threads - 1)
            storage.zeros[warp] = upto;
        __syncthreads();
        int before = upto - own, all = 0;
        for (int n = 0; n < warps; n++) {
            before += n < warp ? storage.zeros[n] : 0;
            all += storage.zeros[n];
        }
#pragma unroll
        for (int n = 0; n < N_; n++) {
            bool one = bits[n] >> bit & 1;
            ranks[n] = one ? all + thread * N_ + n - before : before;
            before += !one;
        }
        __syncthreads();
    }
};

}  // namespace cub
