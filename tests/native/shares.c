/* The shares of a job, without a pool, for ctypes. */
#include "../../src/gridlane/native/shares.c"

#define OPEN __attribute__((visibility("default")))

OPEN void divide_all(struct gl_pool *pool, uint64_t total, uint64_t threads, uint64_t least)
{
    pool->least = least;
    gl_divide(pool, total, threads);
}

OPEN uint64_t take_some(struct gl_pool *pool, uint64_t slot)
{
    return gl_take_any(pool, slot);
}

OPEN uint64_t unit_of(struct gl_pool *pool)
{
    return pool->unit;
}
