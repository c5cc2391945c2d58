/* For programs and libraries that nvcc linked with the vendor's static runtime: before their
 * constructors run, each function of that runtime becomes a jump to the one of the libcudart beside
 * this file.
 *
 * The file's own symbol table and the names that libcudart exports identify the runtime's
 * functions. The first bytes of a function become a jump to a near trampoline, which jumps on.
 * Pages are writable only meanwhile.
 *
 * This library's constructor runs before all others (build.py sets DF_1_INITFIRST). A library that
 * is opened later is seen by its own _init: before its constructors, glibc's crti.o calls
 * __gmon_start__, the hook of profilers, where a process has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP = 5, TRAMPOLINE = 16, REACH = 1 << 30 };
#elif defined(__aarch64__)
enum { JUMP = 4, TRAMPOLINE = 16, REACH = 1 << 26 };
#else
#error "jumps are written for x86-64 and AArch64"
#endif

static void *runtime;    /* libcudart, of the program's version */
static size_t page;

static void refuse(const char *what, const char *why)
{
    fprintf(stderr, "gridlane: %s: %s\n", what, why);
    _exit(127);
}

/* --- the symbols of a file --- */

struct image {
    const uint8_t *data;
    size_t size;
    const Elf64_Sym *symbols;
    size_t count;
    const char *names;
    size_t name_bytes;
    int is_ours; /* its runtime is gridlane's own, which a section marks */
};

#define OURS ".gridlane"

static int contains(const struct image *image, uint64_t start, uint64_t size)
{
    return start <= image->size && size <= image->size - start;
}

static int open_image(const char *path, struct image *image)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    memset(image, 0, sizeof *image);
    if (file < 0)
        return 0;
    if (!fstat(file, &facts) && facts.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        void *data = mmap(NULL, facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) {
            image->data = data;
            image->size = facts.st_size;
        }
    }
    close(file);
    if (!image->data)
        return 0;
    const Elf64_Ehdr *head = (const void *)image->data;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shentsize != sizeof(Elf64_Shdr) ||
        !contains(image, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)))
        return 1;
    const Elf64_Shdr *sections = (const void *)(image->data + head->e_shoff);
    const Elf64_Shdr *titles = head->e_shstrndx < head->e_shnum ? &sections[head->e_shstrndx] : NULL;
    for (int n = 0; n < head->e_shnum; n++) {
        const Elf64_Shdr *each = &sections[n];
        if (titles && each->sh_name < titles->sh_size &&
            titles->sh_size - each->sh_name >= sizeof OURS &&
            contains(image, titles->sh_offset, titles->sh_size) &&
            !memcmp(image->data + titles->sh_offset + each->sh_name, OURS, sizeof OURS))
            image->is_ours = 1;
        if (each->sh_type != SHT_SYMTAB || each->sh_link >= head->e_shnum)
            continue;
        const Elf64_Shdr *texts = &sections[each->sh_link];
        if (!contains(image, each->sh_offset, each->sh_size) ||
            !contains(image, texts->sh_offset, texts->sh_size) || !texts->sh_size ||
            image->data[texts->sh_offset + texts->sh_size - 1])
            continue;
        image->symbols = (const void *)(image->data + each->sh_offset);
        image->count = each->sh_size / sizeof(Elf64_Sym);
        image->names = (const char *)image->data + texts->sh_offset;
        image->name_bytes = texts->sh_size;
    }
    return 1;
}

static const char *name_of(const struct image *image, const Elf64_Sym *symbol)
{
    return symbol->st_name < image->name_bytes ? image->names + symbol->st_name : "";
}

static int is_function(const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
}

static int defines(const struct image *image, const char *name)
{
    for (size_t n = 0; n < image->count; n++)
        if (is_function(&image->symbols[n]) && !strcmp(name_of(image, &image->symbols[n]), name))
            return 1;
    return 0;
}

/* --- jumps --- */

static uint8_t *trampolines; /* the next free one */

static int is_jump(const uint8_t *place)
{
#if defined(__x86_64__)
    return *place == 0xE9;
#else
    return (place[3] & 0xFC) == 0x14;
#endif
}

