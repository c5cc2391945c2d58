// thrust's merges, sets, partitions, searches and scans by key for whole programs: the macros are those
// of gridlane_program.h, which includes this. All but searches of many values run in one thread.

#define GRIDLANE_6(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_, typename B_, typename C_, typename D_, typename E_,      \
                        typename F_), name, parameters, arguments,                                \
                       (First_, B_, C_, D_, E_, F_), __VA_ARGS__)
#define GRIDLANE_7(name, parameters, arguments, ...)                                              \
    GRIDLANE_ALGORITHM((typename First_, typename B_, typename C_, typename D_, typename E_,      \
                        typename F_, typename G_), name, parameters, arguments,                   \
                       (First_, B_, C_, D_, E_, F_, G_), __VA_ARGS__)
namespace gridlane {
// What an element that is in one range alone, or in both, does: it is written or left out. An element of
// both that is written is the first range's.
template <bool merges, bool first, bool second, bool common> struct rule {
    template <typename S_, typename A_, typename B_, typename O_, typename F_, typename G_>
    static O_ run(A_ a, size_t n, B_ b, size_t m, O_ out, F_ before, G_ beside)
    {
        return out + once<S_>([=] __host__ __device__() {
                   size_t i = 0, j = 0;
                   ptrdiff_t to = 0;
                   while (i < n || j < m) {
                       bool less = i < n && (j == m || before((value_of<A_>)a[i], (value_of<B_>)b[j]));
                       bool more = j < m && (i == n || before((value_of<B_>)b[j], (value_of<A_>)a[i]));
                       if (merges || less || more ? (more ? second : first) : common) {
                           if (more)
                               out[to] = (value_of<B_>)b[j];
                           else
                               out[to] = (value_of<A_>)a[i];
                           beside(to++, !more, more ? j : i);
                       }
                       if (merges) {
                           more ? j++ : i++;
                       } else {
                           i += !more;
                           j += !less;
                       }
                   }
                   return to;
               });
    }
};
struct alone {
    __host__ __device__ void operator()(ptrdiff_t, bool, size_t) const {}
};
template <typename V_, typename W_, typename O_> struct values_beside {
    V_ v;
    W_ w;
    O_ out;
    __host__ __device__ void operator()(ptrdiff_t to, bool is_first, size_t from) const
    {
        O_ out = this->out;
        if (is_first)
            out[to] = (value_of<V_>)v[from];
        else
            out[to] = (value_of<W_>)w[from];
    }
};
template <typename V_, typename W_, typename O_> values_beside<V_, W_, O_> beside(V_ v, W_ w, O_ out)
{
    return {v, w, out};
}
}  // namespace gridlane

#define GRIDLANE_RULE(name, rule_)                                                                \
    GRIDLANE_3(name, (First_ a, First_ b, B_ c, B_ d, C_ out), (a, b, c, d, out),                 \
               { return rule_::template run<S_>(a, b - a, c, d - c, out, lower(), alone()); })    \
    GRIDLANE_4(name, (First_ a, First_ b, B_ c, B_ d, C_ out, D_ f), (a, b, c, d, out, f),        \
               { return rule_::template run<S_>(a, b - a, c, d - c, out, f, alone()); })          \
    GRIDLANE_6(name##_by_key, (First_ a, First_ b, B_ c, B_ d, C_ v, D_ w, E_ out, F_ values),    \
               (a, b, c, d, v, w, out, values),                                                   \
               { E_ end = rule_::template run<S_>(a, b - a, c, d - c, out, lower(), beside(v, w, values)); \
                 return std::pair<E_, F_>(end, values + (end - out)); })                          \
    GRIDLANE_7(name##_by_key, (First_ a, First_ b, B_ c, B_ d, C_ v, D_ w, E_ out, F_ values, G_ f), \
               (a, b, c, d, v, w, out, values, f),                                                \
               { E_ end = rule_::template run<S_>(a, b - a, c, d - c, out, f, beside(v, w, values)); \
                 return std::pair<E_, F_>(end, values + (end - out)); })
