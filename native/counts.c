/* Forwards of counts and of the sum of a diagonal, whatever the size. What they do not handle is left to the definitions in Python. */
#include "operation.h"

#include <math.h>

enum { MANY = 1 << 20, FEW = 1 << 12 }; /* MANY: elements that are counted while other threads wait, and counts */

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

/* The sums of the weights of each count, in double precision; of float32 rounded in the end. */
static PyObject *weighed(const int64_t *x, PyArrayObject *weights, npy_intp n, npy_intp counts)
{
    PyArrayObject *y = (PyArrayObject *)PyArray_ZEROS(1, &counts, NPY_DOUBLE, 0);
    double *to = y ? PyArray_DATA(y) : NULL;
    const void *w = PyArray_DATA(weights);
    const int single = PyArray_TYPE(weights) == NPY_FLOAT;
    if (single)
        for (npy_intp i = 0; y && i < n; i++) to[x[i]] += ((const float *)w)[i];
    else
        for (npy_intp i = 0; y && i < n; i++) to[x[i]] += ((const double *)w)[i];
    if (y && single) Py_SETREF(y, (PyArrayObject *)PyArray_Cast(y, NPY_FLOAT));
    return (PyObject *)y;
}

/* bincount(input, weights, minlength) */
PyObject *bincount_forward(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = PyArray_SIZE(a);
    if (PyArray_TYPE(a) != NPY_INT64 || PyArray_NDIM(a) != 1 || !PyArray_ISCARRAY_RO(a) || n > MANY || !PyLong_CheckExact(args[2])) return NULL;
    PyArrayObject *weights = args[1] == Py_None ? NULL : (PyArrayObject *)args[1];
    if (weights && (!n || !PyArray_CheckExact(args[1]) || !PyArray_ISCARRAY_RO(weights) || !PyArray_SAMESHAPE(a, weights) ||
                    (PyArray_TYPE(weights) != NPY_FLOAT && PyArray_TYPE(weights) != NPY_DOUBLE)))
        return NULL;
    npy_intp counts = PyLong_AsSsize_t(args[2]);
    if (counts < 0 || counts > MANY) return NULL;
    const int64_t *x = PyArray_DATA(a);
    for (npy_intp i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] >= MANY) return NULL;
        if (x[i] >= counts) counts = x[i] + 1;
    }
    if (weights) return weighed(x, weights, n, counts);
    PyArrayObject *y = (PyArrayObject *)PyArray_ZEROS(1, &counts, NPY_INT64, 0);
    int64_t *to = y ? PyArray_DATA(y) : NULL;
    for (npy_intp i = 0; y && i < n; i++) to[x[i]]++;
    return (PyObject *)y;
}

/* Where runs of equal numbers begin, to `values`; the number of each one's run and how long the runs are, where there is memory for it. */
#define DEFINE_RUNS(TYPE)                                                                             \
    static npy_intp runs_##TYPE(const TYPE *x, npy_intp n, TYPE *values, int64_t *of, int64_t *lengths) \
    {                                                                                                 \
        npy_intp found = 0;                                                                           \
        for (npy_intp i = 0; i < n; i++) {                                                            \
            const int begins = !i || x[i] != x[i - 1];                                                \
            if (begins) values[found++] = x[i];                                                       \
            if (of) of[i] = found - 1;                                                                \
            if (lengths && begins) lengths[found - 1] = i;                                            \
        }                                                                                             \
        for (npy_intp r = 0; lengths && r < found; r++) lengths[r] = (r + 1 < found ? lengths[r + 1] : n) - lengths[r]; \
        return found;                                                                                 \
    }
DEFINE_RUNS(float)
DEFINE_RUNS(double)
DEFINE_RUNS(int64_t)

/* The first n of a vector. */
static PyObject *first_of(PyArrayObject *whole, npy_intp n)
{
    PyArrayObject *part = whole ? (PyArrayObject *)PyArray_SimpleNew(1, &n, PyArray_TYPE(whole)) : NULL;
    if (part) memcpy(PyArray_DATA(part), PyArray_DATA(whole), PyArray_NBYTES(part));
    return (PyObject *)part;
}

/* unique_consecutive(input, dim, return_inverse, return_counts) */
PyObject *runs_forward(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = PyArray_SIZE(a), none = 0;
    const int type = PyArray_TYPE(a), inverse = args[2] == Py_True, counts = args[3] == Py_True;
    if (n > FEW && !inverse && !counts) return NULL; /* which NumPy finds in vectors */
    if (args[1] != Py_None || !n || n > MANY || !PyArray_ISCARRAY_RO(a) || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64)) return NULL;
    PyArrayObject *values = (PyArrayObject *)PyArray_SimpleNew(1, &n, type), *lengths = (PyArrayObject *)PyArray_SimpleNew(1, counts ? &n : &none, NPY_INT64);
    PyArrayObject *of = (PyArrayObject *)(inverse ? PyArray_SimpleNew(PyArray_NDIM(a), PyArray_DIMS(a), NPY_INT64) : PyArray_SimpleNew(1, &none, NPY_INT64));
    PyObject *found = NULL;
    if (values && lengths && of) {
        const void *x = PyArray_DATA(a);
        int64_t *to = inverse ? PyArray_DATA(of) : NULL, *many = counts ? PyArray_DATA(lengths) : NULL;
        const npy_intp runs = type == NPY_FLOAT ? runs_float(x, n, PyArray_DATA(values), to, many) : type == NPY_DOUBLE ? runs_double(x, n, PyArray_DATA(values), to, many) : runs_int64_t(x, n, PyArray_DATA(values), to, many);
        PyObject *first = first_of(values, runs), *each = first_of(lengths, counts ? runs : 0);
        if (first && each) found = PyTuple_Pack(3, first, of, each);
        Py_XDECREF(first);
        Py_XDECREF(each);
    }
    Py_XDECREF(values);
    Py_XDECREF(lengths);
    Py_XDECREF(of);
    return found;
}

/* repeat_places(repeats, output_size) */
PyObject *repeat_places_forward(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = PyArray_SIZE(a);
    const int64_t *x = PyArray_DATA(a);
    npy_intp total = 0;
    (void)args;
    if (PyArray_TYPE(a) != NPY_INT64 || PyArray_NDIM(a) != 1 || !PyArray_ISCARRAY_RO(a) || n > MANY) return NULL;
    for (npy_intp i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] > MANY || total > 4 * (npy_intp)MANY) return NULL;
        total += x[i];
    }
    PyArrayObject *y = (PyArrayObject *)PyArray_SimpleNew(1, &total, NPY_INT64);
    int64_t *to = y ? PyArray_DATA(y) : NULL;
    for (npy_intp i = 0; y && i < n; i++)
        for (int64_t k = 0; k < x[i]; k++) *to++ = i;
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
