// thrust's iterators for whole programs: what they give is computed where it is read.
#pragma once
#ifdef GRIDLANE_PROGRAM
#include "thrust/gridlane_memory.h"

namespace thrust {

namespace gridlane {
// Where memory that an iterator reaches is; ``anywhere`` for one that reaches none.
struct anywhere {};
template <typename> struct no_type { using type = void; };  // std::void_t is of C++17
template <typename I_, typename = void> struct system_of { using type = on_host; };
template <typename I_>
struct system_of<I_, typename no_type<typename I_::gridlane_system>::type> {
    using type = typename I_::gridlane_system;
};
template <typename A_, typename B_> struct both { using type = A_; };
template <typename B_> struct both<on_host, B_> {
    using type = std::conditional_t<std::is_same<B_, on_device>::value, on_device, on_host>;
};
template <typename B_> struct both<anywhere, B_> { using type = B_; };
template <typename... I_> struct system_of_all { using type = anywhere; };
template <typename I_, typename... J_> struct system_of_all<I_, J_...>
    : both<typename system_of<I_>::type, typename system_of_all<J_...>::type> {};
template <typename I_> using value_of = typename std::iterator_traits<I_>::value_type;
template <typename I_> using reference_of = decltype(std::declval<const I_ &>()[0]);
// A reference of the language for one of the device's memory, also within a tuple.
template <typename T> struct plain_type { using type = T; };
template <typename T> struct plain_type<device_reference<T>> { using type = T &; };
template <typename T> __host__ __device__ T plain(T &&value) { return static_cast<T &&>(value); }
template <typename T> __host__ __device__ T &plain(device_reference<T> &&value) { return value.gridlane_memory(); }
template <typename... T, size_t... k>
__host__ __device__ auto plain_each(std::tuple<T...> &each, std::index_sequence<k...>)
{
    return std::tuple<typename plain_type<T>::type...>(plain(static_cast<T &&>(std::get<k>(each)))...);
}
template <typename... T> __host__ __device__ auto plain(std::tuple<T...> &&each)
{
    return plain_each(each, std::index_sequence_for<T...>());
}
}  // namespace gridlane

template <typename... T> __host__ __device__ auto raw_reference_cast(std::tuple<T...> each)
{
    return gridlane::plain_each(each, std::index_sequence_for<T...>());
}
using device_system_tag = gridlane::on_device;
using host_system_tag = gridlane::on_host;

// What an iterator has that knows its element at a distance.
#define GRIDLANE_ITERATOR(name)                                                                   \
    using pointer = void;                                                                         \
    using difference_type = ptrdiff_t;                                                            \
    using iterator_category = std::random_access_iterator_tag;                                    \
    __host__ __device__ reference operator*() const { return (*this)[0]; }                        \
    __host__ __device__ name &operator++() { return *this += 1; }                                 \
    __host__ __device__ name &operator--() { return *this += -1; }                                \
    __host__ __device__ name &operator-=(ptrdiff_t n) { return *this += -n; }                     \
    __host__ __device__ name operator++(int)                                                      \
    {                                                                                             \
        name before = *this;                                                                      \
        *this += 1;                                                                               \
        return before;                                                                            \
    }                                                                                             \
    __host__ __device__ name operator+(ptrdiff_t n) const                                         \
    {                                                                                             \
        name made = *this;                                                                        \
        return made += n;                                                                         \
    }                                                                                             \
    __host__ __device__ name operator-(ptrdiff_t n) const { return *this + -n; }                  \
    __host__ __device__ bool operator==(const name &other) const { return *this - other == 0; }   \
    __host__ __device__ bool operator!=(const name &other) const { return *this - other != 0; }   \
    __host__ __device__ bool operator<(const name &other) const { return *this - other < 0; }     \
    __host__ __device__ bool operator>(const name &other) const { return *this - other > 0; }     \
    __host__ __device__ bool operator<=(const name &other) const { return *this - other <= 0; }   \
    __host__ __device__ bool operator>=(const name &other) const { return *this - other >= 0; }   \
    __host__ __device__ friend name operator+(ptrdiff_t n, const name &i) { return i + n; }

template <typename T, typename = void, typename = void, typename = void> class counting_iterator {
    T at;

public:
    using value_type = T;
    using reference = T;
    using gridlane_system = gridlane::anywhere;
    __host__ __device__ explicit counting_iterator(T at = T()) : at(at) {}
    __host__ __device__ T operator[](ptrdiff_t n) const { return (T)(at + n); }
    __host__ __device__ counting_iterator &operator+=(ptrdiff_t n) { return at = (T)(at + n), *this; }
    __host__ __device__ ptrdiff_t operator-(const counting_iterator &other) const
    {
        return (ptrdiff_t)at - (ptrdiff_t)other.at;
    }
    GRIDLANE_ITERATOR(counting_iterator)
};
template <typename T, typename = void, typename = void> class constant_iterator {
    T value;
    ptrdiff_t at;

public:
    using value_type = T;
    using reference = T;
    using gridlane_system = gridlane::anywhere;
    __host__ __device__ explicit constant_iterator(T value = T(), ptrdiff_t at = 0)
        : value(value), at(at) {}
    __host__ __device__ T operator[](ptrdiff_t) const { return value; }
    __host__ __device__ constant_iterator &operator+=(ptrdiff_t n) { return at += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const constant_iterator &other) const
    {
        return at - other.at;
    }
    GRIDLANE_ITERATOR(constant_iterator)
};
struct gridlane_any {
    template <typename T> __host__ __device__ const gridlane_any &operator=(const T &) const
    {
        return *this;
    }
};
template <typename = void> class discard_iterator {
    ptrdiff_t at;

public:
    using value_type = int;
    using reference = gridlane_any;
    using gridlane_system = gridlane::anywhere;
    __host__ __device__ explicit discard_iterator(ptrdiff_t at = 0) : at(at) {}
    __host__ __device__ reference operator[](ptrdiff_t) const { return {}; }
    __host__ __device__ discard_iterator &operator+=(ptrdiff_t n) { return at += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const discard_iterator &other) const
    {
        return at - other.at;
    }
    GRIDLANE_ITERATOR(discard_iterator)
};
template <typename F_, typename I_, typename R_ = void, typename V_ = void> class transform_iterator {
    I_ in;
    mutable F_ f;
    using Result = decltype(std::declval<F_ &>()(std::declval<gridlane::value_of<I_>>()));

public:
    using reference = std::conditional_t<std::is_void<R_>::value, std::decay_t<Result>, R_>;
    using value_type = std::decay_t<reference>;
    using gridlane_system = typename gridlane::system_of<I_>::type;
    __host__ __device__ transform_iterator(I_ in, F_ f = F_()) : in(in), f(f) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const
    {
        return f((gridlane::value_of<I_>)in[n]);
    }
    __host__ __device__ transform_iterator &operator+=(ptrdiff_t n) { return in += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const transform_iterator &other) const
    {
        return in - other.in;
    }
    GRIDLANE_ITERATOR(transform_iterator)
};
// Memory whose elements pass a function when they are written, and another one when they are read.
template <typename R_, typename F_, typename V_> class gridlane_passing {
    R_ to;
    F_ f;

public:
    __host__ __device__ gridlane_passing(R_ to, F_ f) : to(to), f(f) {}
    template <typename T> __host__ __device__ const gridlane_passing &operator=(const T &value) const
    {
        F_ f = this->f;
        R_ to = this->to;
        to = f(value);
        return *this;
    }
    __host__ __device__ const gridlane_passing &operator=(const gridlane_passing &other) const
    {
        return *this = (V_)other;
    }
    __host__ __device__ operator V_() const { return (V_)to; }
};
template <typename F_, typename O_> class transform_output_iterator {
    O_ out;
    F_ f;

public:
    using value_type = gridlane::value_of<O_>;
    using reference = gridlane_passing<gridlane::reference_of<O_>, F_, value_type>;
    using gridlane_system = typename gridlane::system_of<O_>::type;
    __host__ __device__ transform_output_iterator(O_ out, F_ f) : out(out), f(f) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const { return reference(out[n], f); }
    __host__ __device__ transform_output_iterator &operator+=(ptrdiff_t n) { return out += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const transform_output_iterator &other) const
    {
        return out - other.out;
    }
    GRIDLANE_ITERATOR(transform_output_iterator)
};
template <typename R_, typename F_, typename G_, typename V_> class gridlane_passing_both {
    R_ to;
    F_ read;
    G_ write;

public:
    __host__ __device__ gridlane_passing_both(R_ to, F_ read, G_ write) : to(to), read(read), write(write) {}
    template <typename T> __host__ __device__ const gridlane_passing_both &operator=(const T &value) const
    {
        G_ write = this->write;
        R_ to = this->to;
        to = write(value);
        return *this;
    }
    __host__ __device__ operator V_() const
    {
        F_ read = this->read;
        return read(to);
    }
};
template <typename F_, typename G_, typename I_> class transform_input_output_iterator {
    I_ in;
    F_ read;
    G_ write;

public:
    using value_type = std::decay_t<decltype(std::declval<F_ &>()(std::declval<gridlane::value_of<I_>>()))>;
    using reference = gridlane_passing_both<gridlane::reference_of<I_>, F_, G_, value_type>;
    using gridlane_system = typename gridlane::system_of<I_>::type;
    __host__ __device__ transform_input_output_iterator(I_ in, F_ read, G_ write) : in(in), read(read), write(write) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const { return reference(in[n], read, write); }
    __host__ __device__ transform_input_output_iterator &operator+=(ptrdiff_t n) { return in += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const transform_input_output_iterator &other) const
    {
        return in - other.in;
    }
    GRIDLANE_ITERATOR(transform_input_output_iterator)
};
// What is written goes to a function, with its place.
template <typename F_> class gridlane_called {
    F_ f;
    ptrdiff_t at;

public:
    __host__ __device__ gridlane_called(F_ f, ptrdiff_t at) : f(f), at(at) {}
    template <typename T> __host__ __device__ const gridlane_called &operator=(const T &value) const
    {
        F_ f = this->f;
        f(at, value);
        return *this;
    }
};
template <typename F_> class tabulate_output_iterator {
    F_ f;
    ptrdiff_t at;

public:
    using value_type = void;
    using reference = gridlane_called<F_>;
    using gridlane_system = gridlane::anywhere;
    __host__ __device__ explicit tabulate_output_iterator(F_ f, ptrdiff_t at = 0) : f(f), at(at) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const { return reference(f, at + n); }
    __host__ __device__ tabulate_output_iterator &operator+=(ptrdiff_t n) { return at += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const tabulate_output_iterator &other) const { return at - other.at; }
    GRIDLANE_ITERATOR(tabulate_output_iterator)
};
template <typename E_, typename I_> class permutation_iterator {
    E_ elements;
    I_ places;

public:
    using value_type = gridlane::value_of<E_>;
    using reference = gridlane::reference_of<E_>;
    using gridlane_system = typename gridlane::system_of_all<E_, I_>::type;
    __host__ __device__ permutation_iterator(E_ elements, I_ places)
        : elements(elements), places(places) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const
    {
        return elements[(gridlane::value_of<I_>)places[n]];
    }
    __host__ __device__ permutation_iterator &operator+=(ptrdiff_t n) { return places += n, *this; }
    __host__ __device__ ptrdiff_t operator-(const permutation_iterator &other) const
    {
        return places - other.places;
    }
    GRIDLANE_ITERATOR(permutation_iterator)
};
template <typename T> class zip_iterator;
template <typename... I_> class zip_iterator<std::tuple<I_...>> {
    std::tuple<I_...> each;
    template <size_t... k> __host__ __device__ auto at(ptrdiff_t n, std::index_sequence<k...>) const
    {
        return std::tuple<gridlane::reference_of<I_>...>(std::get<k>(each)[n]...);
    }
    template <size_t... k> __host__ __device__ void move(ptrdiff_t n, std::index_sequence<k...>)
    {
        ((std::get<k>(each) += n), ...);
    }

public:
    using value_type = std::tuple<gridlane::value_of<I_>...>;
    using reference = std::tuple<gridlane::reference_of<I_>...>;
    using gridlane_system = typename gridlane::system_of_all<I_...>::type;
    __host__ __device__ zip_iterator(std::tuple<I_...> each) : each(each) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const
    {
        return at(n, std::index_sequence_for<I_...>());
    }
    __host__ __device__ zip_iterator &operator+=(ptrdiff_t n)
    {
        return move(n, std::index_sequence_for<I_...>()), *this;
    }
    __host__ __device__ ptrdiff_t operator-(const zip_iterator &other) const
    {
        return std::get<0>(each) - std::get<0>(other.each);
    }
    __host__ __device__ const std::tuple<I_...> &get_iterator_tuple() const { return each; }
    GRIDLANE_ITERATOR(zip_iterator)
};
template <typename I_> class reverse_iterator {
    I_ behind;

public:
    using value_type = gridlane::value_of<I_>;
    using reference = gridlane::reference_of<I_>;
    using gridlane_system = typename gridlane::system_of<I_>::type;
    __host__ __device__ explicit reverse_iterator(I_ behind) : behind(behind) {}
    __host__ __device__ reference operator[](ptrdiff_t n) const { return behind[-1 - n]; }
    __host__ __device__ reverse_iterator &operator+=(ptrdiff_t n) { return behind -= n, *this; }
    __host__ __device__ ptrdiff_t operator-(const reverse_iterator &other) const
    {
        return other.behind - behind;
    }
    __host__ __device__ I_ base() const { return behind; }
    GRIDLANE_ITERATOR(reverse_iterator)
};
#undef GRIDLANE_ITERATOR

template <typename T> __host__ __device__ counting_iterator<T> make_counting_iterator(T at)
{
    return counting_iterator<T>(at);
}
template <typename T> __host__ __device__ constant_iterator<T> make_constant_iterator(T value)
{
    return constant_iterator<T>(value);
}
template <typename I_, typename F_>
__host__ __device__ transform_iterator<F_, I_> make_transform_iterator(I_ in, F_ f)
{
    return {in, f};
}
template <typename E_, typename I_>
__host__ __device__ permutation_iterator<E_, I_> make_permutation_iterator(E_ elements, I_ places)
{
    return {elements, places};
}
template <typename... I_>
__host__ __device__ zip_iterator<std::tuple<I_...>> make_zip_iterator(std::tuple<I_...> each)
{
    return {each};
}
template <typename... I_>
__host__ __device__ zip_iterator<std::tuple<I_...>> make_zip_iterator(I_... each)
{
    return {std::tuple<I_...>(each...)};
}
template <typename O_, typename F_>
__host__ __device__ transform_output_iterator<F_, O_> make_transform_output_iterator(O_ out, F_ f)
{
    return {out, f};
}
template <typename I_, typename F_, typename G_>
__host__ __device__ transform_input_output_iterator<F_, G_, I_>
make_transform_input_output_iterator(I_ in, F_ read, G_ write)
{
    return {in, read, write};
}
template <typename F_> __host__ __device__ tabulate_output_iterator<F_> make_tabulate_output_iterator(F_ f)
{
    return tabulate_output_iterator<F_>(f);
}
template <typename I_> struct iterator_value { using type = gridlane::value_of<I_>; };
template <typename I_> struct iterator_reference { using type = typename std::iterator_traits<I_>::reference; };
template <typename I_> struct iterator_difference { using type = typename std::iterator_traits<I_>::difference_type; };
template <typename I_> using iterator_value_t = typename iterator_value<I_>::type;
template <typename I_> using iterator_reference_t = typename iterator_reference<I_>::type;
template <typename I_> using iterator_difference_t = typename iterator_difference<I_>::type;
using std::iterator_traits;
template <typename I_> __host__ __device__ reverse_iterator<I_> make_reverse_iterator(I_ behind)
{
    return reverse_iterator<I_>(behind);
}
inline __host__ __device__ discard_iterator<> make_discard_iterator(ptrdiff_t at = 0)
{
    return discard_iterator<>(at);
}

// --- where an algorithm runs

template <typename System> struct gridlane_policy {
    using gridlane_system = System;
    template <typename T> gridlane_policy on(const T &) const { return {}; }
    template <typename T> gridlane_policy operator()(const T &) const { return {}; }
};
inline constexpr gridlane_policy<gridlane::on_device> device;
inline constexpr gridlane_policy<gridlane::on_host> host;
inline constexpr gridlane_policy<gridlane::on_host> seq;
namespace cuda {
inline constexpr gridlane_policy<gridlane::on_device> par, par_nosync;
}
namespace system {
namespace cuda {
using thrust::cuda::par;
}
}  // namespace system
namespace gridlane {
template <typename T> struct is_policy : std::false_type {};
template <typename S_> struct is_policy<gridlane_policy<S_>> : std::true_type {};
template <typename... A_> using chosen = std::conditional_t<
    std::is_same<typename system_of_all<A_...>::type, on_device>::value, on_device, on_host>;
}  // namespace gridlane

}  // namespace thrust
#endif
