// thrust's iterators and algorithms for the host, as declarations.
#pragma once
#include "thrust/gridlane_parts.h"
#ifdef GRIDLANE_PROGRAM
#include "thrust/gridlane_program.h"
#else

namespace thrust {

namespace gridlane {
template <typename V_, typename R_ = V_> class iterator {
public:
    using value_type = V_;
    using reference = R_;
    using pointer = V_ *;
    using difference_type = ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;
    R_ operator*() const { return V_(); }
    R_ operator[](ptrdiff_t) const { return V_(); }
    ptrdiff_t operator-(const iterator &) const { return 0; }
    bool operator==(const iterator &) const { return true; }
    bool operator!=(const iterator &) const { return false; }
};
template <typename I_> using value_of = typename std::iterator_traits<I_>::value_type;
}  // namespace gridlane
#define GRIDLANE_STEPS(name)                                          \
    name &operator++() { return *this; }                              \
    name operator++(int) { return *this; }                            \
    name &operator+=(ptrdiff_t) { return *this; }                     \
    name operator+(ptrdiff_t) const { return *this; }                 \
    using gridlane::iterator<typename name::value_type>::operator-;   \
    name operator-(ptrdiff_t) const { return *this; }
template <typename T, typename = void, typename = void, typename = void>
class counting_iterator : public gridlane::iterator<T> {
public:
    explicit counting_iterator(T = T()) {}
    GRIDLANE_STEPS(counting_iterator)
};
template <typename T, typename = void, typename = void> class constant_iterator : public gridlane::iterator<T> {
public:
    explicit constant_iterator(T = T(), ptrdiff_t = 0) {}
    GRIDLANE_STEPS(constant_iterator)
};
template <typename F_, typename I_, typename V_ = gridlane::value_of<I_>>
class transform_iterator : public gridlane::iterator<V_> {
public:
    template <typename... A_> explicit transform_iterator(const A_ &...) {}
    GRIDLANE_STEPS(transform_iterator)
};
template <typename E_, typename I_>
class permutation_iterator : public gridlane::iterator<gridlane::value_of<E_>> {
public:
    permutation_iterator(E_, I_) {}
    GRIDLANE_STEPS(permutation_iterator)
};
template <typename T> class zip_iterator;
template <typename... I_>
class zip_iterator<std::tuple<I_...>>
    : public gridlane::iterator<std::tuple<gridlane::value_of<I_>...>> {
public:
    zip_iterator(std::tuple<I_...>) {}
    GRIDLANE_STEPS(zip_iterator)
};
template <typename F_, typename O_>
class transform_output_iterator : public gridlane::iterator<gridlane::value_of<O_>> {
public:
    transform_output_iterator(O_, F_) {}
    GRIDLANE_STEPS(transform_output_iterator)
};
template <typename F_, typename G_, typename I_>
class transform_input_output_iterator : public gridlane::iterator<gridlane::value_of<I_>> {
public:
    transform_input_output_iterator(I_, F_, G_) {}
    GRIDLANE_STEPS(transform_input_output_iterator)
};
template <typename F_> class tabulate_output_iterator : public gridlane::iterator<int> {
public:
    explicit tabulate_output_iterator(F_, ptrdiff_t = 0) {}
    GRIDLANE_STEPS(tabulate_output_iterator)
};
#undef GRIDLANE_STEPS
template <typename = void> class discard_iterator : public gridlane::iterator<int> {
public:
    explicit discard_iterator(ptrdiff_t = 0) {}
};
template <typename O_, typename F_> transform_output_iterator<F_, O_> make_transform_output_iterator(O_ o, F_ f)
{
    return {o, f};
}
template <typename I_, typename F_, typename G_>
transform_input_output_iterator<F_, G_, I_> make_transform_input_output_iterator(I_ i, F_ f, G_ g)
{
    return {i, f, g};
}
template <typename F_> tabulate_output_iterator<F_> make_tabulate_output_iterator(F_ f)
{
    return tabulate_output_iterator<F_>(f);
}
template <typename T> counting_iterator<T> make_counting_iterator(T) { return counting_iterator<T>(); }
template <typename T> constant_iterator<T> make_constant_iterator(T) { return constant_iterator<T>(); }
template <typename I_, typename F_> transform_iterator<F_, I_> make_transform_iterator(I_ i, F_ f)
{
    return transform_iterator<F_, I_>(i);
}
template <typename E_, typename I_> permutation_iterator<E_, I_> make_permutation_iterator(E_ e, I_ i)
{
    return {e, i};
}
template <typename... I_> zip_iterator<std::tuple<I_...>> make_zip_iterator(std::tuple<I_...> t)
{
    return {t};
}
template <typename... I_> zip_iterator<std::tuple<I_...>> make_zip_iterator(I_... each)
{
    return {std::tuple<I_...>(each...)};
}
inline discard_iterator<> make_discard_iterator() { return discard_iterator<>(); }

// --- where an algorithm runs

struct gridlane_policy {
    template <typename T> gridlane_policy on(const T &) const { return {}; }
    template <typename T> gridlane_policy operator()(const T &) const { return {}; }
};
inline gridlane_policy device, host, seq;
namespace cuda {
inline gridlane_policy par, par_nosync;
}
namespace system {
namespace cuda {
using thrust::cuda::par;
}
}  // namespace system

// --- algorithms: with a policy or without one

#define GRIDLANE_NOTHING(name) \
    template <typename... A_> GRIDLANE_ABSENT void name(const A_ &...) GRIDLANE_BODY()
GRIDLANE_NOTHING(sort) GRIDLANE_NOTHING(stable_sort) GRIDLANE_NOTHING(sort_by_key)
GRIDLANE_NOTHING(stable_sort_by_key) GRIDLANE_NOTHING(fill) GRIDLANE_NOTHING(sequence)
GRIDLANE_NOTHING(for_each) GRIDLANE_NOTHING(for_each_n) GRIDLANE_NOTHING(generate)
GRIDLANE_NOTHING(replace) GRIDLANE_NOTHING(replace_if) GRIDLANE_NOTHING(tabulate)
GRIDLANE_NOTHING(reverse) GRIDLANE_NOTHING(gather) GRIDLANE_NOTHING(gather_if)
GRIDLANE_NOTHING(scatter) GRIDLANE_NOTHING(scatter_if) GRIDLANE_NOTHING(uninitialized_fill)
#undef GRIDLANE_NOTHING
// Those that give the last of their iterators.
namespace gridlane {
template <typename... A_> struct last;
template <typename A_> struct last<A_> { using type = A_; };
template <typename A_, typename... B_> struct last<A_, B_...> { using type = typename last<B_...>::type; };
template <typename T> struct nothing { using type = void; };
template <typename T, typename = void> struct is_iterator : std::false_type {};
template <typename T>
struct is_iterator<T, typename nothing<typename std::iterator_traits<T>::value_type>::type>
    : std::true_type {};
// The last iterator among the types, and the first one's value.
template <typename Found, typename... A_> struct last_iterator { using type = Found; };
template <typename Found, typename A_, typename... B_> struct last_iterator<Found, A_, B_...>
    : last_iterator<std::conditional_t<is_iterator<A_>::value, A_, Found>, B_...> {};
template <typename... A_> struct first_iterator { using type = int *; };
template <typename A_, typename... B_> struct first_iterator<A_, B_...>
    : std::conditional_t<is_iterator<A_>::value, last_iterator<A_>, first_iterator<B_...>> {};
template <typename... A_>
using both_iterators = std::pair<typename first_iterator<A_...>::type,
                                 typename first_iterator<A_...>::type>;
}  // namespace gridlane
namespace gridlane {
// Of no value: nothing calls the host's side.
template <typename T> T made() { return *static_cast<T *>(nullptr); }
}  // namespace gridlane
#define GRIDLANE_LAST(name)                                                        \
    template <typename... A_>                                                      \
    GRIDLANE_ABSENT                                                                \
    typename gridlane::last_iterator<int *, std::decay_t<A_>...>::type name(const A_ &...)       \
        GRIDLANE_BODY(return gridlane::made<                                       \
            typename gridlane::last_iterator<int *, std::decay_t<A_>...>::type>();)
#define GRIDLANE_ITERATOR(name)                                                    \
    template <typename... A_>                                                      \
    GRIDLANE_ABSENT                                                                \
    typename gridlane::first_iterator<std::decay_t<A_>...>::type name(const A_ &...)             \
        GRIDLANE_BODY(return gridlane::made<                                       \
            typename gridlane::first_iterator<std::decay_t<A_>...>::type>();)
GRIDLANE_LAST(copy) GRIDLANE_LAST(copy_if) GRIDLANE_LAST(copy_n) GRIDLANE_LAST(transform)
GRIDLANE_LAST(inclusive_scan) GRIDLANE_LAST(exclusive_scan) GRIDLANE_LAST(transform_inclusive_scan)
GRIDLANE_LAST(transform_exclusive_scan) GRIDLANE_LAST(inclusive_scan_by_key)
GRIDLANE_LAST(exclusive_scan_by_key) GRIDLANE_LAST(adjacent_difference) GRIDLANE_LAST(unique_copy)
GRIDLANE_LAST(merge) GRIDLANE_LAST(set_union) GRIDLANE_LAST(set_intersection)
GRIDLANE_LAST(set_difference) GRIDLANE_LAST(remove_copy_if) GRIDLANE_LAST(fill_n)
GRIDLANE_LAST(reverse_copy) GRIDLANE_LAST(transform_if) GRIDLANE_LAST(generate_n)
GRIDLANE_LAST(uninitialized_copy) GRIDLANE_LAST(uninitialized_copy_n) GRIDLANE_LAST(shuffle_copy)
GRIDLANE_LAST(set_symmetric_difference) GRIDLANE_LAST(remove_copy) GRIDLANE_LAST(replace_copy)
GRIDLANE_LAST(replace_copy_if) GRIDLANE_LAST(uninitialized_fill_n) GRIDLANE_LAST(swap_ranges)
GRIDLANE_ITERATOR(unique) GRIDLANE_ITERATOR(remove) GRIDLANE_ITERATOR(remove_if)
GRIDLANE_ITERATOR(partition) GRIDLANE_ITERATOR(stable_partition) GRIDLANE_ITERATOR(find)
GRIDLANE_ITERATOR(find_if) GRIDLANE_ITERATOR(max_element) GRIDLANE_ITERATOR(min_element)
GRIDLANE_ITERATOR(lower_bound) GRIDLANE_ITERATOR(upper_bound) GRIDLANE_ITERATOR(find_if_not)
GRIDLANE_ITERATOR(partition_point) GRIDLANE_ITERATOR(is_sorted_until)
#undef GRIDLANE_LAST
#undef GRIDLANE_ITERATOR
template <typename... A_>
GRIDLANE_ABSENT gridlane::both_iterators<std::decay_t<A_>...> minmax_element(const A_ &...)
    GRIDLANE_BODY(return gridlane::both_iterators<std::decay_t<A_>...>();)
template <typename... A_> GRIDLANE_ABSENT ptrdiff_t count(const A_ &...) GRIDLANE_BODY(return 0;)
template <typename... A_> GRIDLANE_ABSENT ptrdiff_t count_if(const A_ &...) GRIDLANE_BODY(return 0;)
template <typename I_> GRIDLANE_ABSENT ptrdiff_t distance(const I_ &, const I_ &) GRIDLANE_BODY(return 0;)
template <typename I_> GRIDLANE_ABSENT I_ next(const I_ &i, ptrdiff_t = 1) GRIDLANE_BODY(return i;)
template <typename I_> GRIDLANE_ABSENT void advance(I_ &, ptrdiff_t) GRIDLANE_BODY()
template <typename... A_> GRIDLANE_ABSENT bool equal(const A_ &...) GRIDLANE_BODY(return true;)
template <typename... A_> GRIDLANE_ABSENT bool all_of(const A_ &...) GRIDLANE_BODY(return true;)
template <typename... A_> GRIDLANE_ABSENT bool any_of(const A_ &...) GRIDLANE_BODY(return true;)
template <typename... A_> GRIDLANE_ABSENT bool none_of(const A_ &...) GRIDLANE_BODY(return true;)
template <typename... A_> GRIDLANE_ABSENT bool is_sorted(const A_ &...) GRIDLANE_BODY(return true;)

template <typename I_, typename = std::enable_if_t<gridlane::is_iterator<I_>::value>>
GRIDLANE_ABSENT gridlane::value_of<I_> reduce(I_, I_) GRIDLANE_BODY(return {};)
template <typename I_> GRIDLANE_ABSENT gridlane::value_of<I_> reduce(gridlane_policy, I_, I_) GRIDLANE_BODY(return {};)
template <typename I_, typename T, typename = std::enable_if_t<gridlane::is_iterator<I_>::value>>
GRIDLANE_ABSENT T reduce(I_, I_, T first) GRIDLANE_BODY(return first;)
template <typename I_, typename T, typename F_> GRIDLANE_ABSENT T reduce(I_, I_, T first, F_) GRIDLANE_BODY(return first;)
template <typename I_, typename T> GRIDLANE_ABSENT T reduce(gridlane_policy, I_, I_, T first) GRIDLANE_BODY(return first;)
template <typename I_, typename T, typename F_> GRIDLANE_ABSENT T reduce(gridlane_policy, I_, I_, T first, F_) GRIDLANE_BODY(return first;)
template <typename I_, typename G_, typename T, typename F_>
GRIDLANE_ABSENT T transform_reduce(I_, I_, G_, T first, F_) GRIDLANE_BODY(return first;)
template <typename I_, typename G_, typename T, typename F_>
GRIDLANE_ABSENT T transform_reduce(gridlane_policy, I_, I_, G_, T first, F_) GRIDLANE_BODY(return first;)
template <typename I_, typename J_, typename T> GRIDLANE_ABSENT T inner_product(I_, I_, J_, T first) GRIDLANE_BODY(return first;)
template <typename I_, typename J_, typename T> GRIDLANE_ABSENT T inner_product(gridlane_policy, I_, I_, J_, T first) GRIDLANE_BODY(return first;)
template <typename I_, typename J_, typename T, typename F_, typename G_>
GRIDLANE_ABSENT T inner_product(I_, I_, J_, T first, F_, G_) GRIDLANE_BODY(return first;)
template <typename I_, typename J_, typename O_, typename P_, typename... A_>
GRIDLANE_ABSENT std::pair<O_, P_> reduce_by_key(I_, I_, J_, O_ keys, P_ values, A_...) GRIDLANE_BODY(return {keys, values};)
template <typename I_, typename J_, typename O_, typename P_, typename... A_>
GRIDLANE_ABSENT std::pair<O_, P_> reduce_by_key(gridlane_policy, I_, I_, J_, O_ keys, P_ values, A_...) GRIDLANE_BODY(return {keys, values};)
template <typename I_, typename J_, typename... A_> GRIDLANE_ABSENT std::pair<I_, J_> unique_by_key(I_ i, I_, J_ j, A_...) GRIDLANE_BODY(return {i, j};)
// Keys and values of two ranges, and where the results end.
#define GRIDLANE_BY_KEY(name)                                                                      \
    template <typename... A_>                                                                      \
    GRIDLANE_ABSENT gridlane::both_iterators<std::decay_t<A_>...> name(const A_ &...)              \
        GRIDLANE_BODY(return gridlane::both_iterators<std::decay_t<A_>...>();)
GRIDLANE_BY_KEY(merge_by_key) GRIDLANE_BY_KEY(set_union_by_key)
GRIDLANE_BY_KEY(set_intersection_by_key) GRIDLANE_BY_KEY(set_difference_by_key)
GRIDLANE_BY_KEY(set_symmetric_difference_by_key) GRIDLANE_BY_KEY(unique_by_key_copy)
GRIDLANE_BY_KEY(partition_copy) GRIDLANE_BY_KEY(stable_partition_copy) GRIDLANE_BY_KEY(mismatch)
GRIDLANE_BY_KEY(equal_range)
#undef GRIDLANE_BY_KEY
template <typename... A_> GRIDLANE_ABSENT ptrdiff_t unique_count(const A_ &...) GRIDLANE_BODY(return 0;)
template <typename... A_> GRIDLANE_ABSENT bool binary_search(const A_ &...) GRIDLANE_BODY(return true;)
template <typename... A_> GRIDLANE_ABSENT void shuffle(const A_ &...) GRIDLANE_BODY()
template <typename... A_> GRIDLANE_ABSENT bool is_partitioned(const A_ &...) GRIDLANE_BODY(return true;)
template <typename I_> class reverse_iterator : public std::reverse_iterator<I_> {
public:
    using std::reverse_iterator<I_>::reverse_iterator;
};
template <typename I_> reverse_iterator<I_> make_reverse_iterator(I_ i)
{
    return reverse_iterator<I_>(i);
}

}  // namespace thrust
#endif
