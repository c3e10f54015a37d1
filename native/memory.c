/* The memory of arrays: counted, and large blocks used again.
 *
 * NumPy asks a handler for the data of every array (NEP 49). Ours counts the bytes and passes small requests on to NumPy's
 * own. Freed blocks from SMALLEST on are kept, by size class, for the next request of at least half their size: a program
 * that trains frees in its backward what its next forward asks for, and the C library would give those pages back to the
 * system and fetch them again, zeroed one by one. A step asks for different sizes at different times, so used and kept
 * memory together may exceed the most that was in use at a time, by 16 MB, or half of it up to 32 MB; nor does the kept
 * memory exceed a limit.
 *
 * A handler belongs to a context of contextvars; threads start with NumPy's default one. So there are two of ours: one for
 * the context that imports us, whose count is exact (but for arrays that change their size), and one that takes the place
 * of the default. The second also gets back blocks that were allocated before we came, so its count stops at zero.
 *
 * NumPy calls handlers with the GIL held, which is all the locking there is; without a GIL nothing is kept or counted. */
#include "wengert.h"

#include <stdlib.h>

#if defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#define CAPACITY(block) malloc_usable_size(block)
#elif defined(__APPLE__)
#include <malloc/malloc.h>
#define CAPACITY(block) malloc_size(block)
#endif

enum { STEP_POWER = 5, STEPS = 1 << STEP_POWER, FIRST_POWER = 14, LAST_POWER = 30, CLASSES = (LAST_POWER - FIRST_POWER) * STEPS + 1 };
static const size_t SMALLEST = (size_t)1 << FIRST_POWER, LARGEST = (size_t)1 << LAST_POWER;
static const int64_t WORTH_TRIMMING = 1 << 24, MOST_SPARE = 1 << 25, LEAST_SPARE = 1 << 24;
static const size_t HUGE_PAGES_FROM = (size_t)1 << 22;

static struct {
    int64_t mine, others;      /* bytes in use: of our handler's context, of all others */
    int64_t peak, highest;     /* the most bytes in use, since a reset and ever */
    int64_t allocations, frees, allocated; /* since the beginning; `allocated` in bytes */
    int64_t kept, limit, hits; /* bytes waiting to be used again, how many may, how often it went well */
    int64_t slack;             /* by which blocks in use are larger than what was asked for */
    int64_t returned;          /* bytes given back since the C library was last asked to give its own back */
    void *waiting[CLASSES];    /* a block's first bytes point to the next one */
} memory = {.limit = (int64_t)1 << 30};

static PyDataMem_Handler *numpys; /* the handler that we stand before */

static inline int64_t in_use(void) { return memory.mine + memory.others; }

static inline void count(int64_t *held, size_t size)
{
    *held += (int64_t)size;
    memory.allocations++;
    memory.allocated += (int64_t)size;
    const int64_t now = in_use();
    if (now > memory.peak) {
        memory.peak = now;
        if (now > memory.highest) memory.highest = now;
    }
}

static inline void discount(int64_t *held, size_t size)
{
    memory.frees++;
    *held -= (int64_t)size;
    if (*held < 0) *held = 0;
}

#ifdef CAPACITY

/* STEPS classes for each power of two: a block is at most a STEPS-th larger than what was asked for. */
static inline int class_of(size_t size)
{
    const int power = 63 - __builtin_clzll((unsigned long long)(size - 1));
    const size_t step = (size_t)1 << (power - STEP_POWER);
    return (power - FIRST_POWER) * STEPS + (int)((size - 1 - ((size_t)1 << power)) / step) + 1;
}

static inline size_t class_size(int class)
{
    const int power = FIRST_POWER + (class - 1) / STEPS;
    return class ? ((size_t)1 << power) + (size_t)((class - 1) % STEPS + 1) * ((size_t)1 << (power - STEP_POWER)) : SMALLEST;
}

static inline int is_large(size_t size) { return size > SMALLEST && size <= LARGEST; }

/* A large block notes at its end how much was asked for: NumPy does not tell when it asks for another size. */
struct note {
    uintptr_t mark;
    size_t size;
};

static inline struct note *note_of(void *block)
{
    return (struct note *)((char *)block + (CAPACITY(block) / 16 - 1) * 16);
}

static inline uintptr_t mark_of(void *block) { return (uintptr_t)block ^ (uintptr_t)0x77656e67657274; }

