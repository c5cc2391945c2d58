/* Load machine code that LLVM made for x86-64: a relocatable ELF object.
 *
 * All reads are checked against the object's bounds. Unknown parts are refused, and Python loads
 * the kernel instead. Code, constants and variables lie in one mapping, so they reach each other.
 * It is written first and made executable then, never both. Code stays until the process's end. */
#define _GNU_SOURCE
#include "ready.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CODE, CONSTANTS, VARIABLES, PARTS, NOWHERE = PARTS };
enum { MOST_SECTIONS = 4096, MOST_SYMBOLS = 1 << 16, STUB = 8, MOST_ALIGN = 4096 };
static const uint64_t LARGEST = 64 << 20;

#ifndef R_X86_64_GOTPCRELX
#define R_X86_64_GOTPCRELX 41
#define R_X86_64_REX_GOTPCRELX 42
#endif
#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

struct place {
    int part;
    uint64_t offset; /* in its part */
};

/* An object, and its destination. */
struct object {
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr head;
    Elf64_Shdr *sections;
    struct place *places; /* of sections */
    Elf64_Sym *symbols;
    uint64_t *values; /* of symbols: addresses */
    uint8_t *is_outside;
    size_t count;
    const char *names;
    size_t names_size;
    uint64_t sizes[PARTS];
    uint8_t *parts[PARTS];
    uint64_t *table; /* the global offset table: an entry for each symbol */
    uint8_t *stubs;  /* jumps to symbols of the process */
    uint8_t *mapping;
    size_t mapped;
};

static int is_within(const struct object *all, uint64_t offset, uint64_t size)
{
    return offset <= all->size && size <= all->size - offset;
}

static int read_sections(struct object *all)
{
    if (!is_within(all, 0, sizeof all->head))
        return 0;
    memcpy(&all->head, all->bytes, sizeof all->head);
    const Elf64_Ehdr *head = &all->head;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_type != ET_REL ||
        head->e_machine != EM_X86_64 || head->e_shentsize != sizeof *all->sections ||
        !head->e_shnum || head->e_shnum > MOST_SECTIONS ||
        !is_within(all, head->e_shoff, (uint64_t)head->e_shnum * sizeof *all->sections))
        return 0;
    all->sections = calloc(head->e_shnum, sizeof *all->sections);
    all->places = calloc(head->e_shnum, sizeof *all->places);
    if (!all->sections || !all->places)
        return 0;
    memcpy(all->sections, all->bytes + head->e_shoff, head->e_shnum * sizeof *all->sections);
    for (size_t n = 0; n < head->e_shnum; n++)
        if (all->sections[n].sh_type != SHT_NOBITS && all->sections[n].sh_type != SHT_NULL &&
            !is_within(all, all->sections[n].sh_offset, all->sections[n].sh_size))
            return 0;
    return 1;
}

/* Assign each section a place; false for kinds of sections that need more. */
static int place_sections(struct object *all)
{
    for (size_t n = 0; n < all->head.e_shnum; n++) {
        const Elf64_Shdr *each = &all->sections[n];
        struct place *place = &all->places[n];
        place->part = NOWHERE;
        if (each->sh_type == SHT_REL || each->sh_flags & (SHF_TLS | SHF_COMPRESSED))
            return 0;
        if (!(each->sh_flags & SHF_ALLOC) || each->sh_type == SHT_X86_64_UNWIND)
            continue; /* nothing unwinds through kernels */
        if (each->sh_type != SHT_PROGBITS && each->sh_type != SHT_NOBITS)
            return 0;
        if (each->sh_flags & SHF_EXECINSTR && each->sh_flags & SHF_WRITE)
            return 0;
        place->part = each->sh_flags & SHF_EXECINSTR ? CODE
                      : each->sh_flags & SHF_WRITE   ? VARIABLES
                                                     : CONSTANTS;
        uint64_t align = each->sh_addralign ? each->sh_addralign : 1;
        if (align & (align - 1) || align > MOST_ALIGN || each->sh_size > LARGEST)
            return 0;
        uint64_t *end = &all->sizes[place->part];
        place->offset = (*end + align - 1) & ~(align - 1);
        *end = place->offset + each->sh_size;
        if (*end > LARGEST)
            return 0;
    }
    return 1;
}

