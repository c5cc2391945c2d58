// thrust's algorithms for whole programs. Those that visit each element by itself have a thread for
// each; folds, scans and sorts work on chunks; what depends on all elements before runs in one thread.
#pragma once
#ifdef GRIDLANE_PROGRAM
#include "thrust/gridlane_iterators.h"

namespace thrust {

namespace gridlane {

// Memory of a system for a while.
template <typename S_, typename T> struct scratch {
    T *p;
    explicit scratch(size_t count) : p((T *)S_::allocate(count * sizeof(T))) {}
    scratch(const scratch &) = delete;
    ~scratch() { S_::release(p); }
    T read(size_t place) const
    {
        alignas(T) char made[sizeof(T)];
        S_::read(made, p + place, sizeof(T));
        return *(T *)made;
    }
};
// A function's result in one thread.
template <typename S_, typename F_> auto once(F_ f)
{
    using R_ = decltype(f());
    scratch<S_, R_> made(1);
    R_ *to = made.p;
    S_::each(1, [=] __host__ __device__(size_t) mutable { new (to) R_(f()); });
    return made.read(0);
}
struct at_once {
    template <typename T> __host__ __device__ const T &operator()(const T &v) const { return v; }
};
struct same {
    template <typename A_, typename B_> __host__ __device__ bool operator()(const A_ &a, const B_ &b) const
    {
        return a == b;
    }
};
struct lower {
    template <typename A_, typename B_> __host__ __device__ bool operator()(const A_ &a, const B_ &b) const
    {
        return a < b;
    }
};
constexpr size_t CHUNKS = 256;

template <typename S_, typename I_, typename T, typename F_>
T fold(I_ in, size_t count, T first, F_ f)
{
    if (!count)
        return first;
    const size_t chunks = count < CHUNKS ? count : CHUNKS;
    scratch<S_, T> parts(chunks);
    T *p = parts.p;
    S_::each(chunks, [=] __host__ __device__(size_t c) mutable {
        size_t at = count * c / chunks, end = count * (c + 1) / chunks;
        T sum = (T)in[at];
        for (at++; at < end; at++)
            sum = f(sum, (T)in[at]);
        new (p + c) T(sum);
    });
    return once<S_>([=] __host__ __device__() mutable {
        T sum = first;
        for (size_t c = 0; c < chunks; c++)
            sum = f(sum, p[c]);
        return sum;
    });
}
// A scan that begins with a number, or, if it has none, with the first element.
template <typename T, typename S_, typename I_, typename O_, typename F_>
O_ scan(I_ in, size_t count, O_ out, F_ f, bool exclusive, bool begins, T first)
{
    if (!count)
        return out;
    const size_t chunks = count < CHUNKS ? count : CHUNKS;
    scratch<S_, T> parts(chunks);
    T *p = parts.p;
    S_::each(chunks, [=] __host__ __device__(size_t c) mutable {
        size_t at = count * c / chunks, end = count * (c + 1) / chunks;
        T sum = (T)in[at];
        for (at++; at < end; at++)
            sum = f(sum, (T)in[at]);
        new (p + c) T(sum);
    });
    S_::each(1, [=] __host__ __device__(size_t) mutable {
        T sum = begins ? f(first, p[0]) : p[0];
        for (size_t c = 0; c < chunks; c++) {
            T next = c + 1 < chunks ? f(sum, p[c + 1]) : sum;
            p[c] = sum;
            sum = next;
        }
    });
    S_::each(chunks, [=] __host__ __device__(size_t c) mutable {
        size_t at = count * c / chunks, end = count * (c + 1) / chunks;
        bool has = c > 0 || begins;
        T sum = c ? p[c - 1] : first;
        for (; at < end; at++) {
            T value = (T)in[at], next = has ? f(sum, value) : value;
            out[at] = exclusive ? sum : next;
            sum = next, has = true;
        }
    });
    return out + count;
}
// A stable sort of keys, and of values beside them, by merges of runs that double.
template <typename S_, typename K_, typename V_, typename F_>
void sort(K_ keys, size_t count, V_ values, bool has_values, F_ before)
{
    using Key = value_of<K_>;
    using Value = value_of<V_>;
    scratch<S_, Key> other_keys(count);
    scratch<S_, Value> other_values(has_values ? count : 0);
    Key *k = other_keys.p;
    Value *v = other_values.p;
    constexpr size_t RUN = 32;
    S_::each((count + RUN - 1) / RUN, [=] __host__ __device__(size_t r) mutable {
        size_t start = r * RUN, end = start + RUN < count ? start + RUN : count;
        for (size_t i = start + 1; i < end; i++) {
            Key key = keys[i];
            size_t to = i;
            for (; to > start && before(key, (Key)keys[to - 1]); to--)
                keys[to] = (Key)keys[to - 1];
            keys[to] = key;
            if (has_values) {
                Value value = values[i];
                for (size_t j = i; j > to; j--)
                    values[j] = (Value)values[j - 1];
                values[to] = value;
            }
        }
    });
    for (size_t width = RUN; width < count; width *= 2) {
        S_::each((count + 2 * width - 1) / (2 * width), [=] __host__ __device__(size_t pair) mutable {
            size_t a = 2 * width * pair, middle = a + width < count ? a + width : count;
            size_t b = middle, end = middle + width < count ? middle + width : count;
            for (size_t to = a; to < end; to++) {
                bool second = a == middle || (b < end && before((Key)keys[b], (Key)keys[a]));
                size_t from = second ? b++ : a++;
                new (k + to) Key(keys[from]);
                if (has_values)
                    new (v + to) Value(values[from]);
            }
        });
        S_::each(count, [=] __host__ __device__(size_t i) {
            keys[i] = k[i];
            if (has_values)
                values[i] = v[i];
        });
    }
}
// The elements that a test keeps, in front; with `rest`, the others behind them, the last one first. The
// test sees each element once, before any is written.
template <typename S_, typename I_, typename O_, typename F_>
ptrdiff_t kept(I_ in, size_t count, O_ out, bool rest, F_ test)
{
    using T = value_of<I_>;
    const size_t chunks = count < CHUNKS ? count : CHUNKS;
    scratch<S_, T> elements(count);
    scratch<S_, bool> tests(count);
    scratch<S_, size_t> counts(chunks + 1);
    T *e = elements.p;
    bool *flag = tests.p;
    size_t *part = counts.p;
    S_::each(chunks, [=] __host__ __device__(size_t c) mutable {
        size_t sum = 0, end = count * (c + 1) / chunks;
        for (size_t i = count * c / chunks; i < end; i++) {
            new (e + i) T(in[i]);
            flag[i] = (bool)test(i, e[i]);
            sum += flag[i];
        }
        part[c + 1] = sum;
    });
    S_::each(1, [=] __host__ __device__(size_t) {
        part[0] = 0;
        for (size_t c = 0; c < chunks; c++)
            part[c + 1] += part[c];
    });
    S_::each(chunks, [=] __host__ __device__(size_t c) mutable {
        size_t to = part[c], end = count * (c + 1) / chunks;
        for (size_t i = count * c / chunks; i < end; i++) {
            if (flag[i])
                out[to++] = e[i];
            else if (rest)
                out[count - 1 - (i - to)] = e[i];
        }
    });
    return counts.read(chunks);
}
}  // namespace gridlane

// Each algorithm has a form with a policy and one without; the body has the system as S_.
#define GRIDLANE_ALGORITHM(templates, name, parameters, arguments, types, ...)                    \
    namespace gridlane {                                                                          \
    template <typename S_, GRIDLANE_LIST templates> auto do_##name(GRIDLANE_LIST parameters)      \
    __VA_ARGS__                                                                                   \
    }                                                                                             \
    template <GRIDLANE_LIST templates,                                                            \
              typename = std::enable_if_t<!gridlane::is_policy<std::decay_t<First_>>::value>>     \
    auto name(GRIDLANE_LIST parameters)                                                           \
    {                                                                                             \
        return gridlane::do_##name<gridlane::chosen<GRIDLANE_LIST types>>(GRIDLANE_LIST arguments); \
    }                                                                                             \
    template <typename System_, GRIDLANE_LIST templates>                                          \
    auto name(const gridlane_policy<System_> &, GRIDLANE_LIST parameters)                         \
    {                                                                                             \
        return gridlane::do_##name<System_>(GRIDLANE_LIST arguments);                             \
    }
#define GRIDLANE_LIST(...) __VA_ARGS__
#define GRIDLANE_1(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_), name, parameters, arguments, (First_), __VA_ARGS__)
#define GRIDLANE_2(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_, typename B_), name, parameters, arguments, (First_, B_), __VA_ARGS__)
#define GRIDLANE_3(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_, typename B_, typename C_), name, parameters, arguments,  \
                       (First_, B_, C_), __VA_ARGS__)
