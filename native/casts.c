/* float32 to float16 and bfloat16 and back, rounding to nearest even; whole numbers and truth values to others, and anything to truth
 * values, in wider vectors than NumPy's. From 16 bits to others, and back, the way leads through float32. Other casts are NumPy's. */
#include "wengert.h"

#include "fast.h"
#include "pool.h"
#include "sixteen.h"
#include "stream.h"

/* Below this many elements the GIL is kept. */
static const size WORTH_RELEASING = 1 << 13;

/* ---- whole numbers, by the instructions that all processors have and by AVX2 ---- */

typedef void convert(void *to, const void *from, size n);

#define DEFINE_CONVERT(NAME, TARGET, F, T, expression)                     \
    static TARGET void NAME(void *into, const void *source, size n)        \
    {                                                                      \
        T *restrict to = into;                                             \
        const F *restrict from = source;                                   \
        for (size i = 0; i < n; i++) { const F x = from[i]; to[i] = (T)(expression); } \
    }
#ifdef WITH_AVX2
#define DEFINE_BOTH(NAME, F, T, expression) \
    DEFINE_CONVERT(NAME, , F, T, expression) DEFINE_CONVERT(NAME##_wide, WITH_AVX2, F, T, expression)
#define WIDE(NAME) NAME##_wide
#else
#define DEFINE_BOTH(NAME, F, T, expression) DEFINE_CONVERT(NAME, , F, T, expression)
#define WIDE(NAME) NAME
#endif

#define SHORT_TYPES(X, ...)                                                                              \
    X(NPY_BOOL, uint8_t, __VA_ARGS__) X(NPY_UINT8, uint8_t, __VA_ARGS__) X(NPY_INT8, int8_t, __VA_ARGS__) \
    X(NPY_INT16, int16_t, __VA_ARGS__) X(NPY_INT32, int32_t, __VA_ARGS__)
#define LONG_TYPES(X, ...) SHORT_TYPES(X, __VA_ARGS__) X(NPY_INT64, int64_t, __VA_ARGS__)
#define REAL_TYPES(X, ...) X(NPY_FLOAT, float, __VA_ARGS__) X(NPY_DOUBLE, double, __VA_ARGS__)
#define PAIRS(X)                                                                                                    \
    LONG_TYPES(X, NPY_UINT8, uint8_t, x) LONG_TYPES(X, NPY_INT32, int32_t, x) SHORT_TYPES(X, NPY_INT64, int64_t, x) \
    LONG_TYPES(X, NPY_FLOAT, float, x) LONG_TYPES(X, NPY_DOUBLE, double, x)                                        \
    LONG_TYPES(X, NPY_BOOL, npy_bool, x != 0) REAL_TYPES(X, NPY_BOOL, npy_bool, x != 0)                             \
    REAL_TYPES(X, NPY_INT32, int32_t, x) REAL_TYPES(X, NPY_INT64, int64_t, x)                                       \
    X(NPY_FLOAT, float, NPY_DOUBLE, double, x) X(NPY_DOUBLE, double, NPY_FLOAT, float, x)

#define DEFINE(FROM, F, TO, T, expression) DEFINE_BOTH(FROM##_to_##TO, F, T, expression)
PAIRS(DEFINE)

/* The loop from one type to another, or NULL. */
static convert *convert_between(int from, int to)
{
    static const struct { int from, to; convert *narrow, *wide; } known[] = {
#define ENTRY(FROM, F, TO, T, expression) {FROM, TO, FROM##_to_##TO, WIDE(FROM##_to_##TO)},
        PAIRS(ENTRY)
    };
    if (from == to) return NULL;
    for (size k = 0; k < (size)(sizeof known / sizeof *known); k++)
        if (known[k].from == from && known[k].to == to) return WIDER(known[k].wide, known[k].narrow);
    return NULL;
}

/* ---- blocks of a cast ---- */

struct step {
    void (*widen)(float *, const uint16_t *, size); /* one of three, the others NULL */
    void (*narrow)(uint16_t *, const float *, size);
    convert *convert;
};

struct cast_job {
    struct step step, then; /* then: from float32 */
    int twice;
    size from_width, to_width;
    char *to;
    const char *from;
    int streamed;
};

static void take_step(const struct step *step, void *to, const void *from, size n)
{
    if (step->widen) step->widen(to, from, n);
    else if (step->narrow) step->narrow(to, from, n);
    else step->convert(to, from, n);
}

static void cast_block(const struct cast_job *job, char *to, size at, size n)
{
    enum { BLOCK = 1024 };
    const char *from = job->from + at * job->from_width;
    if (!job->twice) {
        take_step(&job->step, to, from, n);
        return;
    }
    float between[BLOCK];
    for (size done = 0; done < n; done += BLOCK) {
        const size some = n - done < BLOCK ? n - done : BLOCK;
        take_step(&job->step, between, from + done * job->from_width, some);
        take_step(&job->then, to + done * job->to_width, between, some);
    }
}

static void cast_task(void *context, size begin, size end, int chunk)
{
    const struct cast_job *job = context;
    const size width = job->to_width, head = stream_head(job->to + begin * width, width);
    (void)chunk;
    if (job->streamed && head >= 0) {
        _Alignas(STREAM_LINE) char buffer[STREAM_BLOCK];
        for (size at = begin, n = head ? head : STREAM_BLOCK / width; at < end; at += n, n = STREAM_BLOCK / width) {
            if (n > end - at) n = end - at;
            cast_block(job, buffer, at, n);
            if (at == begin && head) memcpy(job->to + at * width, buffer, n * width);
            else stream_out(job->to + at * width, buffer, n * width);
        }
        stream_end();
        return;
    }
    cast_block(job, job->to + begin * width, begin, end - begin);
}

/* The loop from one type to another; 0 where there is none. */
static int choose_step(struct step *step, int from, int to)
{
    if (to == NPY_FLOAT && from == NPY_HALF) step->widen = kernels->widen_half;
    else if (to == NPY_FLOAT && is_brain(from)) step->widen = kernels->widen_brain;
    else if (from == NPY_FLOAT && to == NPY_HALF) step->narrow = kernels->narrow_half;
    else if (from == NPY_FLOAT && is_brain(to)) step->narrow = kernels->narrow_brain;
    else step->convert = convert_between(from, to);
    return step->widen || step->narrow || step->convert;
}
static int choose(struct cast_job *job, int from, int to)
{
    if (choose_step(&job->step, from, to)) return 1;
    const int narrow = from == NPY_HALF || is_brain(from) || to == NPY_HALF || is_brain(to);
    job->twice = narrow && from != to && choose_step(&job->step, from, NPY_FLOAT) && choose_step(&job->then, NPY_FLOAT, to);
    return job->twice;
}

static void run_cast(struct cast_job *job, size n)
{
    job->streamed = stream_worth(n * (job->to_width + job->from_width));
    if (n < WORTH_RELEASING) {
        cast_task(job, 0, n, 0);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    pool_run(cast_task, job, n, pool_chunks(n, 0.1));
    Py_END_ALLOW_THREADS
}

int casts_memory(int from, int to)
{
    struct cast_job job = {0};
    return choose(&job, from, to);
}

void cast_memory(void *to, int to_type, size to_width, const void *from, int from_type, size from_width, size n)
{
    struct cast_job job = {.to = to, .from = from, .to_width = to_width, .from_width = from_width};
    if (choose(&job, from_type, to_type)) run_cast(&job, n);
}

/* cast(x, dtype) -> a new array in C order */
PyObject *cast_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!PyArray_CheckExact(args[0]) || !PyArray_DescrCheck(args[1])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int from = PyArray_TYPE(x), to = ((PyArray_Descr *)args[1])->type_num;
    struct cast_job job = {0};
    if (!choose(&job, from, to)) NOT_HANDLED();
    if (!PyArray_ISCARRAY_RO(x) || PyDataType_ISBYTESWAPPED((PyArray_Descr *)args[1])) NOT_HANDLED();
    Py_INCREF(args[1]);
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)args[1], PyArray_NDIM(x),
                                                               PyArray_DIMS(x), NULL, NULL, 0, NULL);
    if (!out) return NULL;
    job.to = PyArray_BYTES(out), job.from = PyArray_BYTES(x);
    job.to_width = PyArray_ITEMSIZE(out), job.from_width = PyArray_ITEMSIZE(x);
    run_cast(&job, PyArray_SIZE(x));
    return (PyObject *)out;
}

PyMethodDef casts_methods[] = {{"cast", (PyCFunction)(void (*)(void))cast_numbers, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