#define GRIDLANE_MERGE gridlane::rule<true, true, true, true>
#define GRIDLANE_UNION gridlane::rule<false, true, true, true>
#define GRIDLANE_DIFFERENCE gridlane::rule<false, true, false, false>
#define GRIDLANE_SYMMETRIC gridlane::rule<false, true, true, false>
#define GRIDLANE_COMMON gridlane::rule<false, false, false, true>
GRIDLANE_RULE(merge, GRIDLANE_MERGE)
GRIDLANE_RULE(set_union, GRIDLANE_UNION)
GRIDLANE_RULE(set_difference, GRIDLANE_DIFFERENCE)
GRIDLANE_RULE(set_symmetric_difference, GRIDLANE_SYMMETRIC)
GRIDLANE_3(set_intersection, (First_ a, First_ b, B_ c, B_ d, C_ out), (a, b, c, d, out),
           { return GRIDLANE_COMMON::template run<S_>(a, b - a, c, d - c, out, lower(), alone()); })
GRIDLANE_4(set_intersection, (First_ a, First_ b, B_ c, B_ d, C_ out, D_ f), (a, b, c, d, out, f),
           { return GRIDLANE_COMMON::template run<S_>(a, b - a, c, d - c, out, f, alone()); })
GRIDLANE_5(set_intersection_by_key, (First_ a, First_ b, B_ c, B_ d, C_ v, D_ out, E_ values),
           (a, b, c, d, v, out, values),
           { D_ end = GRIDLANE_COMMON::template run<S_>(a, b - a, c, d - c, out, lower(), beside(v, v, values));
             return std::pair<D_, E_>(end, values + (end - out)); })
GRIDLANE_6(set_intersection_by_key, (First_ a, First_ b, B_ c, B_ d, C_ v, D_ out, E_ values, F_ f),
           (a, b, c, d, v, out, values, f),
           { D_ end = GRIDLANE_COMMON::template run<S_>(a, b - a, c, d - c, out, f, beside(v, v, values));
             return std::pair<D_, E_>(end, values + (end - out)); })

// --- partitions: all are stable

#define GRIDLANE_PARTITION(name)                                                                  \
    GRIDLANE_2(name, (First_ a, First_ b, B_ test), (a, b, test), GRIDLANE_PART(e))               \
    GRIDLANE_3(name, (First_ a, First_ b, B_ c, C_ test), (a, b, c, test),                        \
               GRIDLANE_PART((value_of<B_>)c[i]))
#define GRIDLANE_PART(what)                                                                       \
    { size_t count = b - a;                                                                       \
      scratch<S_, value_of<First_>> made(count);                                                  \
      value_of<First_> *p = made.p;                                                               \
      ptrdiff_t first = GRIDLANE_ONCE(ptrdiff_t to = 0;                                           \
          for (size_t i = 0; i < n; i++) { value_of<First_> e = a[i]; to += test(what) ? 1 : 0; } \
          ptrdiff_t yes = 0, no = to;                                                             \
          for (size_t i = 0; i < n; i++) { value_of<First_> e = a[i];                             \
              new (p + (test(what) ? yes++ : no++)) value_of<First_>(e); }                        \
          return to;);                                                                            \
      GRIDLANE_EACH(count, a[i] = p[i]);                                                          \
      return a + first; }
GRIDLANE_PARTITION(partition)
GRIDLANE_PARTITION(stable_partition)
#define GRIDLANE_PARTED(name)                                                                     \
    GRIDLANE_4(name, (First_ a, First_ b, B_ out, C_ rest, D_ test), (a, b, out, rest, test),     \
               { ptrdiff_t made = GRIDLANE_ONCE(ptrdiff_t to = 0, no = 0;                         \
                     for (size_t i = 0; i < n; i++) { value_of<First_> e = a[i];                  \
                         if (test(e)) out[to++] = e; else rest[no++] = e; } return to;);          \
                 return std::pair<B_, C_>(out + made, rest + ((b - a) - made)); })
GRIDLANE_PARTED(partition_copy)
GRIDLANE_PARTED(stable_partition_copy)
GRIDLANE_2(partition_point, (First_ a, First_ b, B_ test), (a, b, test), GRIDLANE_FIND(!test(e)))
GRIDLANE_2(is_partitioned, (First_ a, First_ b, B_ test), (a, b, test),
           { return GRIDLANE_ONCE(bool ended = false; for (size_t i = 0; i < n; i++) {
                 bool in = test((value_of<First_>)a[i]); if (in && ended) return false; ended = !in; }
                 return true;); })

