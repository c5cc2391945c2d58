/* The cached path without Python: a program whose kernels were all compiled before runs to its end
 * in C, for the device cpu.
 *
 * Python stores files of what it made ("ready.py"). A process that has them begins ahead of Python:
 * C publishes the state of its threads itself, and launches by the files. The first call that C
 * cannot answer enters Python, which adopts C's state. */
#ifndef GRIDLANE_READY_H
#define GRIDLANE_READY_H

#include "digest.h"
#include "hot.h"

/* A registered kernel: the wrapper of its image, and its name. */
struct gl_kernel {
    const void *wrapper;
    const char *name;
};

/* Whether a host address stands for a kernel. */
int gl_registered(uint64_t host, struct gl_kernel *made);

/* --- names of files; ready_key.c --- */

/* The inputs that decide all code of a process: gridlane's files, the processor and the
 * environment. Python compares the texts with its own. */
struct gl_ready_key {
    uint8_t of_device[GL_DIGEST];
    const char *environment, *package; /* NAME=VALUE lines, sorted; the folder of gridlane */
};

/* Null where no files are used. Called before Python begins: Python reads the same then. */
const struct gl_ready_key *gl_ready_key(void);
int gl_ready_key_of(uint64_t function, const uint32_t *block, uint8_t *made);

/* --- files; ready_file.c --- */

struct gl_ready_file {
    uint8_t *bytes; /* all of it; the part behind the header starts at "next" */
    size_t size, next;
};

/* Read and check the file of a key; false unless it is complete and belongs to the user alone. */
int gl_ready_open(struct gl_ready_file *file, const uint8_t *key);
void gl_ready_close(struct gl_ready_file *file);

/* The next bytes of a file; null behind its end. */
const void *gl_ready_take(struct gl_ready_file *file, size_t size);

/* --- machine code; ready_object.c --- */

/* Load a relocatable object file for the rest of the process, and find symbols of it. */
int gl_ready_load(const uint8_t *bytes, size_t size, const char *const *names, void **found,
                  int count);

#endif
