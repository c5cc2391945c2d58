// Surface objects: reads and writes on the device. The x coordinate counts bytes.
#pragma once

// How many elements a texel has, and of how many bytes.
template <typename T, typename = void> struct gridlane_elements {
    static constexpr int bytes = sizeof(T), count = 1;
};
template <typename T> struct gridlane_elements<T, decltype((void)((T *)0)->x)> {
    static constexpr int bytes = sizeof(((T *)0)->x), count = sizeof(T) / bytes;
};

// Reads and writes of so many elements of so many bytes; there is one for each geometry.
template <int bytes, int count> struct gridlane_surface;

#define GRIDLANE_LIST(...) __VA_ARGS__

#define GRIDLANE_READ(form, at, values, results, ...)                                          \
    asm volatile("suld.b." form " " values ", [%[s], " at "];"                                 \
                 : GRIDLANE_LIST results : [s] "l"(s), __VA_ARGS__ : "memory");
#define GRIDLANE_WRITE(form, at, values, given, ...)                                           \
    asm volatile("sust.b." form " [%[s], " at "], " values ";"                                 \
                 : : GRIDLANE_LIST given, [s] "l"(s), __VA_ARGS__ : "memory");
#define GRIDLANE_MODES(do, head, at, values, operands, ...)                                    \
    if (mode == cudaBoundaryModeZero) {                                                        \
        do(head ".zero", at, values, operands, __VA_ARGS__)                                    \
    } else if (mode == cudaBoundaryModeClamp) {                                                \
        do(head ".clamp", at, values, operands, __VA_ARGS__)                                   \
    } else {                                                                                   \
        do(head ".trap", at, values, operands, __VA_ARGS__)                                    \
    }
#define GRIDLANE_GEOMETRY(name, geometry, at, parameters, vector, bits, values, T, out, in, ...) \
    __device__ static __forceinline__ void read##name(                                         \
        T *v, cudaSurfaceObject_t s, GRIDLANE_LIST parameters, cudaSurfaceBoundaryMode mode)   \
    {                                                                                          \
        GRIDLANE_MODES(GRIDLANE_READ, geometry vector bits, at, values, out, __VA_ARGS__)      \
    }                                                                                          \
    __device__ static __forceinline__ void write##name(                                        \
        const T *v, cudaSurfaceObject_t s, GRIDLANE_LIST parameters,                           \
        cudaSurfaceBoundaryMode mode)                                                          \
    {                                                                                          \
        GRIDLANE_MODES(GRIDLANE_WRITE, geometry vector bits, at, values, in, __VA_ARGS__)      \
    }
#define GRIDLANE_SURFACE(bytes, count, T, vector, bits, values, out, in)                       \
    template <> struct gridlane_surface<bytes, count> {                                        \
        typedef T Element;                                                                     \
        GRIDLANE_GEOMETRY(1D, "1d", "{%[x]}", (int x), vector, bits, values, T, out, in, [x] "r"(x)) \
        GRIDLANE_GEOMETRY(2D, "2d", "{%[x], %[y]}", (int x, int y), vector, bits, values, T, out, in, \
                          [x] "r"(x), [y] "r"(y))                                              \
        GRIDLANE_GEOMETRY(3D, "3d", "{%[x], %[y], %[z], %[z]}", (int x, int y, int z), vector, \
                          bits, values, T, out, in, [x] "r"(x), [y] "r"(y), [z] "r"(z))        \
        GRIDLANE_GEOMETRY(1DLayered, "a1d", "{%[z], %[x]}", (int x, int z), vector, bits,      \
                          values, T, out, in, [x] "r"(x), [z] "r"(z))                          \
        GRIDLANE_GEOMETRY(2DLayered, "a2d", "{%[z], %[x], %[y], %[y]}", (int x, int y, int z), \
                          vector, bits, values, T, out, in, [x] "r"(x), [y] "r"(y), [z] "r"(z)) \
    };
