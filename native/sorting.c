/* The places of the elements of rows in sorted order: stable, NaN above all numbers. */
#include "wengert.h"

#include <string.h>

#include "pool.h"
#include "sixteen.h"

enum { SHORT = 128, DIGITS = 256 };

struct sort_job {
    const char *x;
    char *room; /* of each chunk: two times a row's items */
    int64_t *places;
    size n;
    int type, descending;
};

/* Numbers that are ordered as the elements are, equal ones for equal elements: those below zero with all bits turned, others with
 * that of the sign. */
static inline uint32_t key_f32(float x)
{
    if (x != x) return UINT32_MAX;
    uint32_t bits;
    x += 0.0f; /* both zeros are equal */
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : (uint32_t)1 << 31);
}
static inline uint64_t key_f64(double x)
{
    if (x != x) return UINT64_MAX;
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : (uint64_t)1 << 63);
}
static inline uint32_t key_i32(int32_t x) { return (uint32_t)x ^ (uint32_t)1 << 31; }
static inline uint64_t key_i64(int64_t x) { return (uint64_t)x ^ (uint64_t)1 << 63; }

struct item_32 {
    uint32_t key, place;
};
struct item_64 {
    uint64_t key, place;
};

/* Short rows by counting what comes before each element. */
#define DEFINE_SHORT(NAME, TARGET, REAL, S, KEY, BITS)                                             \
    static TARGET void NAME(int64_t *places, const REAL *x, int n, KEY turn)                       \
    {                                                                                              \
        int##BITS##_t keys[SHORT];                                                                 \
        const KEY top = (KEY)1 << (BITS - 1);                                                      \
        for (int i = 0; i < n; i++) keys[i] = (int##BITS##_t)(key_##S(x[i]) ^ turn ^ top);         \
        for (int i = 0; i < n; i++) {                                                              \
            int##BITS##_t place = 0;                                                               \
            for (int j = 0; j < i; j++) place += keys[j] <= keys[i];                               \
            for (int j = i + 1; j < n; j++) place += keys[j] < keys[i];                            \
            places[place] = i;                                                                     \
        }                                                                                          \
    }
#ifdef WITH_AVX2
#define DEFINE_SHORTS(REAL, S, KEY, BITS) \
    DEFINE_SHORT(short_##S, , REAL, S, KEY, BITS) DEFINE_SHORT(wide_short_##S, WITH_AVX2, REAL, S, KEY, BITS)
#else
#define DEFINE_SHORTS(REAL, S, KEY, BITS) DEFINE_SHORT(short_##S, , REAL, S, KEY, BITS)
#endif

/* Others by one digit of 8 bits after the other, from the last on; digits that all have in common are left out. */
#define DEFINE_SORT(REAL, S, KEY, BITS)                                                            \
    static void sort_##S(int64_t *places, const REAL *x, size n, int descending, void *room)       \
    {                                                                                              \
        struct item_##BITS *from = room, *to = from + n;                                           \
        const KEY turn = descending ? (KEY)-1 : 0;                                                 \
        KEY all = (KEY)-1, any = 0;                                                                \
        if (n <= SHORT) {                                                                          \
            WIDER(wide_short_##S, short_##S)(places, x, (int)n, turn);                             \
            return;                                                                                \
        }                                                                                          \
        for (size i = 0; i < n; i++) {                                                             \
            const KEY key = key_##S(x[i]) ^ turn;                                                  \
            all &= key, any |= key;                                                                \
            from[i] = (struct item_##BITS){key, i};                                                \
        }                                                                                          \
        for (int shift = 0; shift < BITS; shift += 8) {                                            \
            if (!((all ^ any) >> shift & (DIGITS - 1))) continue;                                  \
            size begin[DIGITS] = {0}, sum = 0;                                                     \
            for (size i = 0; i < n; i++) begin[from[i].key >> shift & (DIGITS - 1)]++;             \
            for (int d = 0; d < DIGITS; d++) {                                                     \
                const size count = begin[d];                                                       \
                begin[d] = sum, sum += count;                                                      \
            }                                                                                      \
            for (size i = 0; i < n; i++) to[begin[from[i].key >> shift & (DIGITS - 1)]++] = from[i]; \
            struct item_##BITS *other = from;                                                      \
            from = to, to = other;                                                                 \
        }                                                                                          \
        for (size i = 0; i < n; i++) places[i] = (int64_t)from[i].place;                           \
    }
DEFINE_SHORTS(float, f32, uint32_t, 32)
DEFINE_SORT(float, f32, uint32_t, 32)
DEFINE_SHORTS(int32_t, i32, uint32_t, 32)
DEFINE_SORT(int32_t, i32, uint32_t, 32)
DEFINE_SHORTS(double, f64, uint64_t, 64)
DEFINE_SORT(double, f64, uint64_t, 64)
DEFINE_SHORTS(int64_t, i64, uint64_t, 64)
DEFINE_SORT(int64_t, i64, uint64_t, 64)

static void sort_task(void *context, size begin, size end, int chunk)
{
    const struct sort_job *job = context;
    const size n = job->n;
    for (size r = begin; r < end; r++) {
#define RUN(REAL, S, BITS) \
    sort_##S(job->places + r * n, (const REAL *)job->x + r * n, n, job->descending, (struct item_##BITS *)job->room + 2 * n * chunk)
        switch (job->type) {
        case NPY_FLOAT: RUN(float, f32, 32); break;
        case NPY_DOUBLE: RUN(double, f64, 64); break;
        case NPY_INT32: RUN(int32_t, i32, 32); break;
        default: RUN(int64_t, i64, 64);
        }
#undef RUN
    }
}

/* sorted_places(rows, descending): the places of the elements of each row of a matrix in order, of equal ones the first first */
static PyObject *sorted_places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM(x) != 2 || !PyArray_ISCARRAY_RO(x) || PyArray_DIM(x, 1) > INT32_MAX) NOT_HANDLED();
    const int type = PyArray_TYPE(x) == NPY_LONGLONG ? NPY_INT64 : PyArray_TYPE(x);
    if (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT32 && type != NPY_INT64) NOT_HANDLED();
    struct sort_job job = {.n = PyArray_DIM(x, 1), .type = type, .descending = PyObject_IsTrue(args[1])};
    const size rows = PyArray_DIM(x, 0);
    const int chunks = pool_chunks(rows, 8.0 * job.n);
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(x), NPY_INT64);
    PyArrayObject *room = out ? scratch(2 * job.n * chunks, type == NPY_FLOAT || type == NPY_INT32 ? 8 : 16) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    job.x = PyArray_BYTES(x), job.room = PyArray_BYTES(room), job.places = PyArray_DATA(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x) * 8);
    if (PyArray_SIZE(x)) pool_run(sort_task, &job, rows, chunks);
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

PyMethodDef sorting_methods[] = {{"sorted_places", (PyCFunction)(void (*)(void))sorted_places, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
