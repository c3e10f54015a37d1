/* Forwards of counts and of the sum of a diagonal, whatever the size. What they do not handle is left to the definitions in Python. */
#include "operation.h"

#include <math.h>

enum { MANY = 1 << 20 }; /* elements that are counted while other threads wait, and counts */

#define DEFINE_DIAGONAL(TYPE, WIDE)                                                          \
    static void diagonal_##TYPE(PyArrayObject *a, TYPE *to, npy_intp n)                      \
    {                                                                                        \
        const npy_intp step = PyArray_STRIDE(a, 0) + PyArray_STRIDE(a, 1);                   \
        const char *x = PyArray_BYTES(a);                                                    \
        WIDE total = 0;                                                                      \
        for (npy_intp i = 0; i < n; i++, x += step) total += (WIDE)*(const TYPE *)x;         \
        *to = (TYPE)total;                                                                   \
    }
DEFINE_DIAGONAL(float, double)
DEFINE_DIAGONAL(double, double)
DEFINE_DIAGONAL(int64_t, uint64_t)

/* trace(input) */
PyObject *trace_forward(PyArrayObject *a, PyObject *const *args)
{
    (void)args;
    const int type = PyArray_TYPE(a);
    if (PyArray_NDIM(a) != 2 || !PyArray_ISALIGNED(a) || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64)) return NULL;
    const npy_intp n = PyArray_DIM(a, 0) < PyArray_DIM(a, 1) ? PyArray_DIM(a, 0) : PyArray_DIM(a, 1);
    PyArrayObject *y = (PyArrayObject *)PyArray_SimpleNew(0, NULL, type);
    if (!y) return NULL;
    if (type == NPY_FLOAT) diagonal_float(a, PyArray_DATA(y), n);
    else if (type == NPY_DOUBLE) diagonal_double(a, PyArray_DATA(y), n);
    else diagonal_int64_t(a, PyArray_DATA(y), n);
    return (PyObject *)y;
}

/* bincount(input, weights, minlength): without weights */
PyObject *bincount_forward(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = PyArray_SIZE(a);
    if (PyArray_TYPE(a) != NPY_INT64 || PyArray_NDIM(a) != 1 || !PyArray_ISCARRAY_RO(a) || n > MANY || args[1] != Py_None || !PyLong_CheckExact(args[2])) return NULL;
    npy_intp counts = PyLong_AsSsize_t(args[2]);
    if (counts < 0 || counts > MANY) return NULL;
    const int64_t *x = PyArray_DATA(a);
    for (npy_intp i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] >= MANY) return NULL;
        if (x[i] >= counts) counts = x[i] + 1;
    }
    PyArrayObject *y = (PyArrayObject *)PyArray_ZEROS(1, &counts, NPY_INT64, 0);
    int64_t *to = y ? PyArray_DATA(y) : NULL;
    for (npy_intp i = 0; y && i < n; i++) to[x[i]]++;
    return (PyObject *)y;
}

static int double_of(PyObject *given, double *value)
{
    if (PyFloat_CheckExact(given)) return *value = PyFloat_AS_DOUBLE(given), 1;
    return PyLong_CheckExact(given) && ((*value = PyLong_AsDouble(given)) != -1 || !PyErr_Occurred());
}

#define DEFINE_INTERVALS(TYPE)                                                               \
    static void range_##TYPE(const TYPE *x, npy_intp n, double *low, double *high)           \
    {                                                                                        \
        TYPE least = x[0], most = x[0];                                                      \
        for (npy_intp i = 1; i < n; i++) {                                                   \
            least = x[i] < least || x[i] != x[i] ? x[i] : least;                             \
            most = x[i] > most || x[i] != x[i] ? x[i] : most;                                \
        }                                                                                    \
        *low = (double)least, *high = (double)most;                                          \
    }                                                                                        \
    static void intervals_##TYPE(const TYPE *x, npy_intp n, double from, double to, TYPE *counts, npy_intp bins) \
    {                                                                                        \
        const TYPE low = (TYPE)from, high = (TYPE)to, width = high - low, many = (TYPE)bins; \
        for (npy_intp i = 0; i < n; i++) {                                                   \
            if (!(x[i] >= low && x[i] <= high)) continue;                                    \
            const npy_intp at = (npy_intp)((x[i] - low) * many / width);                     \
            counts[at < bins ? at : bins - 1]++;                                             \
        }                                                                                    \
    }
DEFINE_INTERVALS(float)
DEFINE_INTERVALS(double)

/* histc(input, bins, min, max) */
PyObject *histc_forward(PyArrayObject *a, PyObject *const *args)
{
    const int type = PyArray_TYPE(a);
    const npy_intp n = PyArray_SIZE(a);
    double low, high;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || !PyArray_ISCARRAY_RO(a) || n > MANY || !PyLong_CheckExact(args[1])) return NULL;
    npy_intp bins = PyLong_AsSsize_t(args[1]);
    if (bins < 1 || bins > MANY || !double_of(args[2], &low) || !double_of(args[3], &high)) return NULL;
    if (low == high && n) {
        if (type == NPY_FLOAT) range_float(PyArray_DATA(a), n, &low, &high);
        else range_double(PyArray_DATA(a), n, &low, &high);
    }
    if (low == high) low -= 1, high += 1;
    const double most = type == NPY_FLOAT ? 1e37 : 1e307; /* so that the products are finite */
    if (!(low < high) || !(fabs(low) * (double)bins < most) || !(fabs(high) * (double)bins < most)) return NULL;
    if (type == NPY_FLOAT && !((float)low < (float)high)) return NULL;
    PyArrayObject *y = (PyArrayObject *)PyArray_ZEROS(1, &bins, type, 0);
    if (y && type == NPY_FLOAT) intervals_float(PyArray_DATA(a), n, low, high, PyArray_DATA(y), bins);
    else if (y) intervals_double(PyArray_DATA(a), n, low, high, PyArray_DATA(y), bins);
    return (PyObject *)y;
}
