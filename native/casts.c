/* float32 to float16 and bfloat16 and back, rounding to nearest even; other casts are NumPy's. */
#include "wengert.h"

#include "fast.h"
#include "pool.h"
#include "stream.h"

/* Below this many elements the GIL is kept. */
static const size WORTH_RELEASING = 1 << 13;

struct cast_job {
    void (*widen)(float *, const uint16_t *, size); /* or NULL */
    void (*narrow)(uint16_t *, const float *, size);
    char *to;
    const char *from;
    int streamed;
};

static void cast_task(void *context, size begin, size end, int chunk)
{
    const struct cast_job *job = context;
    const size width = job->widen ? sizeof(float) : sizeof(uint16_t), head = stream_head(job->to + begin * width, width);
    (void)chunk;
    if (job->streamed && head >= 0) {
        _Alignas(STREAM_LINE) char buffer[STREAM_BLOCK];
        for (size at = begin, n = head ? head : STREAM_BLOCK / width; at < end; at += n, n = STREAM_BLOCK / width) {
            if (n > end - at) n = end - at;
            if (job->widen) job->widen((float *)buffer, (const uint16_t *)job->from + at, n);
            else job->narrow((uint16_t *)buffer, (const float *)job->from + at, n);
            if (at == begin && head) memcpy(job->to + at * width, buffer, n * width);
            else stream_out(job->to + at * width, buffer, n * width);
        }
        stream_end();
        return;
    }
    if (job->widen) job->widen((float *)job->to + begin, (const uint16_t *)job->from + begin, end - begin);
    else job->narrow((uint16_t *)job->to + begin, (const float *)job->from + begin, end - begin);
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
    if (to == NPY_FLOAT && from == NPY_HALF) job.widen = kernels->widen_half;
    else if (to == NPY_FLOAT && is_brain(from)) job.widen = kernels->widen_brain;
    else if (from == NPY_FLOAT && to == NPY_HALF) job.narrow = kernels->narrow_half;
    else if (from == NPY_FLOAT && is_brain(to)) job.narrow = kernels->narrow_brain;
    else NOT_HANDLED();
    if (!PyArray_ISCARRAY_RO(x) || PyDataType_ISBYTESWAPPED((PyArray_Descr *)args[1])) NOT_HANDLED();
    Py_INCREF(args[1]);
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)args[1], PyArray_NDIM(x),
                                                               PyArray_DIMS(x), NULL, NULL, 0, NULL);
    if (!out) return NULL;
    job.to = PyArray_BYTES(out), job.from = PyArray_BYTES(x);
    const size n = PyArray_SIZE(x);
    job.streamed = stream_worth(n * (sizeof(float) + sizeof(uint16_t)));
    if (n < WORTH_RELEASING) {
        cast_task(&job, 0, n, 0);
        return (PyObject *)out;
    }
    Py_BEGIN_ALLOW_THREADS
    pool_run(cast_task, &job, n, pool_chunks(n, 0.1));
    Py_END_ALLOW_THREADS
    return (PyObject *)out;
}

PyMethodDef casts_methods[] = {{"cast", (PyCFunction)(void (*)(void))cast_numbers, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
