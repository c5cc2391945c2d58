/* The memory of queues. */
#include "queue.h"

#include <sys/mman.h>

int gl_queue_init(gl_queue *queue, uint32_t capacity, uint32_t slot_bytes)
{
    size_t bytes = 64 + (size_t)capacity * slot_bytes;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    queue->memory = memory;
    queue->bytes = bytes;
    queue->inbox = memory;
    queue->slots = (uint8_t *)memory + 64;
    queue->mask = capacity - 1;
    queue->shift = (uint32_t)__builtin_ctz(capacity);
    queue->slot_bytes = slot_bytes;
    queue->inbox->capacity = capacity;
    queue->inbox->slot_bytes = slot_bytes;
    queue->inbox->version = GL_VERSION;
    return 0;
}

void gl_queue_free(gl_queue *queue)
{
    if (queue->memory)
        munmap(queue->memory, queue->bytes);
    queue->memory = NULL;
}

void gl_queue_note_high(gl_queue *queue)
{
    uint64_t length = gl_queue_length(queue);
    uint64_t most = atomic_load_explicit(&queue->inbox->high_water, memory_order_relaxed);
    while (length > most
           && !atomic_compare_exchange_weak_explicit(&queue->inbox->high_water, &most, length,
                                                     memory_order_relaxed, memory_order_relaxed))
        ;
}