static void *noted(void *block, size_t size)
{
    if (block) *note_of(block) = (struct note){mark_of(block), size};
    return block;
}

/* The class whose requests a block is large enough for. */
static inline int class_within(void *block)
{
    const size_t room = CAPACITY(block) - sizeof(struct note);
    const int class = room < LARGEST ? class_of(room) : CLASSES - 1;
    return class_size(class) > room ? class - 1 : class;
}

/* How much was asked for; what the C library made of it where nobody knows. */
static size_t size_of(void *block)
{
    const size_t capacity = CAPACITY(block);
    if (capacity <= SMALLEST) return capacity;
    const struct note *note = note_of(block);
    return note->mark == mark_of(block) ? note->size : capacity;
}

/* Give kept blocks back to the system, large ones first, until `most` bytes are left. */
static void shrink(int64_t most)
{
    for (int class = CLASSES - 1; class >= 0 && memory.kept > most; class--)
        while (memory.waiting[class] && memory.kept > most) {
            void *block = memory.waiting[class];
            memory.waiting[class] = *(void **)block;
            memory.kept -= (int64_t)class_size(class);
            memory.returned += (int64_t)class_size(class);
            free(block);
        }
#ifdef __GLIBC__
    /* The C library keeps blocks of up to 32 MB in its heap, where they would stay resident between others. */
    if (memory.returned > WORTH_TRIMMING) {
        memory.returned = 0;
        malloc_trim(0);
    }
#endif
}

/* Large pages for a new block; and where it is to be zero, pages that are when somebody looks: those that nobody writes to are not
 * fetched. calloc would do that, but its blocks do not begin where a cache line does. */
static void ask_for_pages(void *block, size_t room, int zeroed)
{
    char *start = block, *end = start;
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)block + page - 1) / page * page;
    start = (char *)first, end = (char *)(((uintptr_t)block + room) / page * page);
    madvise(start, end - start, MADV_HUGEPAGE);
    if (zeroed && madvise(start, end - start, MADV_DONTNEED)) start = end = block;
#endif
    if (!zeroed) return;
    memset(block, 0, start - (char *)block);
    memset(end, 0, (char *)block + room - end);
}

static void *large(size_t size, int zeroed)
{
    const int class = class_of(size);
    const size_t room = class_size(class);
    void *block; /* the smallest that is large enough, up to twice the size */
    for (int larger = class; larger <= class + STEPS && larger < CLASSES; larger++)
        if ((block = memory.waiting[larger])) {
            memory.waiting[larger] = *(void **)block;
            memory.kept -= (int64_t)class_size(larger);
            memory.slack += (int64_t)(class_size(larger) - size);
            memory.hits++;
            if (zeroed) memset(block, 0, size);
            return noted(block, size);
        }
    if (memory.kept) { /* what is kept must add little to the most that was ever in use */
        int64_t more = memory.highest / 2 < MOST_SPARE ? memory.highest / 2 : MOST_SPARE;
        if (more < LEAST_SPARE) more = LEAST_SPARE;
        const int64_t spare = memory.highest + more - in_use() - memory.slack - (int64_t)room;
        if (memory.kept > spare) shrink(spare > 0 ? spare : 0);
    }
    memory.slack += (int64_t)(room - size);
    if (posix_memalign(&block, 64, room + sizeof(struct note))) return NULL;
    if (room >= HUGE_PAGES_FROM) ask_for_pages(block, room, zeroed);
    else if (zeroed) memset(block, 0, size);
    return noted(block, size);
}

static void let_go(void *block, size_t size)
{
    const int class = class_within(block);
    const int64_t room = (int64_t)class_size(class);
    memory.slack -= room - (int64_t)size;
    if (memory.slack < 0) memory.slack = 0;
    /* A block that did not come from here may be smaller than its class. */
    if (memory.kept + room > memory.limit || (size_t)room < size) {
        free(block);
        return;
    }
    *(void **)block = memory.waiting[class];
    memory.waiting[class] = block;
    memory.kept += room;
}

#else

static inline int is_large(size_t size) { (void)size; return 0; }
static void *large(size_t size, int zeroed) { (void)size, (void)zeroed; return NULL; }
static void let_go(void *block, size_t size) { (void)size; free(block); }
static void shrink(int64_t most) { (void)most; }

#endif

static void *counted_malloc(void *held, size_t size)
{
    void *block = is_large(size) ? large(size, 0) : numpys->allocator.malloc(numpys->allocator.ctx, size);
    if (block) count(held, size);
    return block;
}

