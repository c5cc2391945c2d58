// Elements of a block beside their neighbours: differences, shifts, and runs that are written out.
#pragma once
#include "cub/block_scan.cuh"

namespace cub {

template <typename T, int X_, int Y_ = 1, int Z_ = 1, int = 0> class BlockAdjacentDifference {
    static constexpr int threads = X_ * Y_ * Z_;

public:
    struct TempStorage {
        gridlane::cell<T> first[threads], last[threads];
    };
    __device__ BlockAdjacentDifference() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockAdjacentDifference(TempStorage &storage) : storage(storage) {}

    // An element without a neighbour stays as it is, and so do those that are not valid.
    template <int N_, typename O_, typename F_>
    __device__ void SubtractLeft(T (&in)[N_], O_ (&out)[N_], F_ op)
    {
        left(in, out, op, threads * N_, false, in[0]);
    }
    template <int N_, typename O_, typename F_>
    __device__ void SubtractLeft(T (&in)[N_], O_ (&out)[N_], F_ op, T before)
    {
        left(in, out, op, threads * N_, true, before);
    }
    template <int N_, typename O_, typename F_>
    __device__ void SubtractLeftPartialTile(T (&in)[N_], O_ (&out)[N_], F_ op, int valid)
    {
        left(in, out, op, valid, false, in[0]);
    }
    template <int N_, typename O_, typename F_>
    __device__ void SubtractLeftPartialTile(T (&in)[N_], O_ (&out)[N_], F_ op, int valid, T before)
    {
        left(in, out, op, valid, true, before);
    }
    template <int N_, typename O_, typename F_>
    __device__ void SubtractRight(T (&in)[N_], O_ (&out)[N_], F_ op)
    {
        right(in, out, op, threads * N_, false, in[0]);
    }
    template <int N_, typename O_, typename F_>
    __device__ void SubtractRight(T (&in)[N_], O_ (&out)[N_], F_ op, T behind)
    {
        right(in, out, op, threads * N_, true, behind);
    }
    template <int N_, typename O_, typename F_>
    __device__ void SubtractRightPartialTile(T (&in)[N_], O_ (&out)[N_], F_ op, int valid)
    {
        right(in, out, op, valid, false, in[0]);
    }

private:
    TempStorage &storage;

    template <int N_, typename O_, typename F_>
    __device__ void left(T (&in)[N_], O_ (&out)[N_], F_ op, int valid, bool known, const T &before)
    {
        int thread = gridlane::rank();
        storage.last[thread].set(in[N_ - 1]);
        __syncthreads();
        T beside = thread ? storage.last[thread - 1].get() : before;
#pragma unroll
        for (int n = N_ - 1; n >= 0; n--) {
            bool has = thread * N_ + n < valid && (n || thread || known);
            if (has)
                out[n] = op(in[n], n ? in[n ? n - 1 : 0] : beside);
            else
                out[n] = in[n];
        }
    }
    template <int N_, typename O_, typename F_>
    __device__ void right(T (&in)[N_], O_ (&out)[N_], F_ op, int valid, bool known, const T &behind)
    {
        int thread = gridlane::rank(), last = thread == threads - 1;
        storage.first[thread].set(in[0]);
        __syncthreads();
        T beside = last ? behind : storage.first[thread + 1].get();
#pragma unroll
        for (int n = 0; n < N_; n++) {
            int place = thread * N_ + n + 1;
            bool has = place < valid || (place == threads * N_ && valid == place && known);
            if (has)
                out[n] = op(in[n], n + 1 < N_ ? in[n + 1 < N_ ? n + 1 : 0] : beside);
            else
                out[n] = in[n];
        }
    }
};

template <typename T, int X_, int Y_ = 1, int Z_ = 1, int = 0> class BlockShuffle {
    static constexpr int threads = X_ * Y_ * Z_;

public:
    struct TempStorage {
        gridlane::cell<T> each[threads];
    };
    __device__ BlockShuffle() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockShuffle(TempStorage &storage) : storage(storage) {}

    // A thread without a neighbour at the distance gets nothing.
    __device__ void Offset(T v, T &out, int distance = 1)
    {
        int from = put(v) + distance;
        if (from >= 0 && from < threads)
            out = storage.each[from].get();
    }
    __device__ void Rotate(T v, T &out, unsigned distance = 1)
    {
        out = storage.each[(put(v) + distance) % threads].get();
    }
    template <int N_> __device__ void Up(T (&in)[N_], T (&out)[N_])
    {
        int thread = put(in[N_ - 1]);
#pragma unroll
        for (int n = N_ - 1; n > 0; n--)
            out[n] = in[n - 1];
        if (thread)
            out[0] = storage.each[thread - 1].get();
    }
    template <int N_> __device__ void Up(T (&in)[N_], T (&out)[N_], T &last)
    {
        Up(in, out);
        last = storage.each[threads - 1].get();
    }
    template <int N_> __device__ void Down(T (&in)[N_], T (&out)[N_])
    {
        int thread = put(in[0]);
#pragma unroll
        for (int n = 0; n < N_ - 1; n++)
            out[n] = in[n + 1];
        if (thread < threads - 1)
            out[N_ - 1] = storage.each[thread + 1].get();
    }
    template <int N_> __device__ void Down(T (&in)[N_], T (&out)[N_], T &first)
    {
        Down(in, out);
        first = storage.each[0].get();
    }

private:
    TempStorage &storage;

    __device__ int put(const T &v)
    {
        int thread = gridlane::rank();
        storage.each[thread].set(v);
        __syncthreads();
        return thread;
    }
};

// Runs of a value, some of each thread, as elements: some of each thread at a time.
template <typename T, int X_, int R_, int N_, typename Offset = unsigned, int Y_ = 1, int Z_ = 1>
class BlockRunLengthDecode {
    static constexpr int threads = X_ * Y_ * Z_, runs = threads * R_;
    using Scan = BlockScan<Offset, X_, BLOCK_SCAN_RAKING, Y_, Z_>;

public:
    struct TempStorage {
        gridlane::cell<T> values[runs];
        Offset begins[runs];
        typename Scan::TempStorage scan;
    };
    template <typename L_, typename S_>
    __device__ BlockRunLengthDecode(TempStorage &storage, T (&values)[R_], L_ (&lengths)[R_], S_ &total)
        : storage(storage)
    {
        begin(values, lengths, total);
    }
    template <typename L_, typename S_>
    __device__ BlockRunLengthDecode(T (&values)[R_], L_ (&lengths)[R_], S_ &total)
        : storage(gridlane::own_storage<TempStorage>())
    {
        begin(values, lengths, total);
    }
    template <typename O_>
    __device__ BlockRunLengthDecode(TempStorage &storage, T (&values)[R_], O_ (&begins)[R_]) : storage(storage)
    {
        put(values, begins);
    }
    template <typename O_>
    __device__ BlockRunLengthDecode(T (&values)[R_], O_ (&begins)[R_])
        : storage(gridlane::own_storage<TempStorage>())
    {
        put(values, begins);
    }
    __device__ void RunLengthDecode(T (&items)[N_], Offset from = 0)
    {
        Offset places[N_];
        RunLengthDecode(items, places, from);
    }
    // With the place of each element in its run.
    template <typename P_> __device__ void RunLengthDecode(T (&items)[N_], P_ (&places)[N_], Offset from = 0)
    {
        for (int n = 0; n < N_; n++) {
            Offset place = from + (Offset)(gridlane::rank() * N_ + n);
            int low = 0, high = runs - 1;  // the last run that begins at the place or before it
            while (low < high) {
                int half = (low + high + 1) / 2;
                bool behind = storage.begins[half] > place;
                low = behind ? low : half;
                high = behind ? half - 1 : high;
            }
            items[n] = storage.values[low].get();
            places[n] = (P_)(place - storage.begins[low]);
        }
    }

private:
    TempStorage &storage;

    template <typename L_, typename S_>
    __device__ void begin(T (&values)[R_], L_ (&lengths)[R_], S_ &total)
    {
        Offset sizes[R_], begins[R_], all;
#pragma unroll
        for (int n = 0; n < R_; n++)
            sizes[n] = (Offset)lengths[n];
        Scan(storage.scan).ExclusiveSum(sizes, begins, all);
        total = (S_)all;
        put(values, begins);
    }
    template <typename O_> __device__ void put(T (&values)[R_], O_ (&begins)[R_])
    {
#pragma unroll
        for (int n = 0; n < R_; n++) {
            storage.values[gridlane::rank() * R_ + n].set(values[n]);
            storage.begins[gridlane::rank() * R_ + n] = (Offset)begins[n];
        }
        __syncthreads();
    }
};

}  // namespace cub