#define GRIDLANE_4(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_, typename B_, typename C_, typename D_), name, parameters, \
                       arguments, (First_, B_, C_, D_), __VA_ARGS__)
#define GRIDLANE_5(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_, typename B_, typename C_, typename D_, typename E_), name, \
                       parameters, arguments, (First_, B_, C_, D_, E_), __VA_ARGS__)
#define GRIDLANE_EACH(count, statement) \
    S_::each(count, [=] __host__ __device__(size_t i) mutable { statement; })

// --- each element by itself

GRIDLANE_2(for_each, (First_ a, First_ b, B_ f), (a, b, f),
           { GRIDLANE_EACH(b - a, decltype(auto) e = plain(a[i]); f(e)); return b; })
GRIDLANE_3(for_each_n, (First_ a, B_ n, C_ f), (a, n, f),
           { GRIDLANE_EACH((size_t)n, decltype(auto) e = plain(a[i]); f(e)); return a + n; })
GRIDLANE_2(fill, (First_ a, First_ b, const B_ &value), (a, b, value),
           { B_ v = value; GRIDLANE_EACH(b - a, a[i] = v); })
GRIDLANE_3(fill_n, (First_ a, B_ n, const C_ &value), (a, n, value),
           { C_ v = value; GRIDLANE_EACH((size_t)n, a[i] = v); return a + n; })