#define GRIDLANE_SURFACES(bytes, T, bits, c)                                                   \
    GRIDLANE_SURFACE(bytes, 1, T, "", bits, "{%0}", ("=" c(v[0])), (c(v[0])))                  \
    GRIDLANE_SURFACE(bytes, 2, T, ".v2", bits, "{%0, %1}", ("=" c(v[0]), "=" c(v[1])),         \
                     (c(v[0]), c(v[1])))
#define GRIDLANE_FOURS(bytes, T, bits, c)                                                      \
    GRIDLANE_SURFACES(bytes, T, bits, c)                                                       \
    GRIDLANE_SURFACE(bytes, 4, T, ".v4", bits, "{%0, %1, %2, %3}",                             \
                     ("=" c(v[0]), "=" c(v[1]), "=" c(v[2]), "=" c(v[3])),                     \
                     (c(v[0]), c(v[1]), c(v[2]), c(v[3])))
// A byte is in a register of 16 bits.
GRIDLANE_FOURS(1, unsigned short, ".b8", "h")
GRIDLANE_FOURS(2, unsigned short, ".b16", "h")
GRIDLANE_FOURS(4, unsigned, ".b32", "r")
GRIDLANE_SURFACES(8, unsigned long long, ".b64", "l")
#undef GRIDLANE_SURFACE
#undef GRIDLANE_SURFACES
#undef GRIDLANE_FOURS
#undef GRIDLANE_GEOMETRY
#undef GRIDLANE_MODES
#undef GRIDLANE_READ
#undef GRIDLANE_WRITE

// The elements of a texel, each in a register.
template <typename T> struct gridlane_registers {
    static constexpr int bytes = gridlane_elements<T>::bytes, count = gridlane_elements<T>::count;
    typedef gridlane_surface<bytes, count> Access;
    typename Access::Element v[count];

    __device__ __forceinline__ T texel() const
    {
        T made;
        for (int n = 0; n < count; n++)
            __builtin_memcpy((char *)&made + n * bytes, v + n, bytes);
        return made;
    }
    __device__ __forceinline__ explicit gridlane_registers(const T &given)
    {
        for (int n = 0; n < count; n++) {
            v[n] = 0;
            __builtin_memcpy(v + n, (const char *)&given + n * bytes, bytes);
        }
    }
    __device__ __forceinline__ gridlane_registers() {}
};

#define GRIDLANE_FUNCTIONS(name, geometry, parameters, arguments)                              \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE T name##read(cudaSurfaceObject_t s, GRIDLANE_LIST parameters,              \
                                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)          \
    {                                                                                          \
        gridlane_registers<T> made;                                                            \
        gridlane_registers<T>::Access::read##geometry(made.v, s, GRIDLANE_LIST arguments, mode);                 \
        return made.texel();                                                                   \
    }                                                                                          \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE void name##read(T *made, cudaSurfaceObject_t s, GRIDLANE_LIST parameters,  \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)       \
    {                                                                                          \
        *made = name##read<T>(s, GRIDLANE_LIST arguments, mode);                               \
    }                                                                                          \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE void name##write(T value, cudaSurfaceObject_t s, GRIDLANE_LIST parameters, \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)      \
    {                                                                                          \
        gridlane_registers<T> given(value);                                                    \
        gridlane_registers<T>::Access::write##geometry(given.v, s, GRIDLANE_LIST arguments, mode); \
    }
GRIDLANE_FUNCTIONS(surf1D, 1D, (int x), (x))
GRIDLANE_FUNCTIONS(surf2D, 2D, (int x, int y), (x, y))
GRIDLANE_FUNCTIONS(surf3D, 3D, (int x, int y, int z), (x, y, z))
GRIDLANE_FUNCTIONS(surf1DLayered, 1DLayered, (int x, int layer), (x, layer))
GRIDLANE_FUNCTIONS(surf2DLayered, 2DLayered, (int x, int y, int layer), (x, y, layer))
GRIDLANE_FUNCTIONS(surfCubemap, 2DLayered, (int x, int y, int face), (x, y, face))
GRIDLANE_FUNCTIONS(surfCubemapLayered, 2DLayered, (int x, int y, int face), (x, y, face))
#undef GRIDLANE_FUNCTIONS
#undef GRIDLANE_LIST
