/* Forwards of operators that reduce a few numbers to one, so that the call is one step; what they do not handle is left to the definitions in
 * Python. */
#include "operation.h"

enum { FEW = 1024 }; /* elements up to which a plain loop is as quick as a vectorised one with its start */

/* The place of the largest, or least, of them: of the first NaN, where there is one. */
#define DEFINE_PLACE(name, TYPE)                                                       \
    static npy_intp name(const TYPE *x, npy_intp n, int least)                         \
    {                                                                                  \
        npy_intp found = 0;                                                            \
        for (npy_intp i = 0; i < n; i++) {                                             \
            if (x[i] != x[i]) return i;                                                \
            if (least ? x[i] < x[found] : x[i] > x[found]) found = i;                  \
        }                                                                              \
        return found;                                                                  \
    }
DEFINE_PLACE(place_single, float)
DEFINE_PLACE(place_double, double)
DEFINE_PLACE(place_whole, int64_t)

static npy_intp place_of(PyArrayObject *a, int least)
{
    const npy_intp n = PyArray_SIZE(a);
    if (n > FEW || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a)) return -1;
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT: return place_single(PyArray_DATA(a), n, least);
    case NPY_DOUBLE: return place_double(PyArray_DATA(a), n, least);
    case NPY_INT64: return place_whole(PyArray_DATA(a), n, least);
    }
    return -1;
}

static PyObject *extreme(PyArrayObject *a, int least)
{
    const npy_intp at = place_of(a, least);
    PyObject *found = at < 0 ? NULL : PyArray_SimpleNew(0, NULL, PyArray_TYPE(a));
    if (found) memcpy(PyArray_DATA((PyArrayObject *)found), PyArray_BYTES(a) + at * PyArray_ITEMSIZE(a), PyArray_ITEMSIZE(a));
    return found;
}

/* argmax(input, dim, keepdim): without a dimension */
static PyObject *place(PyArrayObject *a, PyObject *const *args, int least)
{
    const npy_intp at = args[1] == Py_None && args[2] == Py_False ? place_of(a, least) : -1;
    PyObject *found = at < 0 ? NULL : PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (found) *(int64_t *)PyArray_DATA((PyArrayObject *)found) = at;
    return found;
}

static PyObject *largest(PyArrayObject *a, PyObject *const *args) { return (void)args, extreme(a, 0); }
static PyObject *least(PyArrayObject *a, PyObject *const *args) { return (void)args, extreme(a, 1); }
static PyObject *largest_place(PyArrayObject *a, PyObject *const *args) { return place(a, args, 0); }
static PyObject *least_place(PyArrayObject *a, PyObject *const *args) { return place(a, args, 1); }

view_forward reduction_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {
        {"max_all", largest}, {"min_all", least}, {"argmax", largest_place}, {"argmin", least_place}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return NULL;
}