GRIDLANE_2(uninitialized_fill, (First_ a, First_ b, const B_ &value), (a, b, value),
           { B_ v = value; GRIDLANE_EACH(b - a, a[i] = v); })
GRIDLANE_1(sequence, (First_ a, First_ b), (a, b),
           { GRIDLANE_EACH(b - a, a[i] = (value_of<First_>)i); })
GRIDLANE_2(sequence, (First_ a, First_ b, B_ start), (a, b, start),
           { GRIDLANE_EACH(b - a, a[i] = (value_of<First_>)(start + (B_)i)); })
GRIDLANE_3(sequence, (First_ a, First_ b, B_ start, C_ step), (a, b, start, step),
           { GRIDLANE_EACH(b - a, a[i] = (value_of<First_>)(start + (B_)i * step)); })
GRIDLANE_2(tabulate, (First_ a, First_ b, B_ f), (a, b, f),
           { GRIDLANE_EACH(b - a, a[i] = f((ptrdiff_t)i)); })
GRIDLANE_2(generate, (First_ a, First_ b, B_ f), (a, b, f),
           { size_t n = b - a; S_::each(1, [=] __host__ __device__(size_t) mutable {
                 for (size_t i = 0; i < n; i++) a[i] = f(); }); })
// A function may leave an element unread, which may then be outside of all memory.
GRIDLANE_3(transform, (First_ a, First_ b, B_ out, C_ f), (a, b, out, f),
           { GRIDLANE_EACH(b - a, decltype(auto) e = plain(a[i]); out[i] = f(e)); return out + (b - a); })
GRIDLANE_4(transform, (First_ a, First_ b, B_ c, C_ out, D_ f), (a, b, c, out, f),
           { GRIDLANE_EACH(b - a, decltype(auto) e = plain(a[i]); decltype(auto) other = plain(c[i]); out[i] = f(e, other)); return out + (b - a); })
GRIDLANE_4(transform_if, (First_ a, First_ b, B_ out, C_ f, D_ test), (a, b, out, f, test),
           { GRIDLANE_EACH(b - a, if (test((value_of<First_>)a[i])) out[i] = f((value_of<First_>)a[i])); return out + (b - a); })
