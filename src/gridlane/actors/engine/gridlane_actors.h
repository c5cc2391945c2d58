/* Actors from C: post messages to actors of gridlane and call them, from threads without Python.

   Python provides a handle (`ref.c_handle`, an address) and these functions: as symbols of the
   library `gridlane.actors._engine.__file__`, for ctypes, cffi and dlopen, and as a table in the
   capsule "gridlane.actors._engine.C_API", for other extensions:

       const gridlane_actors_api *api = PyCapsule_Import("gridlane.actors._engine.C_API", 0);

   No function needs the GIL, and any thread may call each. Messages and replies are the bytes of
   their classes; `gridlane.actors.layouts.declarations.declarations("c++", [...])` writes their
   structures.

   Lifetime: a handle is valid while Python has the actor's ref, and between gridlane_actor_keep and
   gridlane_actor_release. After the end of its actor or runtime, and in the child of a fork,
   functions return an error. */
#ifndef GRIDLANE_ACTORS_H
#define GRIDLANE_ACTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gridlane_actor gridlane_actor;

#define GRIDLANE_ACTORS_VERSION 1
#define GRIDLANE_FOREVER UINT64_MAX

/* Results of functions: 0, one of these, or (above 0) the number of an `actors.Reason`. */
enum {
    GRIDLANE_OK = 0,
    GRIDLANE_TIMEOUT = -1,    /* no room, or no reply, in time */
    GRIDLANE_CLOSED = -2,     /* the actor or its runtime has ended, or is another process's */
    GRIDLANE_WRONG_SIZE = -3, /* the size of the message, or of the memory for the reply, is not its
                                 class's */
    GRIDLANE_TOO_MANY = -4,   /* too many callers wait at once */
    GRIDLANE_NO_REPLIES = -5, /* the actor has no replies */
    GRIDLANE_NOT_ACTIVE = -6, /* a call would wait: the actor is launched, and not active */
    GRIDLANE_NO_MEMORY = -7,
};

/* Post a message of `bytes` bytes, and wait up to `timeout` nanoseconds for room. Replies to it are
   dropped. */
int gridlane_actor_post(gridlane_actor *actor, const void *message, size_t bytes, uint64_t timeout);

/* Post `count` adjacent messages; `posted` (which may be NULL) is the number that entered the
   inbox. `alone`: no other thread and no actor posts to it at this time. */
int gridlane_actor_post_many(gridlane_actor *actor, const void *messages, size_t count, size_t bytes,
                             int alone, uint64_t timeout, size_t *posted);

/* Post a message and wait for the reply to it, up to `timeout` nanoseconds, of which the thread spins
   for `spin` before it parks. `room` is the size of the class of replies. */
int gridlane_actor_call(gridlane_actor *actor, const void *message, size_t bytes, void *reply,
                        size_t room, uint64_t spin, uint64_t timeout);

/* Sizes and type_ids of the classes; a size of 0 for an actor without replies. */
typedef struct {
    size_t message_bytes, reply_bytes;
    uint64_t message_type, reply_type;
} gridlane_actor_facts;
void gridlane_actor_classes(const gridlane_actor *actor, gridlane_actor_facts *facts);

/* Add and release a reference to a handle. */
void gridlane_actor_keep(gridlane_actor *actor);
void gridlane_actor_release(gridlane_actor *actor);

typedef struct {
    uint32_t version, bytes; /* GRIDLANE_ACTORS_VERSION and the size of this structure */
    int (*post)(gridlane_actor *, const void *, size_t, uint64_t);
    int (*post_many)(gridlane_actor *, const void *, size_t, size_t, int, uint64_t, size_t *);
    int (*call)(gridlane_actor *, const void *, size_t, void *, size_t, uint64_t, uint64_t);
    void (*classes)(const gridlane_actor *, gridlane_actor_facts *);
    void (*keep)(gridlane_actor *);
    void (*release)(gridlane_actor *);
} gridlane_actors_api;

#ifdef __cplusplus
}
#endif
#endif
