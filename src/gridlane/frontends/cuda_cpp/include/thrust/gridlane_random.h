// thrust's random numbers, of both sides: engines with a state of integers, and distributions.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>

namespace thrust {
namespace random {
namespace gridlane {
// (a * x + c) mod m without a product that overflows; m of 0 is the range of the type.
template <typename U_> __host__ __device__ U_ times(U_ a, U_ x, U_ c, U_ m)
{
    if (!m)
        return (U_)(a * x + c);
    if ((uint64_t)m <= 0x100000000ull)
        return (U_)(((uint64_t)a * x % m + c) % m);
    U_ sum = c % m;
    for (; x; x /= 2) {
        if (x % 2)
            sum = sum >= m - a ? sum - (m - a) : sum + a;
        a = a >= m - a ? a - (m - a) : a + a;
    }
    return sum;
}
}  // namespace gridlane

#define GRIDLANE_ENGINE(name, T)                                                                  \
    typedef T result_type;                                                                        \
    __host__ __device__ friend bool operator!=(const name &a, const name &b) { return !(a == b); } \
    __host__ __device__ void discard(unsigned long long n)                                        \
    {                                                                                             \
        for (; n; n--)                                                                            \
            (*this)();                                                                            \
    }
template <typename U_, U_ a, U_ c, U_ m> class linear_congruential_engine {
    U_ state;

public:
    typedef U_ result_type;
    static constexpr U_ multiplier = a, increment = c, modulus = m;
    static constexpr U_ min = c == 0 ? 1 : 0, max = m - 1, default_seed = 1;
    __host__ __device__ explicit linear_congruential_engine(U_ seed = default_seed) { this->seed(seed); }
    __host__ __device__ void seed(U_ seed = default_seed)
    {
        state = m ? seed % m : seed;
        if ((m ? c % m : c) == 0 && state == 0)
            state = 1;
    }
    __host__ __device__ U_ operator()() { return state = gridlane::times(a, state, c, m); }
    // n steps are one: their factor and their summand double.
    __host__ __device__ void discard(unsigned long long n)
    {
        U_ factor = a, summand = c;
        for (; n; n /= 2) {
            if (n % 2)
                state = gridlane::times(factor, state, summand, m);
            summand = gridlane::times(factor, summand, summand, m);
            factor = gridlane::times(factor, factor, (U_)0, m);
        }
    }
    __host__ __device__ friend bool operator==(const linear_congruential_engine &x, const linear_congruential_engine &y)
    {
        return x.state == y.state;
    }
    __host__ __device__ friend bool operator!=(const linear_congruential_engine &x, const linear_congruential_engine &y)
    {
        return x.state != y.state;
    }
    friend std::ostream &operator<<(std::ostream &out, const linear_congruential_engine &x) { return out << x.state; }
};
// Tausworthe's generator: w bits, of which k are the state, with a step of s.
template <typename U_, size_t w, size_t k, size_t q, size_t s> class linear_feedback_shift_engine {
    static constexpr U_ word = (U_)(~(U_)0 >> (8 * sizeof(U_) - w));
    U_ state;

public:
    static constexpr U_ min = 0, max = word, default_seed = 341;
    GRIDLANE_ENGINE(linear_feedback_shift_engine, U_)
    __host__ __device__ explicit linear_feedback_shift_engine(U_ seed = default_seed) : state(seed) {}
    __host__ __device__ void seed(U_ seed = default_seed) { state = seed; }
    __host__ __device__ U_ operator()()
    {
        U_ low = (U_)((((state << q) & word) ^ state) & word) >> (k - s);
        U_ high = (U_)((state & (word << (w - k)) & word) << s) & word;
        return state = high ^ low;
    }
    __host__ __device__ friend bool operator==(const linear_feedback_shift_engine &x, const linear_feedback_shift_engine &y)
    {
        return x.state == y.state;
    }
};
// Differences of what came s and r steps before, with a borrow, modulo 2^w.
template <typename U_, size_t w, size_t s, size_t r> class subtract_with_carry_engine {
    static constexpr U_ word = (U_)(~(U_)0 >> (8 * sizeof(U_) - w));
    U_ last[r];
    unsigned at;
    int borrow;

public:
    static constexpr U_ min = 0, max = word, default_seed = 19780503;
    static constexpr size_t word_size = w, short_lag = s, long_lag = r;
    GRIDLANE_ENGINE(subtract_with_carry_engine, U_)
    __host__ __device__ explicit subtract_with_carry_engine(U_ seed = default_seed) { this->seed(seed); }
    __host__ __device__ void seed(U_ seed = default_seed)
    {
        linear_congruential_engine<uint64_t, 40014, 0, 2147483563> words(seed ? seed : default_seed);
        for (size_t i = 0; i < r; i++)
            last[i] = (U_)words() & word;
        at = 0;
        borrow = last[r - 1] == 0;
    }
    __host__ __device__ U_ operator()()
    {
        U_ before = last[(at + r - s) % r], taken = last[at];
        bool under = before < taken || (borrow && before == taken);
        U_ made = (U_)(before - taken - (U_)borrow) & word;
        borrow = under;
        last[at] = made;
        at = (at + 1) % r;
        return made;
    }
    __host__ __device__ friend bool operator==(const subtract_with_carry_engine &x, const subtract_with_carry_engine &y)
    {
        bool same = x.borrow == y.borrow;
        for (size_t i = 0; i < r; i++)
            same &= x.last[(x.at + i) % r] == y.last[(y.at + i) % r];
        return same;
    }
};
// The first r of each p numbers.
template <typename E_, size_t p, size_t r> class discard_block_engine {
    E_ engine;
    unsigned used;

public:
    typedef E_ base_type;
    static constexpr typename E_::result_type min = E_::min, max = E_::max;
    static constexpr size_t block_size = p, used_block = r;
    GRIDLANE_ENGINE(discard_block_engine, typename E_::result_type)
    __host__ __device__ discard_block_engine() : used(0) {}
    __host__ __device__ explicit discard_block_engine(const E_ &engine) : engine(engine), used(0) {}
    __host__ __device__ explicit discard_block_engine(result_type seed) : engine(seed), used(0) {}
    __host__ __device__ void seed()
    {
        engine.seed();
        used = 0;
    }
    __host__ __device__ void seed(result_type seed)
    {
        engine.seed(seed);
        used = 0;
    }
    __host__ __device__ result_type operator()()
    {
        if (used == r) {
            engine.discard(p - r);
            used = 0;
        }
        used++;
        return engine();
    }
    __host__ __device__ const E_ &base() const { return engine; }
    __host__ __device__ friend bool operator==(const discard_block_engine &x, const discard_block_engine &y)
    {
        return x.engine == y.engine && x.used == y.used;
    }
};
template <typename E_, size_t s, typename F_, size_t t = 0> class xor_combine_engine {
    E_ first;
    F_ second;
    using Word = std::conditional_t<(sizeof(typename F_::result_type) > sizeof(typename E_::result_type)),
                                    typename F_::result_type, typename E_::result_type>;

public:
    typedef E_ base1_type;
    typedef F_ base2_type;
    static constexpr Word min = 0, max = (Word)E_::max << s | (Word)F_::max << t;
    static constexpr size_t shift1 = s, shift2 = t;
    GRIDLANE_ENGINE(xor_combine_engine, Word)
    __host__ __device__ xor_combine_engine() {}
    __host__ __device__ xor_combine_engine(const E_ &first, const F_ &second) : first(first), second(second) {}
    __host__ __device__ explicit xor_combine_engine(result_type seed) : first(seed), second(seed) {}
    __host__ __device__ void seed()
    {
        first.seed();
        second.seed();
    }
    __host__ __device__ void seed(result_type seed)
    {
        first.seed(seed);
        second.seed(seed);
    }
    __host__ __device__ result_type operator()()
    {
        Word high = (Word)first() << s;
        return high ^ (Word)second() << t;
    }
    __host__ __device__ const E_ &base1() const { return first; }
    __host__ __device__ const F_ &base2() const { return second; }
    __host__ __device__ friend bool operator==(const xor_combine_engine &x, const xor_combine_engine &y)
    {
        return x.first == y.first && x.second == y.second;
    }
};
#undef GRIDLANE_ENGINE
typedef linear_congruential_engine<uint32_t, 16807, 0, 2147483647> minstd_rand0;
typedef linear_congruential_engine<uint32_t, 48271, 0, 2147483647> minstd_rand;
typedef subtract_with_carry_engine<uint32_t, 24, 10, 24> ranlux24_base;
typedef subtract_with_carry_engine<uint64_t, 48, 5, 12> ranlux48_base;
typedef discard_block_engine<ranlux24_base, 223, 23> ranlux24;
typedef discard_block_engine<ranlux48_base, 389, 11> ranlux48;
typedef xor_combine_engine<
    linear_feedback_shift_engine<uint32_t, 32, 31, 13, 12>, 0,
    xor_combine_engine<linear_feedback_shift_engine<uint32_t, 32, 29, 2, 4>, 0,
                       linear_feedback_shift_engine<uint32_t, 32, 28, 3, 17>, 0>, 0> taus88;
typedef minstd_rand default_random_engine;

// A distribution of two parameters, which a call may bring.
#define GRIDLANE_DISTRIBUTION(name, A_, B_, low, high)                                            \
public:                                                                                           \
    typedef T result_type;                                                                        \
    typedef std::pair<T, T> param_type;                                                           \
    __host__ __device__ explicit name(T a = A_, T b = B_) : params(a, b) {}                       \
    __host__ __device__ explicit name(const param_type &params) : params(params) {}               \
    __host__ __device__ void reset() {}                                                           \
    __host__ __device__ T low() const { return params.first; }                                    \
    __host__ __device__ T high() const { return params.second; }                                  \
    __host__ __device__ param_type param() const { return params; }                               \
    __host__ __device__ void param(const param_type &other) { params = other; }                   \
    template <typename E_> __host__ __device__ T operator()(E_ &engine) { return (*this)(engine, params); } \
    __host__ __device__ friend bool operator==(const name &x, const name &y) { return x.params == y.params; } \
    __host__ __device__ friend bool operator!=(const name &x, const name &y) { return !(x == y); } \
                                                                                                  \
private:                                                                                          \
    param_type params;
template <typename T = double> class uniform_real_distribution {
    GRIDLANE_DISTRIBUTION(uniform_real_distribution, 0, 1, a, b)

public:
    __host__ __device__ T min() const { return a(); }
    __host__ __device__ T max() const { return b(); }
    template <typename E_> __host__ __device__ T operator()(E_ &engine, const param_type &of)
    {
        T part = (T)(engine() - E_::min) / ((T)1 + (T)(E_::max - E_::min));
        return part * (of.second - of.first) + of.first;
    }
};
template <typename T = int> class uniform_int_distribution {
    GRIDLANE_DISTRIBUTION(uniform_int_distribution, 0, std::numeric_limits<T>::max(), a, b)

public:
    __host__ __device__ T min() const { return a(); }
    __host__ __device__ T max() const { return b(); }
    template <typename E_> __host__ __device__ T operator()(E_ &engine, const param_type &of)
    {
        double part = (double)(engine() - E_::min) / (1.0 + (double)(E_::max - E_::min));
        // Towards zero, as thrust has it.
        return (T)((double)of.first + part * ((double)of.second - (double)of.first + 1.0));
    }
};
// By the radius and the angle of a point (Box and Muller); each number takes two of the engine's.
template <typename T = double> class normal_distribution {
    GRIDLANE_DISTRIBUTION(normal_distribution, 0, 1, mean, stddev)

public:
    __host__ __device__ T min() const { return -std::numeric_limits<T>::infinity(); }
    __host__ __device__ T max() const { return std::numeric_limits<T>::infinity(); }
    template <typename E_> __host__ __device__ T operator()(E_ &engine, const param_type &of)
    {
        double range = 1.0 + (double)(E_::max - E_::min);
        double first = (1.0 + (double)(engine() - E_::min)) / range, second = (double)(engine() - E_::min) / range;
        double made = std::sqrt(-2 * std::log(first)) * std::cos(6.283185307179586477 * second);
        return (T)made * of.second + of.first;
    }
};
#undef GRIDLANE_DISTRIBUTION
}  // namespace random
using random::default_random_engine;
using random::discard_block_engine;
using random::linear_congruential_engine;
using random::linear_feedback_shift_engine;
using random::minstd_rand;
using random::minstd_rand0;
using random::normal_distribution;
using random::ranlux24;
using random::ranlux24_base;
using random::ranlux48;
using random::ranlux48_base;
using random::subtract_with_carry_engine;
using random::taus88;
using random::uniform_int_distribution;
using random::uniform_real_distribution;
using random::xor_combine_engine;
}  // namespace thrust