GRIDLANE_3(gather, (First_ a, First_ b, B_ in, C_ out), (a, b, in, out),
           { GRIDLANE_EACH(b - a, out[i] = (value_of<B_>)in[(value_of<First_>)a[i]]); return out + (b - a); })
GRIDLANE_3(scatter, (First_ a, First_ b, B_ map, C_ out), (a, b, map, out),
           { GRIDLANE_EACH(b - a, out[(value_of<B_>)map[i]] = (value_of<First_>)a[i]); })
GRIDLANE_4(scatter_if, (First_ a, First_ b, B_ map, C_ test, D_ out), (a, b, map, test, out),
           { GRIDLANE_EACH(b - a, if (test[i]) out[(value_of<B_>)map[i]] = (value_of<First_>)a[i]); })
GRIDLANE_3(replace, (First_ a, First_ b, const B_ &old, const C_ &value), (a, b, old, value),
           { B_ was = old; C_ v = value; GRIDLANE_EACH(b - a, if ((value_of<First_>)a[i] == was) a[i] = v); })
GRIDLANE_3(replace_if, (First_ a, First_ b, B_ test, const C_ &value), (a, b, test, value),
           { C_ v = value; GRIDLANE_EACH(b - a, if (test((value_of<First_>)a[i])) a[i] = v); })
GRIDLANE_1(reverse, (First_ a, First_ b), (a, b),
           { size_t n = b - a; GRIDLANE_EACH(n / 2, value_of<First_> v = a[i]; a[i] = (value_of<First_>)a[n - 1 - i]; a[n - 1 - i] = v); })
GRIDLANE_2(adjacent_difference, (First_ a, First_ b, B_ out), (a, b, out),
           { GRIDLANE_EACH(b - a, out[i] = i ? (value_of<First_>)a[i] - (value_of<First_>)a[i - 1] : (value_of<First_>)a[i]); return out + (b - a); })

// Copies also go between the host and the device.
namespace gridlane {
template <typename I_> struct is_plain : std::is_pointer<I_> {};
template <typename T> struct is_plain<device_ptr<T>> : std::true_type {};
template <typename T, typename A_> struct is_plain<__gnu_cxx::__normal_iterator<T, A_>> : std::true_type {};
template <typename S_, typename I_, typename O_> O_ copied_places(I_ in, size_t n, O_ out)
{
    if constexpr (std::is_same<typename both<typename system_of<I_>::type, anywhere>::type,
                               typename both<typename system_of<O_>::type, anywhere>::type>::value ||
                  std::is_same<typename system_of<I_>::type, anywhere>::value ||
                  std::is_pointer<I_>::value || std::is_pointer<O_>::value) {
        if constexpr (std::is_pointer<I_>::value != std::is_pointer<O_>::value &&
                      is_plain<I_>::value && is_plain<O_>::value &&
                      std::is_same<value_of<I_>, value_of<O_>>::value) {
            if (n)
                must(cudaMemcpy(raw_pointer_cast(&out[0]), raw_pointer_cast(&in[0]),
                                n * sizeof(value_of<I_>), cudaMemcpyDefault));
        } else {
            S_::each(n, [=] __host__ __device__(size_t i) { out[i] = (value_of<I_>)in[i]; });
        }
    } else if constexpr (std::is_same<typename system_of<I_>::type, on_device>::value) {
        scratch<on_device, value_of<I_>> dense(n);
        value_of<I_> *p = dense.p;
        on_device::each(n, [=] __device__(size_t i) { new (p + i) value_of<I_>(in[i]); });
        std::vector<value_of<I_>> made(n);
        if (n)
            on_device::read(made.data(), p, n * sizeof(value_of<I_>));
        for (size_t i = 0; i < n; i++)
            out[i] = made[i];
    } else {
        std::vector<value_of<O_>> made(in, in + n);
        if (n) {
            scratch<on_device, value_of<O_>> dense(n);
            must(cudaMemcpy(dense.p, made.data(), n * sizeof(value_of<O_>), cudaMemcpyHostToDevice));
            value_of<O_> *p = dense.p;
            on_device::each(n, [=] __device__(size_t i) { out[i] = p[i]; });
        }
    }
    return out + n;
}
template <typename I_> using is_random = std::is_base_of<std::random_access_iterator_tag,
                                                         typename std::iterator_traits<I_>::iterator_category>;
template <typename S_, typename I_, typename O_> O_ copied(I_ in, size_t n, O_ out)
{
    if constexpr (!is_random<I_>::value) {  // a list of the host
        std::vector<value_of<I_>> made;
        for (size_t i = 0; i < n; i++)
            made.push_back(*in++);
        return copied<S_>(made.begin(), n, out);
    } else if constexpr (!is_random<O_>::value) {  // a stream, or what inserts
        std::vector<value_of<I_>> made(n);
        copied_places<S_>(in, n, made.begin());
        for (size_t i = 0; i < n; i++)
            *out++ = made[i];
        return out;
    } else {
        return copied_places<S_>(in, n, out);
    }
}
}  // namespace gridlane
GRIDLANE_2(copy, (First_ a, First_ b, B_ out), (a, b, out), { return copied<S_>(a, std::distance(a, b), out); })
namespace gridlane {
template <typename I_, typename O_> void copy_between(I_ first, I_ last, O_ out) { thrust::copy(first, last, out); }
}  // namespace gridlane
GRIDLANE_3(copy_n, (First_ a, B_ n, C_ out), (a, n, out), { return copied<S_>(a, (size_t)n, out); })
GRIDLANE_2(uninitialized_copy, (First_ a, First_ b, B_ out), (a, b, out), { return copied<S_>(a, std::distance(a, b), out); })

