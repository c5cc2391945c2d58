// thrust's random numbers, placeholders, shuffles, iterators of outputs and forms with stencils. With
// ON_HOST the host runs them.
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_allocator.h>
#include <thrust/device_vector.h>
#include <thrust/binary_search.h>
#include <thrust/extrema.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/generate.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <thrust/iterator/transform_input_output_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/shuffle.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_scan.h>
#include <thrust/uninitialized_fill.h>
#include <thrust/unique.h>
#include <thrust/zip_function.h>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <list>
#include <random>
#include <vector>
#ifdef ON_HOST
template <typename T> using Vector = thrust::host_vector<T>;
#else
template <typename T> using Vector = thrust::device_vector<T>;
#endif
typedef Vector<int> Ints;
using namespace thrust::placeholders;
struct even { __host__ __device__ bool operator()(int a) const { return a % 2 == 0; } };
struct falls { __host__ __device__ bool operator()(int a, int b) const { return b < a; } };
struct tens { __host__ __device__ bool operator()(int a, int b) const { return a / 10 == b / 10; } };
struct negative { __host__ __device__ int operator()(int a) const { return -a; } };
struct twice { __host__ __device__ void operator()(int &a) const { a *= 2; } };
struct no_const { __host__ __device__ int operator()(int a) { return a + 1; } };
struct into { int *p; __host__ __device__ void operator()(int i, int v) const { p[i] = v * 100; } };
struct to_second { __host__ __device__ void operator()(int &a, int &b) { b = a; } };
struct left { template <typename T> __host__ __device__ int operator()(const T &t) const { return thrust::get<0>(t) ? thrust::get<2>(t) : -thrust::get<1>(t); } };
struct second { template <typename T> __host__ __device__ void operator()(T &&t) const { thrust::get<1>(t) += thrust::get<0>(t); } };
struct drawn { __host__ __device__ float operator()(int i) const { thrust::minstd_rand e(7); e.discard(i); return thrust::uniform_real_distribution<float>(10, 20)(e); } };
template <typename V> void show(const char *name, const V &v) {
    printf("%s:", name);
    for (size_t i = 0; i < v.size(); i++) printf(" %g", (double)v[i]);
    printf("\n");
}
template <typename E> void engine(const char *name) {
    E first, other(1234), skipped(1234);
    unsigned long long last = 0;
    for (int i = 0; i < 10000; i++) last = first();
    printf("%s: %llu", name, last);
    for (int i = 0; i < 50; i++) last = other();
    printf(" %llu %llu", last, (unsigned long long)other());
    skipped.discard(51);
    printf(" %d %d %llu %llu\n", other == skipped, other != first, (unsigned long long)E::min, (unsigned long long)E::max);
}
void numbers() {
    using namespace thrust::random;
    engine<minstd_rand0>("minstd_rand0"); engine<minstd_rand>("minstd_rand"); engine<taus88>("taus88");
    engine<ranlux24_base>("ranlux24_base"); engine<ranlux48_base>("ranlux48_base"); engine<ranlux24>("ranlux24"); engine<ranlux48>("ranlux48");
    engine<linear_congruential_engine<unsigned, 1664525, 1013904223, 0>>("wrapping");
    taus88 e(5);
    thrust::uniform_int_distribution<int> dice(1, 6);
    thrust::uniform_real_distribution<double> real(-1, 1);
    for (int i = 0; i < 10; i++) printf("%d ", dice(e));
    double one = real(e), two = real(e);
    printf("%.12f %.12f %d %d %g\n", one, two, dice.a(), dice.max(), real.b());
    thrust::random::normal_distribution<double> bell(3, 2);
    double sum = 0, squares = 0;
    int within = 0;
    const int n = 20000;
    for (int i = 0; i < n; i++) { double x = bell(e); sum += x; squares += (x - 3) * (x - 3); within += fabs(x - 3) < 2; }
    printf("normal: %d %d %d\n", fabs(sum / n - 3) < 0.05, fabs(squares / n - 4) < 0.15, abs(within - 13654) < 200);
    Vector<float> v(5);
    thrust::transform(thrust::make_counting_iterator(0), thrust::make_counting_iterator(5), v.begin(), drawn());
    show("drawn", v);
}
void shuffles() {
    const int n = 1000;
    Ints v(n), a(n), b(n), c(n);
    thrust::sequence(v.begin(), v.end());
    thrust::default_random_engine e(42), same(42), other(43);
    thrust::shuffle_copy(v.begin(), v.end(), a.begin(), e);
    thrust::shuffle_copy(v.begin(), v.end(), b.begin(), same);
    thrust::shuffle_copy(v.begin(), v.end(), c.begin(), other);
    thrust::host_vector<int> x = a, y = b, z = c;
    int moved = 0, near = 0;
    for (int i = 0; i < n; i++) { moved += x[i] != i; near += i && abs(x[i] - x[i - 1]) < 20; }
    printf("shuffled: %d %d %d %d", x == y, x != z, moved > 900, near < 150);
    thrust::shuffle_copy(v.begin(), v.end(), b.begin(), e);  // the engine has gone on
    y = b;
    printf(" %d", x != y);
    thrust::shuffle(v.begin(), v.end(), thrust::taus88(9));
    y = v;
    thrust::sort(v.begin(), v.end()); thrust::sort(a.begin(), a.end());
    thrust::host_vector<int> p = v, q = a;
    bool all = true;
    for (int i = 0; i < n; i++) all &= p[i] == i && q[i] == i;
    int counts[24] = {};  // each order of four comes about as often
    for (int s = 0; s < 480; s++) {
        thrust::minstd_rand seed(s + 1);
        thrust::host_vector<int> four(4);
        for (int i = 0; i < 4; i++) four[i] = i;
        thrust::shuffle(four.begin(), four.end(), seed);
        int place = 0;
        for (int i = 0, f = 6; i < 3; f /= 3 - i, i++) { int less = 0; for (int j = i + 1; j < 4; j++) less += four[j] < four[i]; place += less * f; }
        counts[place]++;
    }
    int least = 480;
    for (int i = 0; i < 24; i++) least = counts[i] < least ? counts[i] : least;
    printf(" %d %d %d\n", y != p, all, least > 2);
}
void places() {
    Ints x(6), y(6, 10), z(6);
    thrust::sequence(x.begin(), x.end());
    int a = 3;
    thrust::transform(x.begin(), x.end(), y.begin(), z.begin(), a * _1 + _2); show("axpy", z);
    thrust::transform(x.begin(), x.end(), z.begin(), (_1 - 2) * -_1 % 5); show("one", z);
    printf("%d %d", (int)thrust::count_if(x.begin(), x.end(), _1 > 1 && _1 != 4), (int)thrust::reduce(x.begin(), x.end(), 1, (_1 ^ _2) & 255 | 0));
    thrust::for_each(x.begin(), x.end(), _1 += 100); thrust::for_each(y.begin(), y.begin() + 2, _1 = 7);
    printf(" %d\n", (int)thrust::all_of(x.begin(), x.end(), !(_1 < 100))); show("added", x); show("set", y);
}
void outputs() {
    Ints x(6), y(6), z(6, -1);
    thrust::sequence(x.begin(), x.end(), 1);
    thrust::copy(x.begin(), x.end(), thrust::make_transform_output_iterator(y.begin(), negative())); show("negative", y);
    auto both = thrust::make_transform_input_output_iterator(y.begin(), negative(), _1 * 2);
    thrust::transform(both, both + 3, both, _1 + 100); show("both", y);
    thrust::copy(x.begin(), x.end(), thrust::make_tabulate_output_iterator(into{thrust::raw_pointer_cast(z.data())})); show("called", z);
    auto end = thrust::reduce_by_key(x.begin(), x.end(), x.begin(), thrust::make_discard_iterator(), y.begin(), tens());
    printf("%d %d\n", (int)(end.second - y.begin()), (int)y[0]);
    thrust::copy(x.begin(), x.begin() + 3, std::ostream_iterator<int>(std::cout, ";"));
    std::list<int> list = {4, 5};
    std::vector<int> vector;
    thrust::copy(list.begin(), list.end(), x.begin() + 4); thrust::copy(x.begin() + 3, x.end(), std::back_inserter(vector)); show("", vector);
    thrust::for_each(thrust::make_zip_iterator(x.begin(), z.begin()), thrust::make_zip_iterator(x.end(), z.end()), thrust::make_zip_function(to_second()));
    show("from the first", z);
    // The first element has none on its left, which is not read.
    thrust::transform(thrust::make_zip_iterator(thrust::make_counting_iterator(0), x.begin(), x.begin() - (1 << 30)), thrust::make_zip_iterator(thrust::make_counting_iterator(1), x.begin() + 1, x.begin() + 1 - (1 << 30)), z.begin(), left());
    printf("%d\n", (int)z[0]);
    thrust::discard_iterator<> nothing;
    thrust::copy(x.begin(), x.end(), nothing);
    thrust::for_each(x.begin(), x.end(), twice()); show("twice", x);
    thrust::transform(x.begin(), x.end(), x.begin(), no_const()); show("plus one", x);
    thrust::for_each_n(thrust::make_zip_iterator(x.begin(), z.begin()), 6, second()); show("zipped", z);
    thrust::device_vector<int> d(3, 5);
    d.insert(d.begin() + 1, 7); d.insert(d.end(), 2, 9);
    show("inserted", thrust::host_vector<int>(d));
    thrust::constant_iterator<int, int> five(5);
    std::vector<char> letters = {'a', 'b', 'c'};  // copy is also a name of std
    thrust::device_vector<char> some(letters.begin(), letters.end());
    printf("%c %d\n", (char)some[2], five[2]);
    const thrust::device_vector<int> &same = d;
    thrust::device_allocator<int> allocator;
    thrust::device_ptr<int> p = allocator.allocate(2);
    p[1] = same.front() + same.back();
    printf("%d\n", (int)p[1]);
    allocator.deallocate(p, 2);
}
void forms() {
    Ints x(10), s(10), y(10), z(10);
    thrust::sequence(x.begin(), x.end(), 5, 3);
    thrust::transform(x.begin(), x.end(), s.begin(), _1 % 4);
    auto clear = [&] { thrust::fill(y.begin(), y.end(), -1); thrust::fill(z.begin(), z.end(), -1); };
    clear(); thrust::unique_copy(x.begin(), x.end(), y.begin(), tens()); show("unique", y);
    printf("%d\n", (int)thrust::unique_count(x.begin(), x.end(), tens()));
    clear(); thrust::remove_copy_if(x.begin(), x.end(), s.begin(), y.begin(), even()); show("removed", y);
    clear(); thrust::transform_if(x.begin(), x.end(), s.begin(), y.begin(), negative(), even()); show("some", y);
    clear(); thrust::transform_if(x.begin(), x.end(), x.begin(), s.begin(), y.begin(), _1 + _2, even()); show("sums", y);
    clear(); thrust::gather_if(s.begin(), s.end(), x.begin(), x.begin(), y.begin(), even()); show("gathered", y);
    clear(); thrust::scatter_if(x.begin(), x.begin() + 4, thrust::make_counting_iterator(2), s.begin(), y.begin(), even()); show("scattered", y);
    clear(); thrust::partition_copy(x.begin(), x.end(), s.begin(), y.begin(), z.begin(), even()); show("even", y); show("odd", z);
    clear(); thrust::replace_copy_if(x.begin(), x.end(), s.begin(), y.begin(), even(), 77); show("replaced", y);
    thrust::replace_if(y.begin(), y.end(), s.begin(), _1 == 3, 88); show("again", y);
    auto ends = thrust::minmax_element(s.begin(), s.end(), falls());
    printf("%d %d\n", (int)*ends.first, (int)*ends.second);
    thrust::sort(y.begin(), y.end(), falls());
    auto range = thrust::equal_range(y.begin(), y.end(), 77, falls());
    printf("%d %d %d\n", (int)(range.first - y.begin()), (int)(range.second - y.begin()), (int)(thrust::is_sorted_until(x.begin(), x.end(), falls()) - x.begin()));
    thrust::uninitialized_fill_n(y.begin(), 3, 4); show("filled", y);
    thrust::inclusive_scan(s.begin(), s.end(), y.begin(), 100, thrust::plus<int>()); show("from 100", y);
    thrust::transform_inclusive_scan(s.begin(), s.end(), y.begin(), negative(), 100, thrust::plus<int>()); show("down", y);
}
// Factors beyond 32 bits are the C++ library's, where thrust's own overflow.
void large() {
#ifndef ON_HOST
    std::linear_congruential_engine<unsigned long long, 25214903917ull, 11, 1ull << 48> right(5);
    thrust::linear_congruential_engine<unsigned long long, 25214903917ull, 11, 1ull << 48> e(5), far(5);
    bool same = true;
    for (int i = 0; i < 100; i++) same &= e() == right();
    far.discard(100);
    printf("48 bits: %d %d\n", same, far == e);
#endif
}
int main() { numbers(); shuffles(); places(); outputs(); forms(); large(); }