// --- searches

namespace gridlane {
template <typename I_, typename T, typename F_>
__host__ __device__ ptrdiff_t lower_place(I_ in, size_t count, const T &value, F_ before)
{
    size_t at = 0;
    for (size_t left = count; left;) {
        size_t half = left / 2;
        bool after = before((value_of<I_>)in[at + half], value);
        at = after ? at + half + 1 : at;
        left = after ? left - half - 1 : half;
    }
    return at;
}
template <typename I_, typename T, typename F_>
__host__ __device__ ptrdiff_t upper_place(I_ in, size_t count, const T &value, F_ before)
{
    return lower_place(in, count, value, [=](const value_of<I_> &e, const T &v) { return !before(v, e); });
}
template <typename I_, typename T, typename F_>
__host__ __device__ bool has_place(I_ in, size_t count, const T &value, F_ before)
{
    size_t at = lower_place(in, count, value, before);
    return at < count && !before(value, (value_of<I_>)in[at]);
}
}  // namespace gridlane
#define GRIDLANE_SEARCH(name, place, what)                                                        \
    GRIDLANE_2(name, (First_ a, First_ b, const B_ &value), (a, b, value),                        \
               { B_ v = value; return what GRIDLANE_ONCE(return place(a, n, v, lower());); })     \
    GRIDLANE_SEARCHES(name, place)
#define GRIDLANE_SEARCHES(name, place)                                                            \
    GRIDLANE_3(name, (First_ a, First_ b, B_ c, B_ d, C_ out), (a, b, c, d, out),                 \
               { size_t n = b - a; GRIDLANE_EACH(d - c, out[i] = place(a, n, (value_of<B_>)c[i], lower())); \
                 return out + (d - c); })                                                         \
    GRIDLANE_4(name, (First_ a, First_ b, B_ c, B_ d, C_ out, D_ f), (a, b, c, d, out, f),        \
               { size_t n = b - a; GRIDLANE_EACH(d - c, out[i] = place(a, n, (value_of<B_>)c[i], f)); \
                 return out + (d - c); })
GRIDLANE_SEARCH(lower_bound, lower_place, a +)
GRIDLANE_SEARCH(upper_bound, upper_place, a +)
GRIDLANE_SEARCH(binary_search, has_place, )
GRIDLANE_3(lower_bound, (First_ a, First_ b, const B_ &value, C_ f), (a, b, value, f),
           { B_ v = value; return a + GRIDLANE_ONCE(return lower_place(a, n, v, f);); })
GRIDLANE_3(upper_bound, (First_ a, First_ b, const B_ &value, C_ f), (a, b, value, f),
           { B_ v = value; return a + GRIDLANE_ONCE(return upper_place(a, n, v, f);); })
GRIDLANE_3(binary_search, (First_ a, First_ b, const B_ &value, C_ f), (a, b, value, f),
           { B_ v = value; return GRIDLANE_ONCE(return has_place(a, n, v, f);); })
GRIDLANE_2(equal_range, (First_ a, First_ b, const B_ &value), (a, b, value),
           { return std::pair<First_, First_>(do_lower_bound<S_>(a, b, value), do_upper_bound<S_>(a, b, value)); })
#define GRIDLANE_MISMATCH(condition)                                                              \
    { ptrdiff_t same = GRIDLANE_ONCE(size_t i = 0; while (i < n && condition) i++; return (ptrdiff_t)i;); \
      return std::pair<First_, B_>(a + same, c + same); }
GRIDLANE_2(mismatch, (First_ a, First_ b, B_ c), (a, b, c),
           GRIDLANE_MISMATCH((value_of<First_>)a[i] == (value_of<B_>)c[i]))
GRIDLANE_3(mismatch, (First_ a, First_ b, B_ c, C_ f), (a, b, c, f),
           GRIDLANE_MISMATCH(f((value_of<First_>)a[i], (value_of<B_>)c[i])))
GRIDLANE_3(equal, (First_ a, First_ b, B_ c, C_ f), (a, b, c, f),
           { return do_mismatch<S_>(a, b, c, f).first == b; })
