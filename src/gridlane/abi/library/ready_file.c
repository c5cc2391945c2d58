/* Read the files that Python stored, with the checks of Python's cache: folder and file belong to
 * this user, nobody else may write to them, and a digest covers the key and all later bytes. */
#define _GNU_SOURCE
#include "ready.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 16 << 20, HEAD = 8 + 4 + GL_DIGEST, TOUCH_S = 3600 };

/* The folder of the cache, by the rules of core/config.py and platformdirs. */
static int find_folder(char *made, size_t room)
{
    const char *own = getenv("GRIDLANE_CACHE_DIR"), *data = getenv("XDG_CACHE_HOME");
    const char *numbas = getenv("NUMBA_CACHE_DIR");
    int length;
    if (own && *own) {
        length = snprintf(made, room, "%s", own);
    } else if (numbas && *numbas) {
        length = snprintf(made, room, "%s/gridlane", numbas);
    } else if (data && *data) {
        length = snprintf(made, room, "%s/gridlane", data);
    } else {
        const char *home = getenv("HOME");
        if (!home || !*home)
            return 0;
        length = snprintf(made, room, "%s/.cache/gridlane", home);
    }
    return length > 0 && (size_t)length < room;
}

static int is_own(const struct stat *info)
{
    return info->st_uid == geteuid() && !(info->st_mode & (S_IWGRP | S_IWOTH));
}

static int read_all(int from, uint8_t *made, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(from, made + done, size - done);
        if (got <= 0)
            return 0;
        done += (size_t)got;
    }
    return 1;
}

/* Whether a header and a digest are those of a key. */
static int is_right(const struct gl_ready_file *file, const uint8_t *key)
{
    static const uint8_t start[] = "gl-ready\4\0\0"; /* and the version, 32 bits */
    struct gl_digest digest;
    uint8_t made[GL_DIGEST];
    if (memcmp(file->bytes, start, 12))
        return 0;
    gl_digest_begin(&digest);
    gl_digest_add(&digest, key, GL_DIGEST);
    gl_digest_add(&digest, file->bytes + HEAD, file->size - HEAD);
    gl_digest_end(&digest, made);
    return !memcmp(file->bytes + 12, made, GL_DIGEST);
}

static int read_file(struct gl_ready_file *file, int handle)
{
    struct stat info;
    if (fstat(handle, &info) || !S_ISREG(info.st_mode) || !is_own(&info) || info.st_size < HEAD ||
        info.st_size > LARGEST)
        return 0;
    file->size = (size_t)info.st_size;
    file->next = HEAD;
    file->bytes = malloc(file->size);
    if (!file->bytes || !read_all(handle, file->bytes, file->size)) {
        gl_ready_close(file);
        return 0;
    }
    if (time(NULL) - info.st_mtime > TOUCH_S) /* the cache removes files that were unused for long */
        futimens(handle, NULL);
    return 1;
}

int gl_ready_open(struct gl_ready_file *file, const uint8_t *key)
{
    char folder[PATH_MAX], name[2 * GL_DIGEST + 8];
    struct stat info;
    memset(file, 0, sizeof *file);
    if (!find_folder(folder, sizeof folder))
        return 0;
    for (int n = 0; n < GL_DIGEST; n++)
        snprintf(name + 2 * n, 3, "%02x", key[n]);
    strcpy(name + 2 * GL_DIGEST, ".ready1");
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return 0;
    int handle = fstat(at, &info) || !is_own(&info)
                     ? -1
                     : openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(at);
    if (handle < 0)
        return 0;
    int done = read_file(file, handle);
    close(handle);
    if (done && !is_right(file, key)) {
        gl_ready_close(file);
        return 0;
    }
    return done;
}

void gl_ready_close(struct gl_ready_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
}

const void *gl_ready_take(struct gl_ready_file *file, size_t size)
{
    if (size > file->size - file->next)
        return NULL;
    const void *found = file->bytes + file->next;
    file->next += size;
    return found;
}
