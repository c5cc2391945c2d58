// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.
#pragma once

struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned STATE;  // how many numbers of output were taken
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

GRIDLANE_CONST uint4 curand_Philox4x32_10(uint4 c, uint2 k)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned long long x = 0xd2511f53ull * c.x, z = 0xcd9e8d57ull * c.z;
        c = {(unsigned)(z >> 32) ^ c.y ^ k.x, (unsigned)z, (unsigned)(x >> 32) ^ c.w ^ k.y, (unsigned)x};
        k.x += 0x9e3779b9u, k.y += 0xbb67ae85u;
    }
    return c;
}

// Sums of the counter's 128 bits and of its upper 64.
GRIDLANE_DEVICE void gridlane_add(uint4 &c, unsigned long long n)
{
    unsigned __int128 sum = (((unsigned __int128)c.w << 96) | ((unsigned __int128)c.z << 64) |
                             ((unsigned __int128)c.y << 32) | c.x) + n;
    c = {(unsigned)sum, (unsigned)(sum >> 32), (unsigned)(sum >> 64), (unsigned)(sum >> 96)};
}
GRIDLANE_DEVICE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10 *s)
{
    unsigned long long high = ((unsigned long long)s->ctr.w << 32 | s->ctr.z) + n;
    s->ctr.z = (unsigned)high, s->ctr.w = (unsigned)(high >> 32);
    s->output = curand_Philox4x32_10(s->ctr, s->key);
}
GRIDLANE_DEVICE void skipahead(unsigned long long n, curandStatePhilox4_32_10 *s)
{
    s->STATE += (unsigned)n & 3;
    n /= 4;
    if (s->STATE > 3)
        n += 1, s->STATE -= 4;
    gridlane_add(s->ctr, n);
    s->output = curand_Philox4x32_10(s->ctr, s->key);
}
GRIDLANE_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence,
                                 unsigned long long offset, curandStatePhilox4_32_10 *s)
{
    *s = curandStatePhilox4_32_10();
    s->key = {(unsigned)seed, (unsigned)(seed >> 32)};
    skipahead_sequence(sequence, s);
    skipahead(offset, s);
}
GRIDLANE_DEVICE unsigned curand(curandStatePhilox4_32_10 *s)
{
    unsigned taken = s->STATE++;
    uint4 o = s->output;
    unsigned made = taken == 0 ? o.x : taken == 1 ? o.y : taken == 2 ? o.z : o.w;
    if (s->STATE == 4) {
        s->STATE = 0;
        gridlane_add(s->ctr, 1);
        s->output = curand_Philox4x32_10(s->ctr, s->key);
    }
    return made;
}
GRIDLANE_DEVICE uint4 curand4(curandStatePhilox4_32_10 *s)
{
    uint4 a = s->output;
    gridlane_add(s->ctr, 1);
    uint4 b = s->output = curand_Philox4x32_10(s->ctr, s->key);
    switch (s->STATE) {
    case 0: return a;
    case 1: return {a.y, a.z, a.w, b.x};
    case 2: return {a.z, a.w, b.x, b.y};
    default: return {a.w, b.x, b.y, b.z};
    }
}
