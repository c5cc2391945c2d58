/* The driver's compiler: PTX comes out as it went in, with a mark in front. */

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "fake cubin\n"

enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6, PTX_INPUT = 1 };

typedef struct {
    Object object;
    char *log, *code;
    size_t room;
} Link;

CUresult cuLinkCreate_v2(unsigned count, const int *options, void **values, Link **state)
{
    BEGIN("cuLinkCreate", CURRENT, "%u", count);
    *state = made(LINK, sizeof(Link));
    for (unsigned n = 0; n < count; n++) {
        if (options[n] == ERROR_LOG)
            (*state)->log = values[n];
        if (options[n] == ERROR_LOG_BYTES)
            (*state)->room = (size_t)(uintptr_t)values[n];
    }
    return done(SUCCESS);
}

static void say(Link *state, const char *text)
{
    if (state->log && state->room)
        snprintf(state->log, state->room, "%s", text);
}

CUresult cuLinkAddData_v2(Link *state, int type, const char *data, size_t size, const char *name,
                          unsigned count, const int *options, void **values)
{
    BEGIN("cuLinkAddData", CURRENT, "%d, %s", type, name);
    if (!alive(LINK, state) || type != PTX_INPUT || (count && (!options || !values)))
        return done(INVALID_VALUE);
    const char *refused = strnlen(data, size) == size ? NULL : strstr(data, "refuse me");
    if (!is_fake_code(data) || refused) {
        say(state, refused ? "ptxas fake, line 1: refused, as asked" : "ptxas fake: no .version");
        return done(INVALID_PTX);
    }
    state->code = malloc(size + sizeof MARK);
    sprintf(state->code, MARK "%s", data);
    return done(SUCCESS);
}

CUresult cuLinkComplete(Link *state, void **code, size_t *size)
{
    BEGIN("cuLinkComplete", CURRENT, "");
    if (!alive(LINK, state) || !state->code)
        return done(INVALID_VALUE);
    *code = state->code;
    *size = strlen(state->code) + 1;
    return done(SUCCESS);
}

CUresult cuLinkDestroy(Link *state)
{
    BEGIN("cuLinkDestroy", CURRENT, "");
    if (!alive(LINK, state))
        return done(INVALID_VALUE);
    free(state->code);
    ended(state);
    return done(SUCCESS);
}