GRIDLANE_2(is_sorted, (First_ a, First_ b, B_ f), (a, b, f),
           { return GRIDLANE_ONCE(for (size_t i = 1; i < n; i++) if (f((value_of<First_>)a[i], (value_of<First_>)a[i - 1])) return false; return true;); })
GRIDLANE_1(is_sorted_until, (First_ a, First_ b), (a, b),
           { return a + GRIDLANE_ONCE(size_t i = 1; for (; i < n; i++) if ((value_of<First_>)a[i] < (value_of<First_>)a[i - 1]) break; return (ptrdiff_t)(i < n ? i : n);); })

// --- scans, folds and copies by key

#define GRIDLANE_SCANNED(same_, joined, begins)                                                   \
    { GRIDLANE_ONCE(value_of<B_> sum = value_of<B_>(); for (size_t i = 0; i < n; i++) {            \
          value_of<First_> e = a[i]; value_of<B_> value = v[i];                                   \
          bool starts = !i || !same_((value_of<First_>)a[i - 1], e); begins } return true;);      \
      return out + (b - a); }
#define GRIDLANE_INCLUSIVE(same_, joined)                                                         \
    GRIDLANE_SCANNED(same_, joined, sum = starts ? value : (value_of<B_>)joined(sum, value); out[i] = sum;)
#define GRIDLANE_EXCLUSIVE(same_, joined, first)                                                  \
    GRIDLANE_SCANNED(same_, joined, if (starts) sum = first; out[i] = sum; sum = joined(sum, value);)
GRIDLANE_3(inclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out), (a, b, v, out),
           GRIDLANE_INCLUSIVE(same(), plus<value_of<B_>>()))
GRIDLANE_4(inclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out, D_ f), (a, b, v, out, f),
           GRIDLANE_INCLUSIVE(f, plus<value_of<B_>>()))
GRIDLANE_5(inclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out, D_ f, E_ g), (a, b, v, out, f, g),
           GRIDLANE_INCLUSIVE(f, g))
GRIDLANE_3(exclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out), (a, b, v, out),
           GRIDLANE_EXCLUSIVE(same(), plus<value_of<B_>>(), value_of<B_>()))
GRIDLANE_4(exclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out, D_ start), (a, b, v, out, start),
           GRIDLANE_EXCLUSIVE(same(), plus<value_of<B_>>(), start))
GRIDLANE_5(exclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out, D_ start, E_ f), (a, b, v, out, start, f),
           GRIDLANE_EXCLUSIVE(f, plus<value_of<B_>>(), start))
GRIDLANE_6(exclusive_scan_by_key, (First_ a, First_ b, B_ v, C_ out, D_ start, E_ f, F_ g), (a, b, v, out, start, f, g),
           GRIDLANE_EXCLUSIVE(f, g, start))
GRIDLANE_5(transform_exclusive_scan, (First_ a, First_ b, B_ out, C_ g, D_ first, E_ f), (a, b, out, g, first, f),
           { return scan<D_, S_>(make_transform_iterator(a, g), b - a, out, f, true, true, first); })
#define GRIDLANE_FOLDED(same_, joined)                                                            \
    { ptrdiff_t made = GRIDLANE_ONCE(ptrdiff_t to = -1; value_of<B_> sum = value_of<B_>();         \
          for (size_t i = 0; i < n; i++) { value_of<First_> e = a[i]; value_of<B_> value = v[i];  \
              bool begins = !i || !same_((value_of<First_>)a[i - 1], e);                          \
              sum = begins ? value : (value_of<B_>)joined(sum, value); to += begins;              \
              if (begins) keys[to] = e; sums[to] = sum; } return to + 1;);                        \
      return std::pair<C_, D_>(keys + made, sums + made); }
GRIDLANE_4(reduce_by_key, (First_ a, First_ b, B_ v, C_ keys, D_ sums), (a, b, v, keys, sums),
           GRIDLANE_FOLDED(same(), plus<value_of<B_>>()))
GRIDLANE_5(reduce_by_key, (First_ a, First_ b, B_ v, C_ keys, D_ sums, E_ f), (a, b, v, keys, sums, f),
           GRIDLANE_FOLDED(f, plus<value_of<B_>>()))
