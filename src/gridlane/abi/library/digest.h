/* SHA-256, of FIPS 180-4. */
#ifndef GRIDLANE_DIGEST_H
#define GRIDLANE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { GL_DIGEST = 32 };

struct gl_digest {
    uint32_t words[8];
    uint64_t length;
    uint8_t rest[64];
};

void gl_digest_begin(struct gl_digest *digest);
void gl_digest_add(struct gl_digest *digest, const void *bytes, size_t size);
void gl_digest_end(struct gl_digest *digest, uint8_t *made);

#endif