static void *counted_calloc(void *held, size_t number, size_t each)
{
    const size_t size = number * each; /* NumPy has made sure that this is no overflow */
    void *block = is_large(size) ? large(size, 1) : numpys->allocator.calloc(numpys->allocator.ctx, number, each);
    if (block) count(held, size);
    return block;
}

static void counted_free(void *held, void *block, size_t size)
{
    if (!block) return;
    discount(held, size);
    if (is_large(size)) let_go(block, size);
    else numpys->allocator.free(numpys->allocator.ctx, block, size);
}

static void *counted_realloc(void *held, void *block, size_t size)
{
#ifdef CAPACITY
    if (!block) return counted_malloc(held, size);
    const size_t before = size_of(block);
    void *after = realloc(block, is_large(size) ? class_size(class_of(size)) + sizeof(struct note) : size ? size : 1);
    if (!after) return NULL;
    discount(held, before);
    count(held, size);
    return is_large(size) ? noted(after, size) : after;
#else
    (void)held;
    return numpys->allocator.realloc(numpys->allocator.ctx, block, size);
#endif
}

#define HANDLER(name, held) \
    {name, 1, {held, counted_malloc, counted_calloc, counted_realloc, counted_free}}
static PyDataMem_Handler of_mine = HANDLER("wengert", &memory.mine);
static PyDataMem_Handler of_others = HANDLER("wengert_default", &memory.others);

static PyObject *counts(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_BuildValue("LLLLLLL", (long long)in_use(), (long long)memory.peak, (long long)memory.allocations, (long long)memory.frees,
                         (long long)memory.allocated, (long long)memory.kept, (long long)memory.hits);
}

static PyObject *allocated(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong((long long)in_use());
}

static PyObject *reset_peak(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    memory.peak = in_use();
    Py_RETURN_NONE;
}

static PyObject *reset_totals(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    memory.allocations = memory.frees = memory.allocated = memory.hits = 0;
    Py_RETURN_NONE;
}

static PyObject *set_limit(PyObject *module, PyObject *bytes)
{
    (void)module;
    const long long limit = PyLong_AsLongLong(bytes);
    if (limit == -1 && PyErr_Occurred()) return NULL;
    if (limit < 0) return PyErr_Format(PyExc_ValueError, "the limit must not be negative");
    memory.limit = limit;
    shrink(limit);
    Py_RETURN_NONE;
}

static PyObject *empty_cache(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    shrink(0);
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    Py_RETURN_NONE;
}

PyMethodDef memory_methods[] = {
    {"memory_counts", counts, METH_NOARGS, "(bytes in use, peak, allocations, frees, bytes allocated, bytes kept, kept blocks used again)."},
    {"memory_allocated", allocated, METH_NOARGS, "Bytes of array data in use."},
    {"memory_reset_peak", reset_peak, METH_NOARGS, "Let the peak begin at what is in use."},
    {"memory_reset_totals", reset_totals, METH_NOARGS, "Let the counts of events begin at zero."},
    {"memory_set_limit", set_limit, METH_O, "set_limit(bytes): how much freed memory may be kept."},
    {"memory_empty_cache", empty_cache, METH_NOARGS, "Give freed memory back to the system."},
    {NULL, NULL, 0, NULL},
};

int memory_init(PyObject *module)
{
    if (PyModule_AddFunctions(module, memory_methods) < 0) return -1;
#ifndef Py_GIL_DISABLED
    if (numpys) return 0; /* another interpreter of this process was here */
    numpys = PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
    if (!numpys) return -1;
    const char *limit = getenv("WENGERT_CACHE_MB");
    if (limit) memory.limit = (int64_t)atoi(limit) << 20;
    PyObject *capsule = PyCapsule_New(&of_mine, "mem_handler", NULL);
    PyObject *before = capsule ? PyDataMem_SetHandler(capsule) : NULL;
    Py_XDECREF(capsule);
    if (!before) return -1;
    if (before != PyDataMem_DefaultHandler) { /* somebody else's: leave it in force, and count the rest */
        PyObject *ours = PyDataMem_SetHandler(before);
        Py_XDECREF(ours);
    }
    Py_DECREF(before);
    if (PyCapsule_SetPointer(PyDataMem_DefaultHandler, &of_others)) return -1;
#endif
    return 0;
}