// --- folds and scans

GRIDLANE_1(reduce, (First_ a, First_ b), (a, b),
           { return fold<S_>(a, b - a, value_of<First_>(), plus<value_of<First_>>()); })
GRIDLANE_2(reduce, (First_ a, First_ b, B_ first), (a, b, first),
           { return fold<S_>(a, b - a, first, plus<B_>()); })
GRIDLANE_3(reduce, (First_ a, First_ b, B_ first, C_ f), (a, b, first, f),
           { return fold<S_>(a, b - a, first, f); })
GRIDLANE_4(transform_reduce, (First_ a, First_ b, B_ g, C_ first, D_ f), (a, b, g, first, f),
           { return fold<S_>(transform_iterator<B_, First_>(a, g), b - a, first, f); })
GRIDLANE_3(inner_product, (First_ a, First_ b, B_ c, C_ first), (a, b, c, first),
           { return once<S_>([=, n = (size_t)(b - a)] __host__ __device__() mutable { C_ sum = first;
                 for (size_t i = 0; i < n; i++) sum = sum + (value_of<First_>)a[i] * (value_of<B_>)c[i]; return sum; }); })
GRIDLANE_5(inner_product, (First_ a, First_ b, B_ c, C_ first, D_ f, E_ g), (a, b, c, first, f, g),
           { return once<S_>([=, n = (size_t)(b - a)] __host__ __device__() mutable { C_ sum = first;
                 for (size_t i = 0; i < n; i++) sum = f(sum, g((value_of<First_>)a[i], (value_of<B_>)c[i])); return sum; }); })
GRIDLANE_2(count, (First_ a, First_ b, const B_ &value), (a, b, value),
           { B_ v = value; return fold<S_>(make_transform_iterator(a, [=] __host__ __device__(const value_of<First_> &e) { return (ptrdiff_t)(e == v); }), b - a, (ptrdiff_t)0, plus<ptrdiff_t>()); })
GRIDLANE_2(count_if, (First_ a, First_ b, B_ test), (a, b, test),
           { return fold<S_>(make_transform_iterator(a, [=] __host__ __device__(const value_of<First_> &e) mutable { return (ptrdiff_t)(test(e) ? 1 : 0); }), b - a, (ptrdiff_t)0, plus<ptrdiff_t>()); })
GRIDLANE_2(inclusive_scan, (First_ a, First_ b, B_ out), (a, b, out),
           { return scan<value_of<First_>, S_>(a, b - a, out, plus<value_of<First_>>(), false, false, value_of<First_>()); })
GRIDLANE_3(inclusive_scan, (First_ a, First_ b, B_ out, C_ f), (a, b, out, f),
           { return scan<value_of<First_>, S_>(a, b - a, out, f, false, false, value_of<First_>()); })