GRIDLANE_6(reduce_by_key, (First_ a, First_ b, B_ v, C_ keys, D_ sums, E_ f, F_ g), (a, b, v, keys, sums, f, g),
           GRIDLANE_FOLDED(f, g))
#define GRIDLANE_UNIQUE(same_, keys, values)                                                      \
    { ptrdiff_t made = GRIDLANE_ONCE(ptrdiff_t to = 0; value_of<First_> last = value_of<First_>(); \
          for (size_t i = 0; i < n; i++) { value_of<First_> e = a[i];                             \
              if (!to || !same_(last, e)) { value_of<B_> value = v[i]; keys[to] = e; values[to++] = value; last = e; } } \
          return to;);                                                                            \
      return std::make_pair(keys + made, values + made); }
GRIDLANE_2(unique_by_key, (First_ a, First_ b, B_ v), (a, b, v), GRIDLANE_UNIQUE(same(), a, v))
GRIDLANE_3(unique_by_key, (First_ a, First_ b, B_ v, C_ f), (a, b, v, f), GRIDLANE_UNIQUE(f, a, v))
GRIDLANE_4(unique_by_key_copy, (First_ a, First_ b, B_ v, C_ keys, D_ values), (a, b, v, keys, values),
           GRIDLANE_UNIQUE(same(), keys, values))
GRIDLANE_5(unique_by_key_copy, (First_ a, First_ b, B_ v, C_ keys, D_ values, E_ f), (a, b, v, keys, values, f),
           GRIDLANE_UNIQUE(f, keys, values))
GRIDLANE_1(unique_count, (First_ a, First_ b), (a, b),
           { return GRIDLANE_ONCE(ptrdiff_t found = n ? 1 : 0; for (size_t i = 1; i < n; i++)
                 found += !((value_of<First_>)a[i] == (value_of<First_>)a[i - 1]); return found;); })
GRIDLANE_3(remove_copy, (First_ a, First_ b, B_ out, const C_ &value), (a, b, out, value), GRIDLANE_KEEP(out, !(e == value)))
GRIDLANE_4(replace_copy, (First_ a, First_ b, B_ out, const C_ &old, const D_ &value), (a, b, out, old, value),
           { C_ was = old; D_ v = value; GRIDLANE_EACH(b - a, value_of<First_> e = a[i]; out[i] = e == was ? (value_of<First_>)v : e); return out + (b - a); })
GRIDLANE_4(replace_copy_if, (First_ a, First_ b, B_ out, C_ test, const D_ &value), (a, b, out, test, value),
           { D_ v = value; GRIDLANE_EACH(b - a, value_of<First_> e = a[i]; out[i] = test(e) ? (value_of<First_>)v : e); return out + (b - a); })
GRIDLANE_2(reverse_copy, (First_ a, First_ b, B_ out), (a, b, out),
           { size_t n = b - a; GRIDLANE_EACH(n, out[i] = (value_of<First_>)a[n - 1 - i]); return out + n; })
GRIDLANE_4(gather_if, (First_ a, First_ b, B_ map, C_ in, D_ out), (a, b, map, in, out),
           { GRIDLANE_EACH(b - a, if (map[i]) out[i] = (value_of<C_>)in[(value_of<First_>)a[i]]); return out + (b - a); })
GRIDLANE_3(adjacent_difference, (First_ a, First_ b, B_ out, C_ f), (a, b, out, f),
           { GRIDLANE_EACH(b - a, if (i) out[i] = f((value_of<First_>)a[i], (value_of<First_>)a[i - 1]); else out[i] = (value_of<First_>)a[i]); return out + (b - a); })
GRIDLANE_2(swap_ranges, (First_ a, First_ b, B_ c), (a, b, c),
           { GRIDLANE_EACH(b - a, value_of<First_> e = a[i]; a[i] = (value_of<B_>)c[i]; c[i] = e); return c + (b - a); })
GRIDLANE_3(generate_n, (First_ a, B_ n, C_ f), (a, n, f), { do_generate<S_>(a, a + n, f); return a + n; })
GRIDLANE_3(uninitialized_copy_n, (First_ a, B_ n, C_ out), (a, n, out), { return copied<S_>(a, (size_t)n, out); })
