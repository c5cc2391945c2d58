/* A peer's side of a shared inbox: claim a slot, write, publish; wait for an answer. */
#ifdef __linux__
#include <poll.h>
#include <string.h>

#include "outside.h"

int gl_peer_sit(gl_peer *peer)
{
    uint64_t owner = gl_owner_of(peer->process);
    for (uint32_t n = 0; n < peer->area.sizes.seats; n++) {
        gl_seat *seat = &peer->area.seats[n];
        uint64_t nobody = 0;
        if (atomic_load_explicit(&seat->owner, memory_order_relaxed))
            continue;
        if (atomic_compare_exchange_strong(&seat->owner, &nobody, owner))
            return (int)n;
    }
    return -1;
}

void gl_peer_leave(gl_peer *peer, uint32_t seat)
{
    gl_seat *at = &peer->area.seats[seat];
    uint64_t owner = gl_owner_of(peer->process);
    atomic_store(&at->reply, 0);
    atomic_compare_exchange_strong(&at->owner, &owner, 0);
}

int gl_peer_host_lives(const gl_peer *peer)
{
    struct pollfd host = {.fd = peer->host, .events = POLLIN};
    return !atomic_load(&peer->area.shared->closed) && poll(&host, 1, 0) == 0;
}

gl_clock gl_peer_tick(gl_peer *peer, uint64_t events)
{
    gl_clock clock;
    pthread_mutex_lock(&peer->mutex);
    gl_clock_tick(&peer->clock, gl_now());
    clock = peer->clock;
    peer->clock.logical += events - 1;
    pthread_mutex_unlock(&peer->mutex);
    return clock;
}

/* Claim a slot; NULL if the ring is full. */
static gl_header *claim(gl_ring *ring, uint32_t seat, uint64_t *mine)
{
    for (;;) {
        uint64_t ticket = atomic_load(&ring->inbox->tail);
        /* Memory order: read the head before the word. A slot that its owner has not released may
           be skipped if the gate skipped it in the lap before. */
        uint64_t head = atomic_load(&ring->inbox->head);
        gl_header *slot = gl_ring_slot(ring, ticket);
        uint64_t lap = ticket >> ring->shift & GL_LAPS, word = atomic_load(&slot->sequence);
        uint32_t kind = gl_kind(word);
        if (word == gl_word(GL_SLOT_FREE, 0, lap)) {
            *mine = gl_word(GL_CLAIMED, seat, lap);
            if (!atomic_compare_exchange_strong(&slot->sequence, &word, *mine))
                continue;
            atomic_compare_exchange_strong(&ring->inbox->tail, &ticket, ticket + 1);
            return slot;
        }
        if (kind == GL_ABANDONED_SLOT || kind == GL_RETURNED) {
            if ((int64_t)(ticket - head) > (int64_t)ring->mask)
                return NULL;
        } else if ((int64_t)((gl_lap_of(word) - lap) << 16) < 0) {
            return NULL; /* it still has the message of the lap before */
        }
        atomic_compare_exchange_strong(&ring->inbox->tail, &ticket, ticket + 1);
    }
}

static void fill(gl_header *slot, const gl_peer *peer, const gl_letter *letter)
{
    /* All fields but `sequence`, which names the owner. */
    memset(slot, 0, offsetof(gl_header, sequence));
    memset((uint8_t *)slot + offsetof(gl_header, clock), 0,
           sizeof *slot - offsetof(gl_header, clock));
    slot->magic = GL_MAGIC;
    slot->version = GL_VERSION;
    slot->type = letter->type;
    slot->correlation = letter->correlation;
    slot->reply_to = letter->reply_to;
    slot->payload_bytes = letter->payload_bytes;
    slot->clock = letter->clock;
    slot->deadline = letter->deadline;
    slot->reserved[0] = (uint32_t)peer->token;
    slot->reserved[1] = (uint32_t)(peer->token >> 32);
}

int gl_peer_post(gl_peer *peer, uint32_t seat, int ring, const gl_letter *letter,
                 const void *payload, uint64_t call)
{
    gl_shared *shared = peer->area.shared;
    uint64_t mine, published;
    if (!gl_peer_host_lives(peer))
        return GL_HOST_GONE;
    gl_header *slot = claim(&peer->area.ring[ring], seat, &mine);
    if (!slot)
        return GL_IS_FULL;
    gl_letter told = *letter;
    told.correlation = call;
    told.reply_to = call ? seat + 1u : 0;
    fill(slot, peer, &told);
    memcpy((uint8_t *)slot + sizeof(gl_header), payload, letter->payload_bytes);
    published = gl_word(GL_PUBLISHED, seat, gl_lap_of(mine));
    uint64_t word = mine;
    if (!atomic_compare_exchange_strong(&slot->sequence, &word, published)) {
        /* The lease is over; until now the slot was this peer's alone. */
        uint64_t gone = gl_word(GL_ABANDONED_SLOT, seat, gl_lap_of(mine));
        atomic_compare_exchange_strong(&slot->sequence, &gone,
                                       gl_word(GL_RETURNED, seat, gl_lap_of(mine)));
        return GL_ABANDONED;
    }
    gl_ring_bell(&shared->bell, &shared->asleep);
    if (!atomic_load(&shared->closed))
        return GL_POSTED;
    /* The gate closes: either it has the message and buries it, or it is withdrawn here. */
    word = published;
    if (atomic_compare_exchange_strong(&slot->sequence, &word,
                                       gl_word(GL_RETURNED, seat, gl_lap_of(mine))))
        return GL_HOST_GONE;
    return GL_POSTED;
}

uint64_t gl_peer_begin_call(gl_peer *peer, uint32_t seat)
{
    uint64_t call = atomic_fetch_add(&peer->next_call, 1) & GL_CALLS;
    if (!call)
        call = atomic_fetch_add(&peer->next_call, 1) & GL_CALLS;
    atomic_store(&peer->area.seats[seat].reply, gl_reply_word(GL_CALLING, call));
    return call;
}

int gl_peer_answered(gl_peer *peer, uint32_t seat, uint64_t call)
{
    return atomic_load(&peer->area.seats[seat].reply) == gl_reply_word(GL_REPLIED, call);
}

int gl_peer_wait(gl_peer *peer, uint32_t seat, uint64_t call, uint64_t spin, uint64_t until)
{
    gl_seat *at = &peer->area.seats[seat];
    uint64_t begin = gl_elapsed(), now = begin;
    while (now - begin < spin && now < until) {
        for (int n = 0; n < 64; n++) {
            if (gl_peer_answered(peer, seat, call))
                return 1;
            gl_pause();
        }
        now = gl_elapsed();
    }
    while (!gl_peer_answered(peer, seat, call) && (now = gl_elapsed()) < until) {
        uint32_t seen = atomic_load(&at->bell);
        atomic_store(&at->asleep, 1);
        atomic_thread_fence(memory_order_seq_cst);
        if (!gl_peer_answered(peer, seat, call))
            gl_sleep_on(&at->bell, seen, until - now);
        atomic_store(&at->asleep, 0);
        if (atomic_load(&peer->area.shared->closed))
            break;
    }
    return gl_peer_answered(peer, seat, call);
}
#else
typedef int gl_no_peers;
#endif
