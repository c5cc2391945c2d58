/* Names and texts of errors. Programs read them mostly where calls fail: in the child of a fork, or
 * where Python cannot be entered. */
#include "traced.h"

extern const struct gl_error gl_errors[];
extern const int gl_error_count;

static const struct gl_error *error_of(int number)
{
    for (int n = 0; n < gl_error_count; n++)
        if (gl_errors[n].number == number)
            return &gl_errors[n];
    return NULL;
}

#ifdef GL_OF_DRIVER
enum { INVALID_VALUE = CUDA_ERROR_INVALID_VALUE };

#define ASK(function, member)                                                            \
    GL_EXPORT int function(int number, const char **made)                                \
    {                                                                                    \
        static struct gl_slot slot = { "driver:__traced_" #function, 0, 0 };             \
        const uint64_t words[] = { (uint64_t)(int64_t)number, (uintptr_t)made };         \
        uint64_t began = gl_began();                                                     \
        const struct gl_error *found = error_of(number);                                 \
        if (number)                                                                      \
            gl_note_read();                                                              \
        int code = found && made ? 0 : INVALID_VALUE;                                    \
        if (made)                                                                        \
            *made = found ? found->member : NULL;                                        \
        gl_ended(began, &slot, words, 2, (uint64_t)code);                                \
        return code;                                                                     \
    }

ASK(cuGetErrorName, name)
ASK(cuGetErrorString, meaning)
#else
#define ASK(api, function, member, otherwise)                                            \
    GL_EXPORT const char *function(int number)                                           \
    {                                                                                    \
        static struct gl_slot slot = { api ":__traced_" #function, 0, 0 };               \
        const uint64_t words[] = { (uint64_t)(int64_t)number };                          \
        uint64_t began = gl_began();                                                     \
        const struct gl_error *found = error_of(number);                                 \
        if (number)                                                                      \
            gl_note_read();                                                              \
        const char *text = found ? found->member : otherwise;                            \
        gl_ended(began, &slot, words, 1, (uintptr_t)text);                               \
        return text;                                                                     \
    }

#ifdef GL_OF_NVRTC
ASK("nvrtc", nvrtcGetErrorString, name, "NVRTC_ERROR unknown")
#else
ASK("runtime", cudaGetErrorName, name, "unrecognized error code")
ASK("runtime", cudaGetErrorString, meaning, "unrecognized error code")
#endif
#endif
