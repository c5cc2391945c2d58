// thrust's memory of the device for whole programs: references, pointers and vectors.
#pragma once
#ifdef GRIDLANE_PROGRAM
#include <cstdio>
#include <initializer_list>
#include <iostream>  // programs count on it
#include <system_error>
#include <vector>

namespace thrust {

namespace gridlane {
struct errors : std::error_category {
    const char *name() const noexcept override { return "cuda"; }
    std::string message(int error) const override { return cudaGetErrorString((cudaError_t)error); }
};
}  // namespace gridlane
inline const std::error_category &cuda_category()
{
    static const gridlane::errors made;
    return made;
}
namespace gridlane {
// A call of the runtime that has to succeed, as its caller returns no status.
inline void must(cudaError_t error)
{
    if (error)
        throw std::system_error(error, cuda_category());
}
template <typename F_> __global__ void for_places(size_t count, F_ f)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        f(i);
}
// Where an algorithm runs: by kernels on memory of the device, or by the caller.
struct on_device {
    template <typename F_> static void each(size_t count, F_ f)
    {
        if (count)
            for_places<<<(unsigned)((count + 127) / 128), count < 128 ? (unsigned)count : 128>>>(count, f);
        must(cudaGetLastError());
        must(cudaDeviceSynchronize());
    }
    static void *allocate(size_t bytes)
    {
        void *p = nullptr;
        if (bytes)
            must(cudaMalloc(&p, bytes));
        return p;
    }
    static void release(void *p) { (void)cudaFree(p); }  // also while an error is thrown
    static void read(void *to, const void *from, size_t bytes)
    {
        must(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    }
};
struct on_host {
    template <typename F_> static void each(size_t count, F_ f)
    {
        for (size_t i = 0; i < count; i++)
            f(i);
    }
    static void *allocate(size_t bytes) { return ::operator new(bytes); }
    static void release(void *p) { ::operator delete(p); }
    static void read(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
};
}  // namespace gridlane

template <typename T> class device_ptr;
template <typename T> class device_reference {
    T *p;
    using Value = std::remove_cv_t<T>;

public:
    using value_type = Value;
    __host__ __device__ explicit device_reference(T *p) : p(p) {}
    __host__ __device__ device_reference(const device_reference &) = default;
    __host__ __device__ operator Value() const
    {
#ifdef __CUDA_ARCH__
        return *p;
#else
        alignas(Value) char made[sizeof(Value)];
        gridlane::must(cudaMemcpy(made, p, sizeof(Value), cudaMemcpyDeviceToHost));
        return *(Value *)made;
#endif
    }
    __host__ __device__ const device_reference &operator=(const Value &value) const
    {
#ifdef __CUDA_ARCH__
        *p = value;
#else
        gridlane::must(cudaMemcpy((void *)p, &value, sizeof(Value), cudaMemcpyHostToDevice));
#endif
        return *this;
    }
    __host__ __device__ const device_reference &operator=(const device_reference &other) const
    {
        return *this = (Value)other;
    }
#define GRIDLANE_CHANGE(op)                                                                       \
    __host__ __device__ const device_reference &operator op##=(const Value &value) const          \
    {                                                                                             \
        return *this = (Value)((Value) * this op value);                                          \
    }
    GRIDLANE_CHANGE(+) GRIDLANE_CHANGE(-) GRIDLANE_CHANGE(*) GRIDLANE_CHANGE(/)
#undef GRIDLANE_CHANGE
    __host__ __device__ const device_reference &operator++() const { return *this += Value(1); }
    __host__ __device__ T &gridlane_memory() const { return *p; }
    __host__ __device__ device_ptr<T> operator&() const { return device_ptr<T>(p); }
    friend std::ostream &operator<<(std::ostream &out, const device_reference &r)
    {
        return out << (Value)r;
    }
};
template <typename T> class device_ptr {
    T *p;

public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using reference = device_reference<T>;
    using pointer = device_ptr;
    using difference_type = ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;
    using gridlane_system = gridlane::on_device;
    __host__ __device__ device_ptr(std::nullptr_t = nullptr) : p(nullptr) {}
    __host__ __device__ explicit device_ptr(T *p) : p(p) {}
    template <typename U, typename = std::enable_if_t<std::is_convertible<U *, T *>::value>>
    __host__ __device__ device_ptr(const device_ptr<U> &other) : p(other.get()) {}
    __host__ __device__ T *get() const { return p; }
    __host__ __device__ reference operator*() const { return reference(p); }
    __host__ __device__ reference operator[](ptrdiff_t n) const { return reference(p + n); }
    __host__ __device__ device_ptr &operator++() { return ++p, *this; }
    __host__ __device__ device_ptr operator++(int) { return device_ptr(p++); }
    __host__ __device__ device_ptr &operator--() { return --p, *this; }
    __host__ __device__ device_ptr operator--(int) { return device_ptr(p--); }
    __host__ __device__ device_ptr &operator+=(ptrdiff_t n) { return p += n, *this; }
    __host__ __device__ device_ptr &operator-=(ptrdiff_t n) { return p -= n, *this; }
    __host__ __device__ device_ptr operator+(ptrdiff_t n) const { return device_ptr(p + n); }
    __host__ __device__ device_ptr operator-(ptrdiff_t n) const { return device_ptr(p - n); }
    __host__ __device__ ptrdiff_t operator-(const device_ptr &other) const { return p - other.p; }
    __host__ __device__ bool operator==(const device_ptr &other) const { return p == other.p; }
    __host__ __device__ bool operator!=(const device_ptr &other) const { return p != other.p; }
    __host__ __device__ bool operator<(const device_ptr &other) const { return p < other.p; }
    __host__ __device__ bool operator>(const device_ptr &other) const { return p > other.p; }
    __host__ __device__ bool operator<=(const device_ptr &other) const { return p <= other.p; }
    __host__ __device__ bool operator>=(const device_ptr &other) const { return p >= other.p; }
    __host__ __device__ friend device_ptr operator+(ptrdiff_t n, const device_ptr &i) { return i + n; }
    __host__ __device__ explicit operator bool() const { return p != nullptr; }
};
template <> class device_ptr<void> {
    void *p;

public:
    using element_type = void;
    __host__ __device__ device_ptr(std::nullptr_t = nullptr) : p(nullptr) {}
    __host__ __device__ explicit device_ptr(void *p) : p(p) {}
    template <typename U> __host__ __device__ device_ptr(const device_ptr<U> &other) : p(other.get()) {}
    __host__ __device__ void *get() const { return p; }
    __host__ __device__ bool operator==(const device_ptr &other) const { return p == other.p; }
    __host__ __device__ bool operator!=(const device_ptr &other) const { return p != other.p; }
    __host__ __device__ explicit operator bool() const { return p != nullptr; }
};
template <typename T> __host__ __device__ device_ptr<T> device_pointer_cast(T *p)
{
    return device_ptr<T>(p);
}
template <typename T> __host__ __device__ device_ptr<T> device_pointer_cast(device_ptr<T> p)
{
    return p;
}
template <typename T> __host__ __device__ T *raw_pointer_cast(T *p) { return p; }
template <typename T> __host__ __device__ T *raw_pointer_cast(const device_ptr<T> &p)
{
    return p.get();
}
template <typename T> __host__ __device__ T &raw_reference_cast(T &r) { return r; }
template <typename T> __host__ __device__ T &raw_reference_cast(device_reference<T> r)
{
    return r.gridlane_memory();
}
template <typename T> device_ptr<T> device_malloc(size_t count)
{
    return device_ptr<T>((T *)gridlane::on_device::allocate(count * sizeof(T)));
}
inline device_ptr<void> device_malloc(size_t bytes)
{
    return device_ptr<void>(gridlane::on_device::allocate(bytes));
}
template <typename T> void device_free(device_ptr<T> p) { gridlane::must(cudaFree((void *)p.get())); }

// A vector takes its memory itself, whatever its allocator.
template <typename T> struct device_allocator {
    using value_type = T;
    using pointer = device_ptr<T>;
    using const_pointer = device_ptr<const T>;
    using reference = device_reference<T>;
    using const_reference = device_reference<const T>;
    using size_type = size_t;
    using difference_type = ptrdiff_t;
    template <typename U_> struct rebind { using other = device_allocator<U_>; };
    pointer allocate(size_t count) { return device_malloc<T>(count); }
    void deallocate(pointer p, size_t) { device_free(p); }
};
template <typename T> using device_malloc_allocator = device_allocator<T>;
namespace gridlane {
template <typename I_, typename O_> void copy_between(I_ first, I_ last, O_ out);
}
template <typename T, typename A_ = void> class device_vector;
template <typename I_> class reverse_iterator;
template <typename T, typename A_ = std::allocator<T>> class host_vector : public std::vector<T, A_> {
public:
    using std::vector<T, A_>::vector;
    host_vector() = default;
    host_vector(const std::vector<T, A_> &other) : std::vector<T, A_>(other) {}
    template <typename B_> host_vector(const device_vector<T, B_> &other) { *this = other; }
    template <typename B_> host_vector &operator=(const device_vector<T, B_> &other)
    {
        this->resize(other.size());
        if (other.size())
            gridlane::on_device::read(this->data(), other.data().get(), other.size() * sizeof(T));
        return *this;
    }
    host_vector &operator=(const std::vector<T, A_> &other)
    {
        std::vector<T, A_>::operator=(other);
        return *this;
    }
};
template <typename T, typename A_> class device_vector {
    T *p = nullptr;
    size_t count = 0, room = 0;

    void upload(const T *from, size_t n)
    {
        remake(n);
        if (n)
            gridlane::must(cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice));
    }
    void remake(size_t n)  // without the elements
    {
        if (n > room) {
            gridlane::on_device::release(p);
            p = (T *)gridlane::on_device::allocate(n * sizeof(T));
            room = n;
        }
        count = n;
    }
    void set(size_t from, size_t to, const T &value)
    {
        T *at = p;
        gridlane::on_device::each(to - from, [=] __device__(size_t i) { at[from + i] = value; });
    }

public:
    using value_type = T;
    using iterator = device_ptr<T>;
    using const_iterator = device_ptr<const T>;
    using reference = device_reference<T>;
    using const_reference = device_reference<const T>;
    using pointer = device_ptr<T>;
    using const_pointer = device_ptr<const T>;
    using size_type = size_t;
    using difference_type = ptrdiff_t;
    device_vector() {}
    explicit device_vector(size_t n) { resize(n); }
    device_vector(size_t n, const T &value) { resize(n, value); }
    template <typename I_, typename = typename std::iterator_traits<I_>::value_type>
    device_vector(I_ first, I_ last) { assign(first, last); }
    template <typename U_, typename B_> device_vector(const std::vector<U_, B_> &other)
    {
        *this = other;
    }
    device_vector(std::initializer_list<T> list) { upload(list.begin(), list.size()); }
    device_vector(const device_vector &other) { *this = other; }
    device_vector(device_vector &&other) noexcept { swap(other); }
    template <typename U_, typename B_> device_vector(const device_vector<U_, B_> &other)
    {
        assign(other.begin(), other.end());
    }
    ~device_vector() { (void)cudaFree(p); }
    device_vector &operator=(const device_vector &other)
    {
        if (this != &other) {
            remake(other.count);
            if (count)
                gridlane::must(cudaMemcpy(p, other.p, count * sizeof(T), cudaMemcpyDeviceToDevice));
        }
        return *this;
    }
    device_vector &operator=(device_vector &&other) noexcept { return swap(other), *this; }
    template <typename U_, typename B_> device_vector &operator=(const std::vector<U_, B_> &other)
    {
        std::vector<T> same(other.begin(), other.end());
        return upload(same.data(), same.size()), *this;
    }
    template <typename I_> std::enable_if_t<!std::is_integral<I_>::value> assign(I_ first, I_ last)
    {
        if constexpr (std::is_base_of<std::random_access_iterator_tag,
                                      typename std::iterator_traits<I_>::iterator_category>::value &&
                      !std::is_pointer<I_>::value) {
            remake(last - first);
            gridlane::copy_between(first, last, begin());
        } else {
            std::vector<T> same(first, last);
            upload(same.data(), same.size());
        }
    }
    void assign(size_t n, const T &value)
    {
        remake(n);
        set(0, n, value);
    }
    iterator begin() { return iterator(p); }
    iterator end() { return iterator(p + count); }
    const_iterator begin() const { return const_iterator(p); }
    const_iterator end() const { return const_iterator(p + count); }
    reverse_iterator<iterator> rbegin() { return reverse_iterator<iterator>(end()); }
    reverse_iterator<iterator> rend() { return reverse_iterator<iterator>(begin()); }
    reverse_iterator<const_iterator> rbegin() const { return reverse_iterator<const_iterator>(end()); }
    reverse_iterator<const_iterator> rend() const { return reverse_iterator<const_iterator>(begin()); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    pointer data() { return pointer(p); }
    const_pointer data() const { return const_pointer(p); }
    reference operator[](size_t n) { return reference(p + n); }
    const_reference operator[](size_t n) const { return const_reference(p + n); }
    reference front() { return (*this)[0]; }
    reference back() { return (*this)[count - 1]; }
    const_reference front() const { return (*this)[0]; }
    const_reference back() const { return (*this)[count - 1]; }
    size_t size() const { return count; }
    size_t capacity() const { return room; }
    bool empty() const { return !count; }
    void reserve(size_t n)
    {
        if (n <= room)
            return;
        device_vector made;
        made.remake(n);
        made.count = count;
        if (count)
            gridlane::must(cudaMemcpy(made.p, p, count * sizeof(T), cudaMemcpyDeviceToDevice));
        swap(made);
    }
    void resize(size_t n, const T &value = T())
    {
        if (n > room)
            reserve(n < 2 * room ? 2 * room : n);
        if (n > count)
            set(count, n, value);
        count = n;
    }
    void clear() { count = 0; }
    void shrink_to_fit() {}
    void push_back(const T &value) { resize(count + 1, value); }
    void pop_back() { count--; }
    void swap(device_vector &other)
    {
        std::swap(p, other.p);
        std::swap(count, other.count);
        std::swap(room, other.room);
    }
    template <typename I_, typename = typename std::iterator_traits<I_>::value_type>
    void insert(iterator place, I_ first, I_ last)
    {
        device_vector more(first, last), behind(place, end());
        size_t at = place - begin();
        resize(at + more.size() + behind.size());
        gridlane::copy_between(more.begin(), more.end(), begin() + at);
        gridlane::copy_between(behind.begin(), behind.end(), begin() + at + more.size());
    }
    void insert(iterator place, size_t n, const T &value)
    {
        device_vector more(n, value);
        insert(place, more.begin(), more.end());
    }
    iterator insert(iterator place, const T &value)
    {
        size_t at = place - begin();
        insert(place, (size_t)1, value);
        return begin() + at;
    }
    iterator erase(iterator first, iterator last)
    {
        std::vector<T> kept(count);
        gridlane::on_device::read(kept.data(), p, count * sizeof(T));
        size_t place = first - begin();
        kept.erase(kept.begin() + place, kept.begin() + (last - begin()));
        upload(kept.data(), kept.size());
        return begin() + place;
    }
    iterator erase(iterator place) { return erase(place, place + 1); }
    bool operator!=(const device_vector &other) const { return !(*this == other); }
    bool operator==(const device_vector &other) const
    {
        return host_vector<T>(*this) == host_vector<T>(other);
    }
};
template <typename T, typename A_ = void> using universal_vector = device_vector<T, A_>;

}  // namespace thrust
#endif