GRIDLANE_2(exclusive_scan, (First_ a, First_ b, B_ out), (a, b, out),
           { return scan<value_of<First_>, S_>(a, b - a, out, plus<value_of<First_>>(), true, true, value_of<First_>()); })
GRIDLANE_3(exclusive_scan, (First_ a, First_ b, B_ out, C_ first), (a, b, out, first),
           { return scan<C_, S_>(a, b - a, out, plus<C_>(), true, true, first); })
GRIDLANE_4(exclusive_scan, (First_ a, First_ b, B_ out, C_ first, D_ f), (a, b, out, first, f),
           { return scan<C_, S_>(a, b - a, out, f, true, true, first); })
GRIDLANE_4(transform_inclusive_scan, (First_ a, First_ b, B_ out, C_ g, D_ f), (a, b, out, g, f),
           { auto in = make_transform_iterator(a, g); using T = value_of<decltype(in)>; return scan<T, S_>(in, b - a, out, f, false, false, T()); })

// --- sorts

GRIDLANE_1(sort, (First_ a, First_ b), (a, b), { sort<S_>(a, b - a, a, false, lower()); })
GRIDLANE_2(sort, (First_ a, First_ b, B_ f), (a, b, f), { sort<S_>(a, b - a, a, false, f); })
GRIDLANE_1(stable_sort, (First_ a, First_ b), (a, b), { sort<S_>(a, b - a, a, false, lower()); })
GRIDLANE_2(stable_sort, (First_ a, First_ b, B_ f), (a, b, f), { sort<S_>(a, b - a, a, false, f); })
GRIDLANE_2(sort_by_key, (First_ a, First_ b, B_ v), (a, b, v), { sort<S_>(a, b - a, v, true, lower()); })
GRIDLANE_3(sort_by_key, (First_ a, First_ b, B_ v, C_ f), (a, b, v, f), { sort<S_>(a, b - a, v, true, f); })
GRIDLANE_2(stable_sort_by_key, (First_ a, First_ b, B_ v), (a, b, v), { sort<S_>(a, b - a, v, true, lower()); })
GRIDLANE_3(stable_sort_by_key, (First_ a, First_ b, B_ v, C_ f), (a, b, v, f), { sort<S_>(a, b - a, v, true, f); })

// --- in one thread

#define GRIDLANE_ONCE(...) once<S_>([=, n = (size_t)(b - a)] __host__ __device__() mutable { __VA_ARGS__ })
#define GRIDLANE_KEEP(what, condition)                                                            \
    { return what + kept<S_>(a, b - a, what, false, [=] __host__ __device__(                      \
          size_t i, const value_of<First_> &e) mutable { (void)i; return (bool)(condition); }); }
#define GRIDLANE_FIND(condition)                                                                  \
    { return a + GRIDLANE_ONCE(size_t i = 0; for (; i < n; i++) { value_of<First_> e = a[i];       \
          if (condition) break; } return (ptrdiff_t)i;); }
GRIDLANE_3(copy_if, (First_ a, First_ b, B_ out, C_ test), (a, b, out, test), GRIDLANE_KEEP(out, test(e)))
GRIDLANE_4(copy_if, (First_ a, First_ b, B_ c, C_ out, D_ test), (a, b, c, out, test),
           GRIDLANE_KEEP(out, test((value_of<B_>)c[i])))