/* Pages for trampolines, within reach of an address where the program does not lie. */
static uint8_t *make_trampolines(uintptr_t near, size_t size)
{
    for (uintptr_t distance = 1 << 24; distance < REACH; distance += 1 << 22) {
        for (int side = -1; side <= 1; side += 2) {
            if (side < 0 && near < distance + page)
                continue;
            uintptr_t wanted = (near + side * distance) & ~(page - 1);
            void *found = mmap((void *)wanted, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (found == MAP_FAILED)
                continue;
            if (found == (void *)wanted)
                return found;
            munmap(found, size); /* an old kernel treats it as a hint */
        }
    }
    refuse("the program's runtime cannot be replaced", "no memory is free near it");
    return NULL;
}

static void jump(uint8_t *from, void *to)
{
    uint8_t *through = trampolines;
    trampolines += TRAMPOLINE;
#if defined(__x86_64__)
    static const uint8_t indirect[] = { 0xFF, 0x25, 0, 0, 0, 0 }; /* jmp [rip] */
    int32_t distance = (int32_t)(through - (from + JUMP));
    memcpy(through, indirect, sizeof indirect);
    memcpy(through + sizeof indirect, &to, sizeof to);
    from[0] = 0xE9;
    memcpy(from + 1, &distance, sizeof distance);
#else
    static const uint32_t indirect[] = { 0x58000050, 0xD61F0200 }; /* ldr x16, .+8; br x16 */
    uint32_t near = 0x14000000 | (((uint32_t)((through - from) / 4)) & 0x03FFFFFF); /* b */
    memcpy(through, indirect, sizeof indirect);
    memcpy(through + sizeof indirect, &to, sizeof to);
    memcpy(from, &near, sizeof near);
#endif
}

static void set_pages(uint8_t *start, size_t size, int access)
{
    uintptr_t first = (uintptr_t)start & ~(page - 1);
    uintptr_t end = ((uintptr_t)start + size + page - 1) & ~(page - 1);
    if (mprotect((void *)first, end - first, access))
        refuse("the program's runtime cannot be replaced", "its code cannot be written");
}

/* A function of the runtime in a file, and ours. */
struct pair {
    uint8_t *from;
    void *to;
};

static int by_address(const void *one, const void *two)
{
    const uint8_t *a = ((const struct pair *)one)->from, *b = ((const struct pair *)two)->from;
    return (a > b) - (a < b);
}

/* The runtime's functions in a file, by their addresses; the caller frees them. */
static struct pair *find_pairs(const struct image *image, uint8_t *base, size_t *found)
{
    struct pair *pairs = malloc((image->count + 1) * sizeof *pairs);
    size_t count = 0;
    if (!pairs)
        refuse("the program's runtime cannot be replaced", "no memory is left");
    for (size_t n = 0; n < image->count; n++) {
        const Elf64_Sym *symbol = &image->symbols[n];
        const char *name = name_of(image, symbol);
        if (!is_function(symbol) || (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)))
            continue;
        void *to = dlsym(runtime, name);
        if (!to)
            continue; /* the program's own, or one that only the vendor's runtime calls */
        if (symbol->st_size < JUMP)
            refuse(name, "its code is too short to be replaced");
        pairs[count++] = (struct pair){ base + symbol->st_value, to };
    }
    qsort(pairs, count, sizeof *pairs, by_address);
    *found = count;
    return pairs;
}

/* Whether the pages of a function are, or follow, those of another. */
static int is_near(const uint8_t *one, const uint8_t *two)
{
    return (uintptr_t)two / page <= ((uintptr_t)one + JUMP - 1) / page + 1;
}

/* Write jumps to our functions. Adjacent pages become writable in one call. */
static void redirect(const struct pair *pairs, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && is_near(pairs[end - 1].from, pairs[end].from);)
            end++;
        uint8_t *start = pairs[first].from;
        size_t size = (size_t)(pairs[end - 1].from - start) + JUMP;
        set_pages(start, size, PROT_READ | PROT_WRITE | PROT_EXEC);
        for (size_t n = first; n < end; n++)
            jump(pairs[n].from, pairs[n].to);
        set_pages(start, size, PROT_READ | PROT_EXEC);
        __builtin___clear_cache((char *)start, (char *)start + size);
    }
}

/* The libcudart beside this file, of the version that a file was linked with. */
static void *libcudart(const struct image *image)
{
    Dl_info own;
    char path[4096];
    /* Only CUDA 12 has this name; in 13 the plain name has its parameters. */
    const char *file = defines(image, "cudaGetDeviceProperties_v2") ? "libcudart.so.12"
                                                                    : "libcudart.so.13";
    if (!dladdr((void *)(uintptr_t)libcudart, &own) || !own.dli_fname)
        refuse(file, "its folder is unknown");
    const char *slash = strrchr(own.dli_fname, '/');
    int length = slash ? (int)(slash - own.dli_fname) + 1 : 0;
    if ((size_t)snprintf(path, sizeof path, "%.*s%s", length, own.dli_fname, file) >= sizeof path)
        refuse(file, "its path is too long");
    void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!found)
        refuse(file, dlerror());
    return found;
}

