/* Forwards whose results lie in memory as their argument does, whatever the order of its axes: copies, other types, elements in reverse
 * order. Where steps do not decide that order (of axes of one, and of those that repeat), Python's definition does. */
#include "operation.h"

#include "fast.h"

/* Whether the steps alone say that a copy lies row by row, of axes of one, too: they are those of rows, or get smaller where there are
 * gaps. */
static int is_by_rows(PyArrayObject *a)
{
    npy_intp width = PyArray_ITEMSIZE(a);
    int falls = !PyArray_IS_C_CONTIGUOUS(a), rows = 1;
    for (int axis = PyArray_NDIM(a) - 1; axis >= 0; width *= PyArray_DIM(a, axis--)) {
        rows &= PyArray_STRIDE(a, axis) == width;
        falls &= PyArray_STRIDE(a, axis) > (axis == PyArray_NDIM(a) - 1 ? 0 : PyArray_STRIDE(a, axis + 1));
    }
    return rows || falls;
}

PyArrayObject *laid_like(PyArrayObject *a, PyArray_Descr *d)
{
    int order[MAX_AXES];
    npy_intp steps[MAX_AXES], step = PyDataType_ELSIZE(d);
    const int ndim = PyArray_NDIM(a);
    if (ndim < 1 || ndim > MAX_AXES || !PyArray_SIZE(a) || !PyArray_ISALIGNED(a)) return NULL;
    if (is_by_rows(a)) return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)d), ndim, PyArray_DIMS(a), NULL, NULL, 0, NULL);
    for (int axis = 0; axis < ndim; axis++) {
        int k = axis;
        if (PyArray_DIM(a, axis) == 1 || PyArray_STRIDE(a, axis) <= 0) return NULL;
        for (; k && PyArray_STRIDE(a, order[k - 1]) <= PyArray_STRIDE(a, axis); k--) {
            if (PyArray_STRIDE(a, order[k - 1]) == PyArray_STRIDE(a, axis)) return NULL;
            order[k] = order[k - 1];
        }
        order[k] = axis;
    }
    for (int k = ndim - 1; k >= 0; k--) steps[order[k]] = step, step *= PyArray_DIM(a, order[k]);
    Py_INCREF(d);
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, ndim, PyArray_DIMS(a), steps, NULL, 0, NULL);
}

int is_gapless(PyArrayObject *a)
{
    npy_intp step = PyArray_ITEMSIZE(a);
    if (PyArray_ISONESEGMENT(a)) return 1;
    for (int left = PyArray_NDIM(a); left; left--) { /* an axis after another, from the innermost on */
        int found = -1;
        for (int axis = 0; axis < PyArray_NDIM(a) && found < 0; axis++)
            if (PyArray_DIM(a, axis) != 1 && PyArray_STRIDE(a, axis) == step) found = axis;
        if (found < 0) break;
        step *= PyArray_DIM(a, found);
    }
    return step == PyArray_NBYTES(a);
}

/* An axis that a whole number names, counted from the end where it is negative; -1 where it names none. */
static int axis_of(PyObject *number, int ndim)
{
    int beyond = 0;
    const long axis = PyLong_CheckExact(number) ? PyLong_AsLongAndOverflow(number, &beyond) : ndim;
    return beyond || axis < -ndim || axis >= ndim ? -1 : (int)(axis < 0 ? axis + ndim : axis);
}

/* The axes that `dims` names (all: None, or none of them); 0 where it is something else. */
static int named(PyObject *dims, int ndim, char *gone)
{
    const int several = PyTuple_CheckExact(dims);
    const Py_ssize_t n = several ? PyTuple_GET_SIZE(dims) : 1;
    memset(gone, dims == Py_None || !n, ndim);
    for (Py_ssize_t i = 0; dims != Py_None && i < n; i++) {
        PyObject *one = several ? PyTuple_GET_ITEM(dims, i) : dims;
        const int axis = axis_of(one, ndim);
        if (axis < 0 || gone[axis]++) return 0;
    }
    return 1;
}

/* The array with its axes in the order in which they lie in memory, order[0] the outermost; copied where there are gaps. */
static PyArrayObject *in_memory_order(PyArrayObject *a, npy_intp *order)
{
    enum { QUICKLY_COPIED = 1 << 18 };
    const int ndim = PyArray_NDIM(a);
    for (int axis = 0; axis < ndim; axis++) {
        int k = axis;
        if (PyArray_STRIDE(a, axis) <= 0) return NULL;
        for (; k && PyArray_STRIDE(a, order[k - 1]) < PyArray_STRIDE(a, axis); k--) order[k] = order[k - 1];
        order[k] = axis;
    }
    PyArray_Dims axes = {order, ndim};
    PyArrayObject *turned = (PyArrayObject *)PyArray_Transpose(a, &axes);
    if (!turned || PyArray_IS_C_CONTIGUOUS(turned)) return turned;
    PyObject *rows = PyArray_SIZE(a) > QUICKLY_COPIED ? NULL : layout_rows((PyObject *)turned);
    Py_DECREF(turned);
    return (PyArrayObject *)rows;
}

