// cub's histograms of a whole device for whole programs.
#pragma once
#include <cstdint>
#include "cub/device_program.cuh"

namespace cub {
namespace gridlane {
// The bin of a sample among bins of one width, or -1. Integers have no rounding; the sample's and the
// bounds' common type decides.
template <typename T, bool = std::is_integral<T>::value> struct even_bins {
    T lower, upper;
    int bins;
    T scale;
    __host__ __device__ even_bins(T lower, T upper, int bins)
        : lower(lower), upper(upper), bins(bins), scale((T)bins / (upper - lower))
    {
    }
    bool fits() const { return true; }
    __device__ int of(T sample) const
    {
        if (!(sample >= lower && sample < upper))
            return -1;
        int bin = (int)((sample - lower) * scale);
        return bin < bins ? bin : bins - 1;
    }
};
template <typename T> struct even_bins<T, true> {
    T lower, upper;
    int bins;
    __host__ __device__ even_bins(T lower, T upper, int bins) : lower(lower), upper(upper), bins(bins) {}
    static __host__ __device__ uint64_t apart(T low, T high) { return (uint64_t)high - (uint64_t)low; }
    bool fits() const { return bins < 1 || apart(lower, upper) <= ~(uint64_t)0 / (uint64_t)bins; }
    __device__ int of(T sample) const
    {
        if (!(sample >= lower && sample < upper))
            return -1;
        return (int)(apart(lower, sample) * (uint64_t)bins / apart(lower, upper));
    }
};
// The bin of a sample between levels that grow, or -1.
template <typename L_> struct ranged_bins {
    L_ levels;
    int bins;
    bool fits() const { return true; }
    template <typename T> __device__ int of(T sample) const
    {
        ptrdiff_t at = thrust::gridlane::upper_place(levels, (size_t)bins + 1, sample, thrust::less<>());
        return at > bins ? -1 : (int)at - 1;
    }
};
// Counts of one channel of an image whose rows are `pitch` samples apart.
template <typename I_, typename H_, typename B_>
void count_channel(I_ samples, int channels, int channel, H_ histogram, B_ bins, size_t width,
                          size_t rows, size_t pitch)
{
    using Count = value_of<H_>;
    System::each(bins.bins, [=] __device__(size_t i) { histogram[i] = 0; });
    System::each(width * rows, [=] __device__(size_t i) {
        value_of<I_> sample = samples[i / width * pitch + i % width * channels + channel];
        int bin = bins.of(sample);
        if (bin >= 0)
            atomicAdd(&histogram[bin], (Count)1);
    });
}
}  // namespace gridlane

struct DeviceHistogram {
    template <typename I_, typename C_, typename L_>
    static cudaError_t HistogramEven(void *memory, size_t &bytes, I_ samples, C_ *histogram, int levels, L_ lower,
                                     L_ upper, long long n, cudaStream_t stream = 0)
    {
        return HistogramEven(memory, bytes, samples, histogram, levels, lower, upper, n, 1LL, (size_t)0, stream);
    }
    template <typename I_, typename C_, typename L_>
    static cudaError_t HistogramEven(void *memory, size_t &bytes, I_ samples, C_ *histogram, int levels, L_ lower,
                                     L_ upper, long long width, long long rows, size_t pitch, cudaStream_t stream = 0)
    {
        C_ *histograms[] = {histogram};
        return MultiHistogramEven<1, 1>(memory, bytes, samples, histograms, &levels, &lower, &upper, width, rows,
                                        pitch, stream);
    }
    template <typename I_, typename C_, typename L_>
    static cudaError_t HistogramRange(void *memory, size_t &bytes, I_ samples, C_ *histogram, int levels,
                                      const L_ *bounds, long long n, cudaStream_t stream = 0)
    {
        return HistogramRange(memory, bytes, samples, histogram, levels, bounds, n, 1LL, (size_t)0, stream);
    }
    template <typename I_, typename C_, typename L_>
    static cudaError_t HistogramRange(void *memory, size_t &bytes, I_ samples, C_ *histogram, int levels,
                                      const L_ *bounds, long long width, long long rows, size_t pitch,
                                      cudaStream_t stream = 0)
    {
        C_ *histograms[] = {histogram};
        return MultiHistogramRange<1, 1>(memory, bytes, samples, histograms, &levels, &bounds, width, rows, pitch,
                                         stream);
    }
    // What a channel has is in arrays of the host.
    template <int channels, int active, typename I_, typename H_, typename N_, typename L_, typename U_>
    static cudaError_t MultiHistogramEven(void *memory, size_t &bytes, I_ samples, const H_ &histograms,
                                          const N_ &levels, const L_ &lower, const U_ &upper, long long n,
                                          cudaStream_t stream = 0)
    {
        return MultiHistogramEven<channels, active>(memory, bytes, samples, histograms, levels, lower, upper, n,
                                                    1LL, (size_t)0, stream);
    }
    template <int channels, int active, typename I_, typename H_, typename N_, typename L_, typename U_>
    static cudaError_t MultiHistogramEven(void *memory, size_t &bytes, I_ samples, const H_ &histograms,
                                          const N_ &levels, const L_ &lower, const U_ &upper, long long width,
                                          long long rows, size_t pitch, cudaStream_t stream = 0)
    {
        using T = std::common_type_t<gridlane::value_of<I_>, std::decay_t<decltype(lower[0])>>;
        return each_channel<channels, active>(memory, bytes, stream, samples, histograms, width, rows, pitch, [&](int c) {
            return gridlane::even_bins<T>((T)lower[c], (T)upper[c], levels[c] - 1);
        });
    }
    template <int channels, int active, typename I_, typename H_, typename N_, typename L_>
    static cudaError_t MultiHistogramRange(void *memory, size_t &bytes, I_ samples, const H_ &histograms,
                                           const N_ &levels, const L_ &bounds, long long n, cudaStream_t stream = 0)
    {
        return MultiHistogramRange<channels, active>(memory, bytes, samples, histograms, levels, bounds, n, 1LL,
                                                     (size_t)0, stream);
    }
    template <int channels, int active, typename I_, typename H_, typename N_, typename L_>
    static cudaError_t MultiHistogramRange(void *memory, size_t &bytes, I_ samples, const H_ &histograms,
                                           const N_ &levels, const L_ &bounds, long long width, long long rows,
                                           size_t pitch, cudaStream_t stream = 0)
    {
        using Levels = std::decay_t<decltype(bounds[0])>;
        return each_channel<channels, active>(memory, bytes, stream, samples, histograms, width, rows, pitch, [&](int c) {
            return gridlane::ranged_bins<Levels>{bounds[c], levels[c] - 1};
        });
    }

private:
    template <int channels, int active, typename I_, typename H_, typename B_>
    static cudaError_t each_channel(void *memory, size_t &bytes, cudaStream_t stream, I_ samples,
                                    const H_ &histograms, size_t width, size_t rows, size_t pitch, B_ bins)
    {
        for (int c = 0; c < active; c++)
            if (!bins(c).fits())
                return cudaErrorInvalidValue;
        return gridlane::in_order(memory, bytes, stream, [&] {
            for (int c = 0; c < active; c++)
                gridlane::count_channel(samples, channels, c, histograms[c], bins(c), width, rows,
                                        pitch / sizeof(gridlane::value_of<I_>));
        });
    }
};
}  // namespace cub
