/* Lazy conjugates (wengert.arrays.lazy): the view that x.conj() gives, and the numbers that one stands for. Lazy negatives and what else
 * there is of them are Python's. */
#include "operation.h"

static struct {
    PyObject *type;
    Py_ssize_t window, conjugated, negated;
} lazy;

int is_lazy(PyObject *array) { return (PyObject *)Py_TYPE(array) == lazy.type; }

PyArrayObject *memory_behind(PyObject *array)
{
    return (PyArrayObject *)(is_lazy(array) ? SLOT(array, lazy.window) : array);
}

PyObject *conjugated_view(PyArrayObject *a, PyObject *const *args)
{
    (void)args;
    if (!lazy.type || (PyArray_DESCR(a) != at.c64 && PyArray_DESCR(a) != at.c128)) return NULL;
    PyObject *window = PyArray_View(a, NULL, NULL), *view = window ? new_instance(lazy.type) : NULL;
    if (!view) {
        Py_XDECREF(window);
        return NULL;
    }
    put(view, lazy.window, window);
    put(view, lazy.conjugated, Py_NewRef(Py_True));
    put(view, lazy.negated, Py_NewRef(Py_False));
    return view;
}

PyObject *lazy_numbers(PyObject *array)
{
    PyObject *window = SLOT(array, lazy.window);
    if (SLOT(array, lazy.conjugated) != Py_True || SLOT(array, lazy.negated) != Py_False || !window || !PyArray_CheckExact(window)) return NULL;
    PyArrayObject *a = (PyArrayObject *)window;
    if ((PyArray_DESCR(a) != at.c64 && PyArray_DESCR(a) != at.c128) || !PyArray_IS_C_CONTIGUOUS(a)) return array_of(PyArray_Conjugate(a, NULL));
    Py_INCREF(PyArray_DESCR(a));
    PyArrayObject *found = (PyArrayObject *)PyArray_NewLikeArray(a, NPY_CORDER, PyArray_DESCR(a), 0);
    if (!found) return NULL;
    const npy_intp n = 2 * PyArray_SIZE(a);
    if (PyArray_DESCR(a) == at.c64) {
        const float *from = PyArray_DATA(a);
        float *to = PyArray_DATA(found);
        for (npy_intp i = 0; i < n; i += 2) to[i] = from[i], to[i + 1] = -from[i + 1];
    } else {
        const double *from = PyArray_DATA(a);
        double *to = PyArray_DATA(found);
        for (npy_intp i = 0; i < n; i += 2) to[i] = from[i], to[i + 1] = -from[i + 1];
    }
    return (PyObject *)found;
}

/* lazy_class(Lazy) */
static PyObject *lazy_class(PyObject *module, PyObject *type)
{
    (void)module;
    if ((lazy.window = slot_of(type, "window")) < 0 || (lazy.conjugated = slot_of(type, "conjugated")) < 0 || (lazy.negated = slot_of(type, "negated")) < 0)
        return NULL;
    Py_XSETREF(lazy.type, Py_NewRef(type));
    Py_RETURN_NONE;
}

PyMethodDef lazy_methods[] = {{"lazy_class", lazy_class, METH_O, "Say what the class of lazy conjugates is."}, {NULL, NULL, 0, NULL}};