PyObject *reduced_in_memory_order(reduction f, PyArrayObject *a, PyObject *dims, PyObject *keep, int which)
{
    const int ndim = PyArray_NDIM(a);
    npy_intp order[NPY_MAXDIMS], back[NPY_MAXDIMS], shape[NPY_MAXDIMS];
    char gone[NPY_MAXDIMS];
    PyObject *found = f(a, dims, keep, which); /* of many arrays without gaps, too */
    if (found || PyErr_Occurred() || PyArray_IS_C_CONTIGUOUS(a)) return found;
    if (!PyArray_SIZE(a) || !PyArray_ISALIGNED(a) || !named(dims, ndim, gone)) return NULL;
    PyArrayObject *turned = in_memory_order(a, order), *y = NULL;
    PyObject *axes = turned ? PyTuple_New(0) : NULL;
    int left = 0, turns = 0;
    for (int k = 0; axes && k < ndim; k++) {
        if (!gone[order[k]]) order[left++] = order[k];
        else if (_PyTuple_Resize(&axes, PyTuple_GET_SIZE(axes) + 1) == 0) PyTuple_SET_ITEM(axes, PyTuple_GET_SIZE(axes) - 1, PyLong_FromLong(k));
    }
    if (axes) y = (PyArrayObject *)f(turned, axes, Py_False, which);
    for (int axis = 0, k = 0; axis < ndim; axis++) { /* where in the result the axes that are left lie */
        shape[axis] = gone[axis] ? 1 : PyArray_DIM(a, axis);
        if (gone[axis]) continue;
        for (back[k] = 0; back[k] < left && order[back[k]] != axis;) back[k]++;
        turns |= back[k] != k, k++;
    }
    PyArray_Dims places = {back, left}, whole = {shape, ndim};
    if (y && turns) Py_SETREF(y, (PyArrayObject *)PyArray_Transpose(y, &places));
    if (y && turns) Py_SETREF(y, (PyArrayObject *)layout_rows((PyObject *)y));
    if (y && keep == Py_True) Py_SETREF(y, (PyArrayObject *)PyArray_Newshape(y, &whole, NPY_CORDER));
    Py_XDECREF(axes);
    Py_XDECREF(turned);
    return (PyObject *)y;
}

PyObject *laid_copy(PyArrayObject *a)
{
    PyArrayObject *y = laid_like(a, PyArray_DESCR(a));
    if (y) fast_copy(a, PyArray_BYTES(y), PyArray_STRIDES(y));
    return (PyObject *)y;
}

/* clone(input, memory_format) */
static PyObject *cloned(PyArrayObject *a, PyObject *const *args) { return args[1] == Py_None ? laid_copy(a) : NULL; }

PyObject *laid_cast(PyArrayObject *a, PyArray_Descr *d)
{
    if (!PyArray_ISNBO(PyArray_DESCR(a)->byteorder) || !PyArray_ISNBO(d->byteorder) || !casts_memory(PyArray_TYPE(a), d->type_num)) return NULL;
    PyArrayObject *y = laid_like(a, d), *from = !y ? NULL : is_gapless(a) ? (PyArrayObject *)Py_NewRef((PyObject *)a) : (PyArrayObject *)laid_copy(a);
    if (from) cast_memory(PyArray_DATA(y), d->type_num, PyArray_ITEMSIZE(y), PyArray_DATA(from), PyArray_TYPE(a), PyArray_ITEMSIZE(a), PyArray_SIZE(a));
    else Py_CLEAR(y);
    Py_XDECREF(from);
    return (PyObject *)y;
}

/* flip(input, dims) */
static PyObject *flipped(PyArrayObject *a, PyObject *const *args)
{
    const int ndim = PyArray_NDIM(a);
    npy_intp steps[MAX_AXES];
    if (!PyTuple_CheckExact(args[1]) || ndim > MAX_AXES || !PyArray_SIZE(a) || !PyArray_ISALIGNED(a)) return NULL;
    memcpy(steps, PyArray_STRIDES(a), ndim * sizeof *steps);
    char turned[MAX_AXES] = {0}, *from = PyArray_BYTES(a);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); i++) {
        PyObject *dim = PyTuple_GET_ITEM(args[1], i);
        const int axis = axis_of(dim, ndim);
        if (axis < 0 || turned[axis]++) return NULL;
        from += (PyArray_DIM(a, axis) - 1) * steps[axis], steps[axis] = -steps[axis];
    }
    PyArrayObject *y = PyArray_IS_C_CONTIGUOUS(a) ? new_like(a, ndim, PyArray_DIMS(a)) : laid_like(a, PyArray_DESCR(a));
    Py_INCREF(PyArray_DESCR(a));
    PyArrayObject *view = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), ndim, PyArray_DIMS(a), steps, from, 0, NULL);
    if (y && view) fast_copy(view, PyArray_BYTES(y), PyArray_STRIDES(y));
    else Py_CLEAR(y);
    Py_XDECREF(view);
    return (PyObject *)y;
}

view_forward laid_forward_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {{"clone", cloned}, {"flip", flipped}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return NULL;
}
