// thrust's algorithms in forms with a stencil or a comparison of their own, and shuffles, for whole
// programs: the macros are those of gridlane_program.h and gridlane_ordered.h, after which it is included.

GRIDLANE_3(uninitialized_fill_n, (First_ a, B_ n, const C_ &value), (a, n, value),
           { C_ v = value; GRIDLANE_EACH((size_t)n, a[i] = v); return a + n; })
GRIDLANE_3(unique_copy, (First_ a, First_ b, B_ out, C_ f), (a, b, out, f),
           GRIDLANE_KEEP(out, !i || !f((value_of<First_>)a[i - 1], e)))
GRIDLANE_2(unique_count, (First_ a, First_ b, B_ f), (a, b, f),
           { return GRIDLANE_ONCE(ptrdiff_t found = n ? 1 : 0; for (size_t i = 1; i < n; i++)
                 found += !f((value_of<First_>)a[i - 1], (value_of<First_>)a[i]); return found;); })
GRIDLANE_4(remove_copy_if, (First_ a, First_ b, B_ c, C_ out, D_ test), (a, b, c, out, test),
           GRIDLANE_KEEP(out, !test((value_of<B_>)c[i])))
GRIDLANE_4(replace_if, (First_ a, First_ b, B_ c, C_ test, const D_ &value), (a, b, c, test, value),
           { D_ v = value; GRIDLANE_EACH(b - a, if (test((value_of<B_>)c[i])) a[i] = v); })
GRIDLANE_5(replace_copy_if, (First_ a, First_ b, B_ c, C_ out, D_ test, const E_ &value), (a, b, c, out, test, value),
           { E_ v = value; GRIDLANE_EACH(b - a, out[i] = test((value_of<B_>)c[i]) ? (value_of<First_>)v : (value_of<First_>)a[i]); return out + (b - a); })
GRIDLANE_5(transform_if, (First_ a, First_ b, B_ c, C_ out, D_ f, E_ test), (a, b, c, out, f, test),
           { GRIDLANE_EACH(b - a, if (test((value_of<B_>)c[i])) out[i] = f((value_of<First_>)a[i])); return out + (b - a); })
GRIDLANE_6(transform_if, (First_ a, First_ b, B_ c, C_ d, D_ out, E_ f, F_ test), (a, b, c, d, out, f, test),
           { GRIDLANE_EACH(b - a, if (test((value_of<C_>)d[i])) out[i] = f((value_of<First_>)a[i], (value_of<B_>)c[i])); return out + (b - a); })
GRIDLANE_5(gather_if, (First_ a, First_ b, B_ c, C_ in, D_ out, E_ test), (a, b, c, in, out, test),
           { GRIDLANE_EACH(b - a, if (test((value_of<B_>)c[i])) out[i] = (value_of<C_>)in[(value_of<First_>)a[i]]); return out + (b - a); })
GRIDLANE_5(scatter_if, (First_ a, First_ b, B_ map, C_ c, D_ out, E_ test), (a, b, map, c, out, test),
           { GRIDLANE_EACH(b - a, if (test((value_of<C_>)c[i])) out[(value_of<B_>)map[i]] = (value_of<First_>)a[i]); })
#define GRIDLANE_PARTED_BY(name)                                                                  \
    GRIDLANE_5(name, (First_ a, First_ b, B_ c, C_ out, D_ rest, E_ test), (a, b, c, out, rest, test), \
               { ptrdiff_t made = GRIDLANE_ONCE(ptrdiff_t to = 0, no = 0;                         \
                     for (size_t i = 0; i < n; i++) { value_of<First_> e = a[i];                  \
                         if (test((value_of<B_>)c[i])) out[to++] = e; else rest[no++] = e; } return to;); \
                 return std::pair<C_, D_>(out + made, rest + ((b - a) - made)); })
GRIDLANE_PARTED_BY(partition_copy)
GRIDLANE_PARTED_BY(stable_partition_copy)
#undef GRIDLANE_PARTED_BY
GRIDLANE_2(minmax_element, (First_ a, First_ b, B_ f), (a, b, f),
           { return std::pair<First_, First_>(do_min_element<S_>(a, b, f), do_max_element<S_>(a, b, f)); })
GRIDLANE_3(equal_range, (First_ a, First_ b, const B_ &value, C_ f), (a, b, value, f),
           { return std::pair<First_, First_>(do_lower_bound<S_>(a, b, value, f), do_upper_bound<S_>(a, b, value, f)); })
GRIDLANE_2(is_sorted_until, (First_ a, First_ b, B_ f), (a, b, f),
           { return a + GRIDLANE_ONCE(size_t i = 1; for (; i < n; i++) if (f((value_of<First_>)a[i], (value_of<First_>)a[i - 1])) break; return (ptrdiff_t)(i < n ? i : n);); })
GRIDLANE_4(inclusive_scan, (First_ a, First_ b, B_ out, C_ first, D_ f), (a, b, out, first, f),
           { return scan<C_, S_>(a, b - a, out, f, false, true, first); })
GRIDLANE_5(transform_inclusive_scan, (First_ a, First_ b, B_ out, C_ g, D_ first, E_ f), (a, b, out, g, first, f),
           { return scan<D_, S_>(make_transform_iterator(a, g), b - a, out, f, false, true, first); })

// --- shuffles: places in the order of keys, which are mixed from what the engine draws

namespace gridlane {
__host__ __device__ inline uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
template <typename S_, typename I_, typename O_, typename E_> O_ shuffled(I_ in, size_t n, O_ out, E_ &engine)
{
    using T = value_of<I_>;
    uint64_t drawn = 0;
    for (int i = 0; i < 4; i++)
        drawn = mixed(drawn * 0x9e3779b97f4a7c15ull + (uint64_t)engine() + 1);
    scratch<S_, uint64_t> keys(n);
    scratch<S_, T> elements(n);
    uint64_t *key = keys.p;
    T *e = elements.p;
    S_::each(n, [=] __host__ __device__(size_t i) {
        key[i] = mixed(drawn + 0x9e3779b97f4a7c15ull * (i + 1));
        new (e + i) T(in[i]);
    });
    sort<S_>(key, n, e, true, lower());
    S_::each(n, [=] __host__ __device__(size_t i) { out[i] = e[i]; });
    return out + n;
}
}  // namespace gridlane
GRIDLANE_2(shuffle, (First_ a, First_ b, B_ &&engine), (a, b, engine), { shuffled<S_>(a, b - a, a, engine); })
GRIDLANE_3(shuffle_copy, (First_ a, First_ b, B_ out, C_ &&engine), (a, b, out, engine),
           { return shuffled<S_>(a, b - a, out, engine); })
#undef GRIDLANE_6
#undef GRIDLANE_7
#undef GRIDLANE_RULE
#undef GRIDLANE_MERGE
#undef GRIDLANE_UNION
#undef GRIDLANE_DIFFERENCE
#undef GRIDLANE_SYMMETRIC
#undef GRIDLANE_COMMON
#undef GRIDLANE_PARTITION
#undef GRIDLANE_PART
#undef GRIDLANE_PARTED
#undef GRIDLANE_SEARCH
#undef GRIDLANE_SEARCHES
#undef GRIDLANE_MISMATCH
#undef GRIDLANE_SCANNED
#undef GRIDLANE_INCLUSIVE
#undef GRIDLANE_EXCLUSIVE
#undef GRIDLANE_FOLDED
#undef GRIDLANE_UNIQUE
