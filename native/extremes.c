/* The largest or the smallest along one axis, with its place. */
#include "wengert.h"

#include "integers.h"
#include "pool.h"

struct extreme_job {
    const char *x;
    char *out;
    int64_t *places;
    size n, inner; /* x is (outer, n, inner) */
    int type, least;
    size width;    /* bytes of a whole number, else 0 */
};

static void extreme_task(void *context, size begin, size end, int chunk)
{
    const struct extreme_job *job = context;
    const size tiles = (job->inner + COLUMNS - 1) / COLUMNS;
    (void)chunk;
    if (job->width) {
        const size results = begin * job->inner;
        extreme_integers(job->type, job->x + results * job->n * job->width, job->out + results * job->width, job->places + results, end - begin, job->n,
                         job->inner, job->least);
        return;
    }
#define RUN(REAL, SUFFIX)                                                                                                      \
    if (job->inner == 1) {                                                                                                     \
        kernels->extreme_rows_##SUFFIX((REAL *)job->out + begin, job->places + begin, (const REAL *)job->x + begin * job->n,   \
                                       end - begin, job->n, job->least);                                                       \
    } else {                                                                                                                   \
        for (size item = begin; item < end; item++) {                                                                          \
            const size outer = item / tiles, first = item % tiles * COLUMNS, at = outer * job->inner + first;                  \
            kernels->extreme_columns_##SUFFIX((REAL *)job->out + at, job->places + at,                                         \
                                              (const REAL *)job->x + outer * job->n * job->inner + first, job->n, job->inner,  \
                                              job->inner - first < COLUMNS ? job->inner - first : COLUMNS, job->least);        \
        }                                                                                                                      \
    }
    if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
}

/* extreme(x, axis, least, keepdim) -> values, places: of a real array, or of whole numbers, in C order, along an axis that is not empty */
static PyObject *extreme(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int integers = PyArray_CheckExact(args[0]) && are_integers(x);
    if ((!integers && !is_real(args[0])) || !PyLong_CheckExact(args[1]) || !PyArray_ISCARRAY_RO(x)) NOT_HANDLED();
    const int ndim = PyArray_NDIM(x), keep = PyObject_IsTrue(args[3]);
    long axis = PyLong_AsLong(args[1]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    if (axis < 0) axis += ndim;
    if (axis < 0 || axis >= ndim || !PyArray_SIZE(x) || PyArray_DIM(x, axis) > INT32_MAX) NOT_HANDLED();
    struct extreme_job job = {PyArray_BYTES(x), NULL, NULL, PyArray_DIM(x, axis), 1, PyArray_TYPE(x), PyObject_IsTrue(args[2]),
                              integers ? PyArray_ITEMSIZE(x) : 0};
    npy_intp shape[NPY_MAXDIMS];
    size outer = 1;
    int left = 0;
    for (int k = 0; k < ndim; k++) {
        if (k < axis) outer *= PyArray_DIM(x, k);
        else if (k > axis) job.inner *= PyArray_DIM(x, k);
        if (k != axis) shape[left++] = PyArray_DIM(x, k);
        else if (keep) shape[left++] = 1;
    }
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(left, shape, PyArray_TYPE(x)), *places = (PyArrayObject *)PyArray_SimpleNew(left, shape, NPY_INT64);
    if (!out || !places) {
        Py_XDECREF(out);
        Py_XDECREF(places);
        return NULL;
    }
    job.out = PyArray_BYTES(out), job.places = PyArray_DATA(places);
    const size items = job.inner == 1 || integers ? outer : outer * ((job.inner + COLUMNS - 1) / COLUMNS);
    const double cost = 0.3 * (double)PyArray_SIZE(x) / (double)items;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x));
    pool_run(extreme_task, &job, items, pool_chunks(items, cost));
    NPY_END_THREADS
    return Py_BuildValue("NN", out, places);
}

PyMethodDef extremes_methods[] = {{"extreme", (PyCFunction)(void (*)(void))extreme, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
