/* A bounded queue of messages with any number of producers and one consumer, without locks.

   Each slot has a turn, in its header's `sequence`: 2 * lap where it is free for the ticket of that
   lap, 2 * lap + 1 where it holds that ticket's message. Zeroed memory is an empty queue, so pages
   become resident at their first message.

   Memory order: a producer takes a ticket by a compare-and-swap of the tail, writes the slot, and
   publishes it by a release store of the turn. The consumer acquires the turn, and releases the
   slot for the next lap. After D. Vyukov's bounded queue, with laps instead of sequence numbers. */
#ifndef GRIDLANE_ACTORS_QUEUE_H
#define GRIDLANE_ACTORS_QUEUE_H

#include <stddef.h>

#include "layout.h"

typedef struct {
    gl_inbox *inbox;   /* the public head and tail */
    uint8_t *slots;
    uint64_t mask;
    uint32_t shift;    /* log2 of the capacity */
    uint32_t slot_bytes;
    void *memory;      /* the allocation to free */
    size_t bytes;
} gl_queue;

/* 0, or -1 without memory. `capacity` is a power of two, `slot_bytes` a multiple of 64. */
int gl_queue_init(gl_queue *queue, uint32_t capacity, uint32_t slot_bytes);
void gl_queue_free(gl_queue *queue);

static inline gl_header *gl_slot(const gl_queue *queue, uint64_t ticket)
{
    return (gl_header *)(queue->slots + (ticket & queue->mask) * queue->slot_bytes);
}

static inline uint64_t gl_lap(const gl_queue *queue, uint64_t ticket)
{
    return 2 * (ticket >> queue->shift);
}

/* Claim a slot for one message; NULL if the queue is full. */
static inline gl_header *gl_queue_claim(gl_queue *queue, uint64_t *taken)
{
    uint64_t ticket = atomic_load_explicit(&queue->inbox->tail, memory_order_relaxed);
    for (;;) {
        gl_header *slot = gl_slot(queue, ticket);
        uint64_t turn = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        int64_t ahead = (int64_t)(turn - gl_lap(queue, ticket));
        if (ahead == 0) {
            if (atomic_compare_exchange_weak_explicit(&queue->inbox->tail, &ticket, ticket + 1,
                                                      memory_order_relaxed, memory_order_relaxed)) {
                *taken = ticket;
                return slot;
            }
        } else if (ahead < 0) {
            return NULL;
        } else {
            ticket = atomic_load_explicit(&queue->inbox->tail, memory_order_relaxed);
        }
    }
}

/* The same for the only producer of a queue. */
static inline gl_header *gl_queue_claim_alone(gl_queue *queue, uint64_t *taken)
{
    uint64_t ticket = atomic_load_explicit(&queue->inbox->tail, memory_order_relaxed);
    gl_header *slot = gl_slot(queue, ticket);
    if (atomic_load_explicit(&slot->sequence, memory_order_acquire) != gl_lap(queue, ticket))
        return NULL;
    atomic_store_explicit(&queue->inbox->tail, ticket + 1, memory_order_relaxed);
    *taken = ticket;
    return slot;
}

static inline void gl_queue_publish(gl_queue *queue, gl_header *slot, uint64_t ticket)
{
    atomic_store_explicit(&slot->sequence, gl_lap(queue, ticket) + 1, memory_order_release);
}

/* Whether the consumer may read the message of a ticket. */
static inline int gl_queue_has(const gl_queue *queue, uint64_t ticket)
{
    gl_header *slot = gl_slot(queue, ticket);
    return atomic_load_explicit(&slot->sequence, memory_order_acquire)
           == gl_lap(queue, ticket) + 1;
}

/* Release the slots of the first messages; called by the consumer. The head shares a cache line
   with the tail, which producers write, so it is stored once. */
static inline void gl_queue_release_many(gl_queue *queue, uint32_t count)
{
    uint64_t ticket = atomic_load_explicit(&queue->inbox->head, memory_order_relaxed);
    uint64_t end = ticket + count;
    atomic_store_explicit(&queue->inbox->head, end, memory_order_relaxed);
    for (; ticket < end; ticket++)
        atomic_store_explicit(&gl_slot(queue, ticket)->sequence, gl_lap(queue, ticket) + 2,
                              memory_order_release);
}

static inline void gl_queue_release(gl_queue *queue) { gl_queue_release_many(queue, 1); }

static inline uint64_t gl_queue_length(const gl_queue *queue)
{
    uint64_t head = atomic_load_explicit(&queue->inbox->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&queue->inbox->tail, memory_order_relaxed);
    return tail - head > queue->mask + 1 ? 0 : tail - head;
}

/* Raise the recorded maximum of messages. */
void gl_queue_note_high(gl_queue *queue);

#endif
