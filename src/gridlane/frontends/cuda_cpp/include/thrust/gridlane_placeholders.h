// Functions that are written as expressions of their arguments: `_1 * 2 + _2`.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrust {
namespace placeholders {
namespace gridlane {
// An expression; what it is made of has a function `of` of the arguments.
template <typename E_> struct expression {
    E_ e;
    template <typename... A_> __host__ __device__ auto operator()(A_ &&...a) const
    {
        return e.of(std::forward_as_tuple(a...));
    }
    template <typename V_> __host__ __device__ auto operator=(const V_ &value) const;
    __host__ __device__ auto operator=(const expression &other) const;
};
template <size_t n> struct argument {
    template <typename A_> __host__ __device__ decltype(auto) of(const A_ &a) const { return std::get<n>(a); }
};
template <typename V_> struct value {
    V_ v;
    template <typename A_> __host__ __device__ const V_ &of(const A_ &) const { return v; }
};
template <typename V_> struct made_of {
    using type = value<V_>;
    static __host__ __device__ type of(const V_ &v) { return {v}; }
};
template <typename E_> struct made_of<expression<E_>> {
    using type = E_;
    static __host__ __device__ type of(const expression<E_> &e) { return e.e; }
};
template <typename V_> struct is_expression : std::false_type {};
template <typename E_> struct is_expression<expression<E_>> : std::true_type {};
template <typename A_, typename B_>
using either = std::enable_if_t<is_expression<A_>::value || is_expression<B_>::value>;

#define GRIDLANE_BINARY(name, op)                                                                 \
    template <typename X_, typename Y_> struct name {                                             \
        X_ x;                                                                                     \
        Y_ y;                                                                                     \
        template <typename A_> __host__ __device__ auto of(const A_ &a) const { return x.of(a) op y.of(a); } \
    };
#define GRIDLANE_OPERATOR(name, op)                                                               \
    GRIDLANE_BINARY(name, op)                                                                     \
    template <typename X_, typename Y_, typename = either<X_, Y_>>                                \
    __host__ __device__ expression<name<typename made_of<X_>::type, typename made_of<Y_>::type>>  \
    operator op(const X_ &x, const Y_ &y)                                                         \
    {                                                                                             \
        return {{made_of<X_>::of(x), made_of<Y_>::of(y)}};                                        \
    }
GRIDLANE_OPERATOR(plus_of, +)
GRIDLANE_OPERATOR(minus_of, -)
GRIDLANE_OPERATOR(times_of, *)
GRIDLANE_OPERATOR(divides_of, /)
GRIDLANE_OPERATOR(modulus_of, %)
GRIDLANE_OPERATOR(and_of, &)
GRIDLANE_OPERATOR(or_of, |)
GRIDLANE_OPERATOR(xor_of, ^)
GRIDLANE_OPERATOR(left_of, <<)
GRIDLANE_OPERATOR(right_of, >>)
GRIDLANE_OPERATOR(less_of, <)
GRIDLANE_OPERATOR(more_of, >)
GRIDLANE_OPERATOR(not_more_of, <=)
GRIDLANE_OPERATOR(not_less_of, >=)
GRIDLANE_OPERATOR(equal_of, ==)
GRIDLANE_OPERATOR(not_equal_of, !=)
GRIDLANE_OPERATOR(both_of, &&)
GRIDLANE_OPERATOR(either_of, ||)
GRIDLANE_OPERATOR(added_to, +=)
GRIDLANE_OPERATOR(taken_from, -=)
GRIDLANE_OPERATOR(multiplied_by, *=)
GRIDLANE_OPERATOR(divided_by, /=)
GRIDLANE_BINARY(set_to, =)
#undef GRIDLANE_OPERATOR
#undef GRIDLANE_BINARY
#define GRIDLANE_UNARY(name, op)                                                                  \
    template <typename X_> struct name {                                                          \
        X_ x;                                                                                     \
        template <typename A_> __host__ __device__ auto of(const A_ &a) const { return op x.of(a); } \
    };                                                                                            \
    template <typename E_> __host__ __device__ expression<name<E_>> operator op(const expression<E_> &x) \
    {                                                                                             \
        return {{x.e}};                                                                           \
    }
GRIDLANE_UNARY(minus_one, -)
GRIDLANE_UNARY(plus_one, +)
GRIDLANE_UNARY(not_one, !)
GRIDLANE_UNARY(turned, ~)
#undef GRIDLANE_UNARY
template <typename E_> template <typename V_> __host__ __device__ auto expression<E_>::operator=(const V_ &v) const
{
    return expression<set_to<E_, typename made_of<V_>::type>>{{e, made_of<V_>::of(v)}};
}
template <typename E_> __host__ __device__ auto expression<E_>::operator=(const expression &v) const
{
    return expression<set_to<E_, E_>>{{e, v.e}};
}
}  // namespace gridlane
#define GRIDLANE_PLACE(name, n) static constexpr gridlane::expression<gridlane::argument<n>> name = {};
GRIDLANE_PLACE(_1, 0)
GRIDLANE_PLACE(_2, 1)
GRIDLANE_PLACE(_3, 2)
GRIDLANE_PLACE(_4, 3)
GRIDLANE_PLACE(_5, 4)
#undef GRIDLANE_PLACE
}  // namespace placeholders
}  // namespace thrust