GRIDLANE_2(remove, (First_ a, First_ b, const B_ &value), (a, b, value), GRIDLANE_KEEP(a, !(e == value)))
GRIDLANE_2(remove_if, (First_ a, First_ b, B_ test), (a, b, test), GRIDLANE_KEEP(a, !test(e)))
GRIDLANE_3(remove_if, (First_ a, First_ b, B_ c, C_ test), (a, b, c, test), GRIDLANE_KEEP(a, !test((value_of<B_>)c[i])))
GRIDLANE_3(remove_copy_if, (First_ a, First_ b, B_ out, C_ test), (a, b, out, test), GRIDLANE_KEEP(out, !test(e)))
GRIDLANE_1(unique, (First_ a, First_ b), (a, b), GRIDLANE_KEEP(a, !i || !((value_of<First_>)a[i - 1] == e)))
GRIDLANE_2(unique, (First_ a, First_ b, B_ f), (a, b, f), GRIDLANE_KEEP(a, !i || !f((value_of<First_>)a[i - 1], e)))
GRIDLANE_2(unique_copy, (First_ a, First_ b, B_ out), (a, b, out), GRIDLANE_KEEP(out, !i || !((value_of<First_>)a[i - 1] == e)))
GRIDLANE_2(find, (First_ a, First_ b, const B_ &value), (a, b, value), GRIDLANE_FIND(e == value))
GRIDLANE_2(find_if, (First_ a, First_ b, B_ test), (a, b, test), GRIDLANE_FIND(test(e)))
GRIDLANE_2(find_if_not, (First_ a, First_ b, B_ test), (a, b, test), GRIDLANE_FIND(!test(e)))
GRIDLANE_2(any_of, (First_ a, First_ b, B_ test), (a, b, test), { return do_find_if<S_>(a, b, test) != b; })
GRIDLANE_2(none_of, (First_ a, First_ b, B_ test), (a, b, test), { return do_find_if<S_>(a, b, test) == b; })
GRIDLANE_2(all_of, (First_ a, First_ b, B_ test), (a, b, test), { return do_find_if_not<S_>(a, b, test) == b; })
GRIDLANE_2(equal, (First_ a, First_ b, B_ c), (a, b, c),
           { return GRIDLANE_ONCE(for (size_t i = 0; i < n; i++) if (!((value_of<First_>)a[i] == (value_of<B_>)c[i])) return false; return true;); })
GRIDLANE_1(is_sorted, (First_ a, First_ b), (a, b),
           { return GRIDLANE_ONCE(for (size_t i = 1; i < n; i++) if ((value_of<First_>)a[i] < (value_of<First_>)a[i - 1]) return false; return true;); })
#define GRIDLANE_BEST(name, condition)                                                            \
    GRIDLANE_1(name, (First_ a, First_ b), (a, b), GRIDLANE_BEST_OF(condition(e, best)))          \
    GRIDLANE_2(name, (First_ a, First_ b, B_ f), (a, b, f), GRIDLANE_BEST_OF(GRIDLANE_##name(f)))
#define GRIDLANE_BEST_OF(condition)                                                               \
    { return a + GRIDLANE_ONCE(ptrdiff_t at = 0; for (size_t i = 1; i < n; i++) {                  \
          value_of<First_> e = a[i]; value_of<First_> best = a[at]; if (condition) at = i; } return at;); }
GRIDLANE_1(min_element, (First_ a, First_ b), (a, b), GRIDLANE_BEST_OF(e < best))
GRIDLANE_2(min_element, (First_ a, First_ b, B_ f), (a, b, f), GRIDLANE_BEST_OF(f(e, best)))
GRIDLANE_1(max_element, (First_ a, First_ b), (a, b), GRIDLANE_BEST_OF(best < e))
GRIDLANE_2(max_element, (First_ a, First_ b, B_ f), (a, b, f), GRIDLANE_BEST_OF(f(best, e)))
GRIDLANE_1(minmax_element, (First_ a, First_ b), (a, b),
           { return std::pair<First_, First_>(do_min_element<S_>(a, b), do_max_element<S_>(a, b)); })
#include "thrust/gridlane_ordered.h"
#include "thrust/gridlane_forms.h"
#undef GRIDLANE_LIST
#undef GRIDLANE_ALGORITHM
#undef GRIDLANE_1
#undef GRIDLANE_2
#undef GRIDLANE_3
#undef GRIDLANE_4
#undef GRIDLANE_5
#undef GRIDLANE_EACH
#undef GRIDLANE_ONCE
#undef GRIDLANE_KEEP
#undef GRIDLANE_FIND
#undef GRIDLANE_BEST
#undef GRIDLANE_BEST_OF

template <typename I_> ptrdiff_t distance(const I_ &a, const I_ &b) { return b - a; }
template <typename I_> I_ next(const I_ &i, ptrdiff_t n = 1) { return i + n; }
template <typename I_> void advance(I_ &i, ptrdiff_t n) { i += n; }

}  // namespace thrust
#endif
