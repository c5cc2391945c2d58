// What of thrust is here: values and functions for both sides, and, as declarations, the containers
// and algorithms that the host calls.
#pragma once
#include <complex>
#include <cstddef>
#include <iostream>  // programs count on it
#include <iterator>
#include <random>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gridlane/absent.h"
#include "thrust/gridlane_placeholders.h"
#include "thrust/gridlane_random.h"
#include "thrust/version.h"

namespace thrust {

// --- values

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::system_error;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
template <typename T> using complex = std::complex<T>;
using std::abs;
using std::arg;
using std::conj;
using std::cos;
using std::exp;
using std::log;
using std::norm;
using std::polar;
using std::pow;
using std::sin;
using std::sqrt;
template <typename A_, typename R_> struct unary_function {
    typedef A_ argument_type;
    typedef R_ result_type;
};
template <typename A_, typename B_, typename R_> struct binary_function {
    typedef A_ first_argument_type;
    typedef B_ second_argument_type;
    typedef R_ result_type;
};

#define GRIDLANE_OPERATION(name, expression)                                              \
    template <typename T = void> struct name {                                            \
        __host__ __device__ auto operator()(const T &a, const T &b) const                 \
        {                                                                                 \
            return expression;                                                            \
        }                                                                                 \
    };                                                                                    \
    template <> struct name<void> {                                                       \
        template <typename A_, typename B_>                                               \
        __host__ __device__ auto operator()(const A_ &a, const B_ &b) const               \
        {                                                                                 \
            return expression;                                                            \
        }                                                                                 \
    };
GRIDLANE_OPERATION(plus, a + b)
GRIDLANE_OPERATION(minus, a - b)
GRIDLANE_OPERATION(multiplies, a * b)
GRIDLANE_OPERATION(divides, a / b)
GRIDLANE_OPERATION(modulus, a % b)
GRIDLANE_OPERATION(less, a < b)
GRIDLANE_OPERATION(less_equal, a <= b)
GRIDLANE_OPERATION(greater, b < a)
GRIDLANE_OPERATION(greater_equal, a >= b)
GRIDLANE_OPERATION(equal_to, a == b)
GRIDLANE_OPERATION(not_equal_to, a != b)
GRIDLANE_OPERATION(minimum, b < a ? b : a)
GRIDLANE_OPERATION(maximum, a < b ? b : a)
GRIDLANE_OPERATION(logical_and, a && b)
GRIDLANE_OPERATION(logical_or, a || b)
GRIDLANE_OPERATION(bit_and, a & b)
GRIDLANE_OPERATION(bit_or, a | b)
GRIDLANE_OPERATION(bit_xor, a ^ b)
GRIDLANE_OPERATION(project1st, ((void)b, a))
GRIDLANE_OPERATION(project2nd, ((void)a, b))
#undef GRIDLANE_OPERATION
template <typename T = void> struct identity {
    __host__ __device__ T operator()(const T &a) const { return a; }
};
template <typename T = void> struct negate {
    __host__ __device__ T operator()(const T &a) const { return -a; }
};
template <typename T = void> struct square {
    __host__ __device__ T operator()(const T &a) const { return a * a; }
};
template <typename T = void> struct logical_not {
    __host__ __device__ bool operator()(const T &a) const { return !a; }
};
template <typename T> __host__ __device__ inline const T &min(const T &a, const T &b)
{
    return b < a ? b : a;
}
template <typename T> __host__ __device__ inline const T &max(const T &a, const T &b)
{
    return a < b ? b : a;
}
#ifndef GRIDLANE_PROGRAM  // whole programs have it in gridlane_memory.h
// --- memory of the device, which the host names

template <typename T> class device_reference {
public:
    device_reference(T &) {}
    GRIDLANE_ABSENT operator T() const GRIDLANE_BODY(return T();)
    GRIDLANE_ABSENT device_reference &operator=(const T &) GRIDLANE_BODY(return *this;)
    GRIDLANE_ABSENT device_reference &operator=(const device_reference &)
        GRIDLANE_BODY(return *this;)
    GRIDLANE_ABSENT device_reference &operator+=(const T &) GRIDLANE_BODY(return *this;)
    GRIDLANE_ABSENT device_reference &operator-=(const T &) GRIDLANE_BODY(return *this;)
    GRIDLANE_ABSENT device_reference &operator++() GRIDLANE_BODY(return *this;)
    GRIDLANE_ABSENT T *operator&() const GRIDLANE_BODY(return nullptr;)
    GRIDLANE_ABSENT friend std::ostream &operator<<(std::ostream &out, const device_reference &)
        GRIDLANE_BODY(return out;)
};
template <typename T> class device_ptr {
    T *p;

public:
    using value_type = std::remove_cv_t<T>;
    using reference = device_reference<T>;
    using pointer = T *;
    using difference_type = ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;
    __host__ __device__ explicit device_ptr(T *p = nullptr) : p(p) {}
    __host__ __device__ T *get() const { return p; }
    reference operator*() const { return reference(*p); }
    reference operator[](ptrdiff_t n) const { return reference(p[n]); }
    device_ptr &operator++() { return ++p, *this; }
    device_ptr operator++(int) { return device_ptr(p++); }
    device_ptr &operator+=(ptrdiff_t n) { return p += n, *this; }
    device_ptr operator+(ptrdiff_t n) const { return device_ptr(p + n); }
    device_ptr operator-(ptrdiff_t n) const { return device_ptr(p - n); }
    ptrdiff_t operator-(const device_ptr &other) const { return p - other.p; }
    bool operator==(const device_ptr &other) const { return p == other.p; }
    bool operator!=(const device_ptr &other) const { return p != other.p; }
    bool operator<(const device_ptr &other) const { return p < other.p; }
    operator T *() const { return p; }
};
template <typename T> device_ptr<T> device_pointer_cast(T *p) { return device_ptr<T>(p); }
template <typename T> device_ptr<T> device_pointer_cast(device_ptr<T> p) { return p; }
template <typename T> __host__ __device__ T *raw_pointer_cast(T *p) { return p; }
template <typename T> __host__ __device__ T *raw_pointer_cast(const device_ptr<T> &p)
{
    return p.get();
}
template <typename T>
GRIDLANE_ABSENT device_ptr<T> device_malloc(size_t) GRIDLANE_BODY(return device_ptr<T>();)
template <typename T> GRIDLANE_ABSENT void device_free(device_ptr<T>) GRIDLANE_BODY()

template <typename T, typename A_ = std::allocator<T>> using host_vector = std::vector<T, A_>;
template <typename T, typename A_ = void> class device_vector {
public:
    using value_type = T;
    using iterator = device_ptr<T>;
    using const_iterator = device_ptr<T>;
    using reference = device_reference<T>;
    using pointer = device_ptr<T>;
    using size_type = size_t;
    using difference_type = ptrdiff_t;
    GRIDLANE_ABSENT device_vector() GRIDLANE_BODY()
    GRIDLANE_ABSENT explicit device_vector(size_t) GRIDLANE_BODY()
    GRIDLANE_ABSENT device_vector(size_t, const T &) GRIDLANE_BODY()
    template <typename I_, typename = typename std::iterator_traits<I_>::value_type>
    GRIDLANE_ABSENT device_vector(I_, I_) GRIDLANE_BODY()
    template <typename U_, typename B_>
    GRIDLANE_ABSENT device_vector(const std::vector<U_, B_> &) GRIDLANE_BODY()
    GRIDLANE_ABSENT device_vector(std::initializer_list<T>) GRIDLANE_BODY()
    template <typename U_, typename B_> device_vector &operator=(const std::vector<U_, B_> &)
    {
        return *this;
    }
    template <typename B_> operator std::vector<T, B_>() const { return {}; }
    iterator begin() const { return iterator(); }
    iterator end() const { return iterator(); }
    iterator cbegin() const { return iterator(); }
    iterator cend() const { return iterator(); }
    std::reverse_iterator<iterator> rbegin() const { return std::reverse_iterator<iterator>(end()); }
    std::reverse_iterator<iterator> rend() const { return std::reverse_iterator<iterator>(begin()); }
    pointer data() const { return pointer(); }
    reference operator[](size_t) const { return *begin(); }
    reference front() const { return *begin(); }
    reference back() const { return *begin(); }
    size_t size() const { return 0; }
    size_t capacity() const { return 0; }
    bool empty() const { return true; }
    void resize(size_t) {}
    void resize(size_t, const T &) {}
    void reserve(size_t) {}
    void clear() {}
    void shrink_to_fit() {}
    void push_back(const T &) {}
    void pop_back() {}
    void swap(device_vector &) {}
    template <typename... B_> void assign(const B_ &...) {}
    template <typename... B_> iterator insert(const B_ &...) { return iterator(); }
    template <typename... B_> iterator erase(const B_ &...) { return iterator(); }
};
template <typename T, typename A_ = void> using universal_vector = device_vector<T, A_>;
#endif

}  // namespace thrust
