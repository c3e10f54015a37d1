/* Numbers from a bit generator of NumPy's (a Mersenne Twister), as PyTorch makes them of its words. */
#include "wengert.h"

#include <numpy/random/bitgen.h>

enum { LANES = 16, PIECE = 64 * LANES };

static bitgen_t *generator_of(PyObject *bits)
{
    PyObject *capsule = PyObject_GetAttrString(bits, "capsule");
    bitgen_t *generator = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    Py_XDECREF(capsule); /* `bits` keeps it */
    return generator;
}

static inline float single(bitgen_t *from) { return (float)(from->next_uint32(from->state) & 0xffffff) * 0x1p-24f; }
static inline int64_t mantissa(bitgen_t *from)
{
    const uint64_t high = from->next_uint32(from->state) & 0x1fffff;
    return (int64_t)(high << 32 | from->next_uint32(from->state));
}

static void draw(bitgen_t *from, void *to, size n, int type)
{
    if (type == NPY_FLOAT)
        for (size i = 0; i < n; i++) ((float *)to)[i] = single(from);
    else if (type == NPY_DOUBLE)
        for (size i = 0; i < n; i++) ((double *)to)[i] = (double)mantissa(from) * 0x1p-53;
    else
        for (size i = 0; i < n; i++) ((int64_t *)to)[i] = mantissa(from);
}

static int read_target(PyObject *const *args, Py_ssize_t count, Py_ssize_t expected, int integers)
{
    if (count != expected) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments", expected);
        return -1;
    }
    PyArrayObject *out = (PyArrayObject *)args[1];
    return PyArray_CheckExact(args[1]) && PyArray_ISCARRAY(out) &&
           (is_real(args[1]) || (integers && PyArray_TYPE(out) == NPY_INT64));
}

/* fill_uniform(bits, out): float32 of one word, float64 of two, or int64: the numerators of float64 */
static PyObject *fill_uniform(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 2, 1);
    if (fits < 0) return NULL;
    if (!fits) NOT_HANDLED();
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    PyArrayObject *out = (PyArrayObject *)args[1];
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(out));
    draw(from, PyArray_DATA(out), PyArray_SIZE(out), PyArray_TYPE(out));
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

/* fill_below(bits, out, bound): which of the next numbers of 53 bits are below the bound, as truth values */
static PyObject *fill_below(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[1]) || !PyArray_ISCARRAY(out) || PyArray_TYPE(out) != NPY_BOOL) NOT_HANDLED();
    const int64_t bound = PyLong_AsLongLong(args[2]);
    if (bound == -1 && PyErr_Occurred()) return NULL;
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    npy_bool *to = PyArray_DATA(out);
    const size n = PyArray_SIZE(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    for (size i = 0; i < n; i++) to[i] = mantissa(from) < bound;
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

static void sixteens(bitgen_t *from, void *to, size n, int type, double mean, double std)
{
    const size width = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (size at = 0; at < n; at += PIECE) {
        const size count = n - at < PIECE ? n - at : PIECE;
        char *piece = (char *)to + at * width;
        draw(from, piece, count, type);
        if (type == NPY_FLOAT) kernels->sixteens_f32((float *)piece, count / LANES, (float)mean, (float)std);
        else kernels->sixteens_f64((double *)piece, count / LANES, mean, std);
    }
}

/* fill_normal(bits, out, mean, std): at least 16 normal numbers; the last 16 are made anew where 16 does not divide them */
static PyObject *fill_normal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const int fits = read_target(args, count, 4, 0);
    if (fits < 0) return NULL;
    PyArrayObject *out = (PyArrayObject *)args[1];
    if (!fits || PyArray_SIZE(out) < LANES) NOT_HANDLED();
    const double mean = PyFloat_AsDouble(args[2]), std = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    bitgen_t *from = generator_of(args[0]);
    if (!from) return NULL;
    const int type = PyArray_TYPE(out);
    const size n = PyArray_SIZE(out), whole = n - n % LANES;
    char *data = PyArray_BYTES(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    sixteens(from, data, whole, type, mean, std);
    if (n > whole) {
        draw(from, data + whole * PyArray_ITEMSIZE(out), n - whole, type); /* passed over */
        sixteens(from, data + (n - LANES) * PyArray_ITEMSIZE(out), LANES, type, mean, std);
    }
    NPY_END_THREADS
    return Py_NewRef(args[1]);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef random_methods[] = {METHOD(fill_uniform), METHOD(fill_below), METHOD(fill_normal), {NULL, NULL, 0, NULL}};