static int read_symbols(struct object *all)
{
    const Elf64_Shdr *table = NULL;
    for (size_t n = 0; n < all->head.e_shnum; n++)
        if (all->sections[n].sh_type == SHT_SYMTAB) {
            if (table)
                return 0;
            table = &all->sections[n];
        }
    if (!table || table->sh_entsize != sizeof *all->symbols || table->sh_link >= all->head.e_shnum)
        return 0;
    const Elf64_Shdr *text = &all->sections[table->sh_link];
    all->count = table->sh_size / sizeof *all->symbols;
    if (text->sh_type != SHT_STRTAB || !text->sh_size || all->count > MOST_SYMBOLS ||
        all->bytes[text->sh_offset + text->sh_size - 1])
        return 0;
    all->names = (const char *)all->bytes + text->sh_offset;
    all->names_size = text->sh_size;
    all->symbols = calloc(all->count + 1, sizeof *all->symbols);
    all->values = calloc(all->count + 1, sizeof *all->values);
    all->is_outside = calloc(all->count + 1, 1);
    if (!all->symbols || !all->values || !all->is_outside)
        return 0;
    memcpy(all->symbols, all->bytes + table->sh_offset, all->count * sizeof *all->symbols);
    return 1;
}

static uint64_t whole_pages(uint64_t size)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* The stubs follow the code, the global offset table follows the constants. */
static int map(struct object *all)
{
    uint64_t stubs = (all->sizes[CODE] + STUB - 1) / STUB * STUB;
    uint64_t table = (all->sizes[CONSTANTS] + 7) / 8 * 8;
    uint64_t code = whole_pages(stubs + all->count * STUB);
    uint64_t constants = whole_pages(table + all->count * sizeof *all->table + 1);
    uint64_t variables = whole_pages(all->sizes[VARIABLES]);
    all->mapped = code + constants + variables;
    void *made = mmap(NULL, all->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return 0;
    all->mapping = made;
    all->parts[CODE] = all->mapping;
    all->parts[CONSTANTS] = all->mapping + code;
    all->parts[VARIABLES] = all->mapping + code + constants;
    all->stubs = all->mapping + stubs;
    all->table = (uint64_t *)(void *)(all->parts[CONSTANTS] + table);
    for (size_t n = 0; n < all->head.e_shnum; n++) {
        const struct place *place = &all->places[n];
        if (place->part != NOWHERE && all->sections[n].sh_type == SHT_PROGBITS)
            memcpy(all->parts[place->part] + place->offset,
                   all->bytes + all->sections[n].sh_offset, all->sections[n].sh_size);
    }
    return 1;
}

/* A function of the process, or of the libraries of mathematical functions; 0 if there is none. */
static uint64_t outside(const char *name)
{
    static const char *const libraries[] = { "libm.so.6", "libmvec.so.1" };
    void *found = dlsym(RTLD_DEFAULT, name);
    for (size_t n = 0; !found && n < sizeof libraries / sizeof *libraries; n++) {
        void *library = dlopen(libraries[n], RTLD_NOW | RTLD_LOCAL);
        found = library ? dlsym(library, name) : NULL;
    }
    return (uintptr_t)found;
}

static int find_symbols(struct object *all)
{
    for (size_t n = 1; n < all->count; n++) {
        const Elf64_Sym *each = &all->symbols[n];
        const int type = ELF64_ST_TYPE(each->st_info);
        if (each->st_name >= all->names_size || type == STT_TLS || type == STT_GNU_IFUNC)
            return 0;
        const char *name = all->names + each->st_name;
        if (type == STT_FILE) {
            continue;
        } else if (each->st_shndx == SHN_UNDEF && !strcmp(name, "_GLOBAL_OFFSET_TABLE_")) {
            all->values[n] = (uintptr_t)all->table;
        } else if (each->st_shndx == SHN_UNDEF) {
            all->values[n] = outside(name);
            all->is_outside[n] = 1;
            if (!all->values[n])
                return 0;
        } else if (each->st_shndx == SHN_ABS) {
            all->values[n] = each->st_value;
        } else if (each->st_shndx >= all->head.e_shnum) { /* of no section, as common memory is */
            return 0;
        } else if (all->places[each->st_shndx].part != NOWHERE) {
            const struct place *place = &all->places[each->st_shndx];
            if (each->st_value > all->sections[each->st_shndx].sh_size)
                return 0;
            all->values[n] =
                (uintptr_t)all->parts[place->part] + place->offset + each->st_value;
        }
        all->table[n] = all->values[n];
        /* jmp *entry(%rip) */
        uint8_t *stub = all->stubs + n * STUB;
        int32_t away = (int32_t)((uint8_t *)&all->table[n] - (stub + 6));
        stub[0] = 0xff;
        stub[1] = 0x25;
        memcpy(stub + 2, &away, sizeof away);
    }
    return 1;
}

/* The number that a relocation stores, its width, and whether it is signed. */
static int relocated(const struct object *all, const Elf64_Rela *each, uint64_t at, uint64_t *made,
                     unsigned *width, int *is_signed)
{
    const size_t n = ELF64_R_SYM(each->r_info);
    const uint64_t value = all->values[n], table = (uintptr_t)all->table;
    const uint64_t entry = (uintptr_t)&all->table[n];
    const uint64_t call = all->is_outside[n] ? (uintptr_t)(all->stubs + n * STUB) : value;
    uint64_t from;
    *width = 4;
    *is_signed = 1;
    switch (ELF64_R_TYPE(each->r_info)) {
    case R_X86_64_64:
        from = value, *width = 8;
        break;
    case R_X86_64_PC32:
        from = value - at;
        break;
    case R_X86_64_PLT32:
        from = call - at;
        break;
    case R_X86_64_32:
        from = value, *is_signed = 0;
        break;
    case R_X86_64_32S:
        from = value;
        break;
    case R_X86_64_PC64:
        from = value - at, *width = 8;
        break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        from = entry - at;
        break;
    case R_X86_64_GOTPC32:
        from = table - at;
        break;
    case R_X86_64_GOTPC64:
        from = table - at, *width = 8;
        break;
    case R_X86_64_GOT64:
        from = entry - table, *width = 8;
        break;
    case R_X86_64_GOTOFF64:
        from = value - table, *width = 8;
        break;
    case R_X86_64_PLTOFF64:
        from = call - table, *width = 8;
        break;
    default:
        return 0;
    }
    *made = from + (uint64_t)each->r_addend;
    return 1;
}

static int relocate_one(const struct object *all, const Elf64_Shdr *target, uint8_t *start,
                        const Elf64_Rela *each)
{
    uint64_t made;
    unsigned width;
    int is_signed;
    const size_t n = ELF64_R_SYM(each->r_info);
    if (ELF64_R_TYPE(each->r_info) == R_X86_64_NONE)
        return 1;
    if (n >= all->count || each->r_offset > target->sh_size || (n && !all->values[n]))
        return 0;
    uint8_t *at = start + each->r_offset;
    if (!relocated(all, each, (uintptr_t)at, &made, &width, &is_signed) ||
        width > target->sh_size - each->r_offset)
        return 0;
    if (width == 4 && (is_signed ? (int64_t)made != (int32_t)made : made != (uint32_t)made))
        return 0;
    memcpy(at, &made, width);
    return 1;
}

static int relocate(const struct object *all)
{
    for (size_t n = 0; n < all->head.e_shnum; n++) {
        const Elf64_Shdr *each = &all->sections[n];
        if (each->sh_type != SHT_RELA)
            continue;
        if (each->sh_info >= all->head.e_shnum || each->sh_entsize != sizeof(Elf64_Rela))
            return 0;
        const struct place *place = &all->places[each->sh_info];
        const Elf64_Shdr *target = &all->sections[each->sh_info];
        if (place->part == NOWHERE)
            continue;
        if (target->sh_type == SHT_NOBITS)
            return 0;
        for (uint64_t m = 0; m < each->sh_size / sizeof(Elf64_Rela); m++) {
            Elf64_Rela one;
            memcpy(&one, all->bytes + each->sh_offset + m * sizeof one, sizeof one);
            if (!relocate_one(all, target, all->parts[place->part] + place->offset, &one))
                return 0;
        }
    }
    return 1;
}

static int protect(const struct object *all)
{
    size_t code = (size_t)(all->parts[CONSTANTS] - all->mapping);
    size_t constants = (size_t)(all->parts[VARIABLES] - all->parts[CONSTANTS]);
    return !mprotect(all->mapping, code, PROT_READ | PROT_EXEC) &&
           !mprotect(all->parts[CONSTANTS], constants, PROT_READ);
}

static void *exported(const struct object *all, const char *name)
{
    for (size_t n = 1; n < all->count; n++) {
        const Elf64_Sym *each = &all->symbols[n];
        if (ELF64_ST_BIND(each->st_info) != STB_LOCAL && !all->is_outside[n] &&
            !strcmp(all->names + each->st_name, name))
            return (void *)(uintptr_t)all->values[n];
    }
    return NULL;
}

int gl_ready_load(const uint8_t *bytes, size_t size, const char *const *names, void **found,
                  int count)
{
    struct object all = { .bytes = bytes, .size = size };
    int done = read_sections(&all) && place_sections(&all) && read_symbols(&all) && map(&all) &&
               find_symbols(&all) && relocate(&all) && protect(&all);
    for (int n = 0; done && n < count; n++) {
        found[n] = exported(&all, names[n]);
        done = found[n] != NULL;
    }
    if (!done && all.mapping)
        munmap(all.mapping, all.mapped);
    free(all.sections);
    free(all.places);
    free(all.symbols);
    free(all.values);
    free(all.is_outside);
    return done;
}
