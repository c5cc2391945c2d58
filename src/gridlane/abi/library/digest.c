/* SHA-256, which names and checks the files of ready kernels. */
#include "digest.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t turned(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

static void add_block(uint32_t *words, const uint8_t *block)
{
    uint32_t w[64], s[8];
    for (int n = 0; n < 16; n++)
        w[n] = (uint32_t)block[4 * n] << 24 | (uint32_t)block[4 * n + 1] << 16 |
               (uint32_t)block[4 * n + 2] << 8 | block[4 * n + 3];
    for (int n = 16; n < 64; n++) {
        uint32_t a = w[n - 15], b = w[n - 2];
        w[n] = w[n - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[n - 7] +
               (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
    memcpy(s, words, sizeof s);
    for (int n = 0; n < 64; n++) {
        uint32_t a = s[0], e = s[4];
        uint32_t first = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                         ((e & s[5]) ^ (~e & s[6])) + constants[n] + w[n];
        uint32_t second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                          ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (int n = 0; n < 8; n++)
        words[n] += s[n];
}

void gl_digest_begin(struct gl_digest *digest)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(digest->words, first, sizeof first);
    digest->length = 0;
}

void gl_digest_add(struct gl_digest *digest, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    size_t held = digest->length % 64;
    digest->length += size;
    while (held + size >= 64) {
        size_t part = 64 - held;
        if (held) {
            memcpy(digest->rest + held, next, part);
            add_block(digest->words, digest->rest);
        } else {
            add_block(digest->words, next);
        }
        next += part;
        size -= part;
        held = 0;
    }
    if (size)
        memcpy(digest->rest + held, next, size);
}

void gl_digest_end(struct gl_digest *digest, uint8_t *made)
{
    static const uint8_t padding[64] = { 0x80 };
    uint64_t bits = digest->length * 8;
    uint8_t length[8];
    for (int n = 0; n < 8; n++)
        length[n] = (uint8_t)(bits >> (56 - 8 * n));
    gl_digest_add(digest, padding, 1 + (119 - digest->length % 64) % 64);
    gl_digest_add(digest, length, sizeof length);
    for (int n = 0; n < GL_DIGEST; n++)
        made[n] = (uint8_t)(digest->words[n / 4] >> (24 - 8 * (n % 4)));
}
