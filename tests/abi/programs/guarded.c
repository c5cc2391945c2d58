/* Preloaded: behind each block of aligned_alloc is a page that nobody may touch. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

void *aligned_alloc(size_t alignment, size_t size)
{
    const size_t whole = (size + PAGE - 1) / PAGE * PAGE;
    const int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    char *made = mmap(NULL, whole + PAGE, access, kind, -1, 0);
    if (made == MAP_FAILED || mprotect(made + whole, PAGE, PROT_NONE))
        return NULL;
    return made + (whole - size) / alignment * alignment;
}
