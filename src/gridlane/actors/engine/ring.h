/* Made by scripts/actor_headers.py of actors/layouts, not by hand. The ring of chunks
   between the host and resident kernels, in C and in CUDA C++. Memory order: a device reads or
   writes a chunk by one access. The host writes its sequence word last, and reads it first. */
#ifndef GRIDLANE_ACTORS_RING_H
#define GRIDLANE_ACTORS_RING_H

#include <stdint.h>
#include <string.h>

#define GL_PIECE 12u /* bytes of a message in a chunk */

#ifdef __CUDACC__
#define GL_RING __device__ static inline
typedef uint4 gl_chunk; /* the sequence word is `w` */

GL_RING void gl_push_chunk(gl_chunk *at, const void *piece, uint32_t bytes, uint32_t sequence)
{
    uint32_t word[3] = {0, 0, 0};
    memcpy(word, piece, bytes);
    asm volatile("st.volatile.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(word[0]),
                 "r"(word[1]), "r"(word[2]), "r"(sequence) : "memory");
}

/* Whether the chunk is there; its piece is written in any case. */
GL_RING int gl_peek_chunk(const gl_chunk *at, void *piece, uint32_t sequence)
{
    uint32_t word[4];
    asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(at) : "memory");
    memcpy(piece, word, GL_PIECE);
    return word[3] == sequence;
}
#else
#include <stdatomic.h>
#define GL_RING static inline
typedef struct {
    uint32_t piece[3];
    _Atomic uint32_t sequence;
} gl_chunk;

GL_RING void gl_push_chunk(gl_chunk *at, const void *piece, uint32_t bytes, uint32_t sequence)
{
    memcpy(at->piece, piece, bytes);
    atomic_store_explicit(&at->sequence, sequence, memory_order_release);
}

/* Whether the chunk is there; its piece is written only then. */
GL_RING int gl_peek_chunk(const gl_chunk *at, void *piece, uint32_t sequence)
{
    if (atomic_load_explicit(&at->sequence, memory_order_acquire) != sequence)
        return 0;
    memcpy(piece, at->piece, GL_PIECE);
    return 1;
}
#endif

/* Write the bytes of a message into chunks, in their order. */
GL_RING void gl_push(gl_chunk *at, const void *message, uint32_t bytes, uint32_t sequence)
{
    const uint8_t *next = (const uint8_t *)message;
    for (; bytes >= GL_PIECE; bytes -= GL_PIECE, next += GL_PIECE, at++)
        gl_push_chunk(at, next, GL_PIECE, sequence);
    if (bytes)
        gl_push_chunk(at, next, bytes, sequence);
}

/* Read chunks of a message to where its bytes lie; 0 if one of them is not there. */
GL_RING int gl_peek(const gl_chunk *at, void *message, uint32_t chunks, uint32_t sequence)
{
    uint8_t *next = (uint8_t *)message;
    for (uint32_t n = 0; n < chunks; n++, next += GL_PIECE)
        if (!gl_peek_chunk(at + n, next, sequence))
            return 0;
    return 1;
}

/* The slot of a message. */
GL_RING uint64_t gl_index_of(uint64_t ticket, uint32_t shift)
{
    return ticket & (((int64_t)1 << shift) - 1);
}

/* The sequence word of each chunk of a message: its lap, + 1, so that zeros are no message. */
GL_RING uint32_t gl_sequence_of(uint64_t ticket, uint32_t shift)
{
    return (uint32_t)((ticket >> shift) + 1);
}

/* The address of the first chunk of a message. */
GL_RING gl_chunk *gl_place_of(uint8_t *slots, uint64_t ticket, uint32_t shift, uint32_t slot)
{
    return (gl_chunk *)(slots + (gl_index_of(ticket, shift) * slot));
}

/* The free slots where `tail` messages were pushed and `head` popped. */
GL_RING int64_t gl_free_of(uint64_t head, uint64_t tail, uint32_t shift)
{
    return ((int64_t)1 << shift) - (tail - head);
}

#endif
