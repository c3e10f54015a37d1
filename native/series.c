/* Chebyshev series, of which the Bessel and Airy functions are made. */
#include "wengert.h"

#include "pool.h"

enum { MOST_TERMS = 64 };
struct series_job {
    const double *t;
    double *out, coefficients[MOST_TERMS];
    size count;
};

static void series_task(void *context, size begin, size end, int chunk)
{
    const struct series_job *job = context;
    (void)chunk;
    kernels->series(job->out + begin, job->t + begin, job->coefficients, job->count, end - begin);
}

/* series(t, coefficients): at an array of float64 in C order; the coefficients are a tuple */
static PyObject *series(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    PyArrayObject *t = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || PyArray_TYPE(t) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(t)) NOT_HANDLED();
    if (!PyTuple_CheckExact(args[1]) || !PyTuple_GET_SIZE(args[1]) || PyTuple_GET_SIZE(args[1]) > MOST_TERMS) NOT_HANDLED();
    struct series_job job = {.t = PyArray_DATA(t), .count = PyTuple_GET_SIZE(args[1])};
    for (size k = 0; k < job.count; k++) {
        job.coefficients[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(args[1], k));
        if (job.coefficients[k] == -1 && PyErr_Occurred()) return NULL;
    }
    PyArrayObject *out = new_like(t, PyArray_NDIM(t), PyArray_DIMS(t));
    if (!out) return NULL;
    job.out = PyArray_DATA(out);
    const size n = PyArray_SIZE(t);
    const double cost = 0.3 * (double)job.count;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)((double)n * cost));
    if (n) pool_run(series_task, &job, n, pool_chunks(n, cost));
    NPY_END_THREADS
    return (PyObject *)out;
}

PyMethodDef series_methods[] = {{"series", (PyCFunction)(void (*)(void))series, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