/* --- the files of the process --- */

/* A file that was examined, and the result. */
struct known {
    uintptr_t base;
    const void *headers;
    int present;
    uint8_t *place; /* a function that jumps, or null */
    uint8_t *pages; /* the trampolines */
    size_t size;
};

static struct known *files;
static size_t file_count, file_room;
static unsigned long long loads; /* the number of loaded files at the last pass over the process */

static void replace_runtime(const char *path, struct known *file)
{
    const char *last = strrchr(path, '/');
    struct image image;
    if (last && !strncmp(last + 1, "libcudart.so", 12))
        return;
    if (!open_image(path, &image))
        return;
    if (!image.is_ours && defines(&image, "__cudaRegisterFatBinary")) {
        runtime = libcudart(&image);
        size_t count;
        struct pair *pairs = find_pairs(&image, (uint8_t *)file->base, &count);
        file->place = count ? pairs[0].from : (uint8_t *)file->base;
        file->size = (count * TRAMPOLINE + page - 1) / page * page;
        file->pages = trampolines = make_trampolines((uintptr_t)file->place, file->size);
        redirect(pairs, count);
        set_pages(file->pages, file->size, PROT_READ | PROT_EXEC);
        free(pairs);
    }
    munmap((void *)image.data, image.size);
}

static struct known *known_file(const struct dl_phdr_info *info)
{
    for (size_t n = 0; n < file_count; n++)
        if (files[n].base == info->dlpi_addr && files[n].headers == info->dlpi_phdr)
            return &files[n];
    if (file_count == file_room) {
        size_t room = file_room ? 2 * file_room : 64;
        struct known *more = realloc(files, room * sizeof *more);
        if (!more)
            refuse("the program's runtime cannot be replaced", "no memory is left");
        files = more;
        file_room = room;
    }
    files[file_count] = (struct known){ .base = info->dlpi_addr, .headers = info->dlpi_phdr };
    return NULL;
}

struct fresh {
    const char *path;
    size_t file;
};

/* The next file that was not examined. Opens nothing: the loader is iterating. */
static int find_fresh(struct dl_phdr_info *info, size_t size, void *made)
{
    struct fresh *fresh = made;
    struct known *file = known_file(info);
    (void)size;
    loads = info->dlpi_adds;
    /* A file may be loaded again at the same address, without the jumps. */
    if (file && file->place && !is_jump(file->place))
        file->place = NULL;
    else if (file)
        return file->present = 1, 0;
    size_t place = file ? (size_t)(file - files) : file_count++;
    if (file && file->pages)
        munmap(file->pages, file->size);
    files[place].pages = NULL;
    files[place].present = 1;
    fresh->path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    fresh->file = place;
    return 1;
}

/* Forget closed files. */
static void forget_absent(void)
{
    size_t kept = 0;
    for (size_t n = 0; n < file_count; n++) {
        if (files[n].present)
            files[kept++] = files[n];
        else if (files[n].pages)
            munmap(files[n].pages, files[n].size);
    }
    file_count = kept;
}

static int has_more(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    return info->dlpi_adds != loads;
}

/* Thread safety: the loader holds its lock while it runs constructors, so only one thread is in
 * here. */
static void replace_runtimes(void)
{
    struct fresh fresh;
    page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t n = 0; n < file_count; n++)
        files[n].present = 0;
    while (dl_iterate_phdr(find_fresh, &fresh)) {
        struct known file = files[fresh.file];
        replace_runtime(fresh.path, &file); /* this may open libcudart, and re-enter here */
        for (size_t n = 0; n < file_count; n++)
            if (files[n].base == file.base && files[n].headers == file.headers)
                files[n] = file;
    }
    forget_absent();
}

/* Whether this file is loaded, for the driver's messages. */
__attribute__((visibility("default"))) const char gl_preloaded = 1;

__attribute__((visibility("default"))) void __gmon_start__(void)
{
    int error = errno;
    if (dl_iterate_phdr(has_more, NULL))
        replace_runtimes();
    errno = error;
}

/* The C library's own constructor has not run yet. The loader runs it for libcudart, which needs
 * it, with its own record of the process's arguments and environment, which is still empty here. */
__attribute__((constructor)) static void begin(int count, char **words, char **environment)
{
    if (!environ)
        environ = environment;
    __gmon_start__();
    if (count > 0 && !*program_invocation_name) {
        const char *slash = strrchr(words[0], '/');
        program_invocation_name = words[0];
        program_invocation_short_name = slash ? (char *)slash + 1 : words[0];
    }
}
