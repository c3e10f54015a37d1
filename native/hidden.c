/* The tensors that a mapped function sees: see wengert.transforms.vmap.batched, which has the definition. */
#include "operation.h"

static struct {
    PyObject *type, *memories; /* memories: a dict from element types to the bytes of one element */
    Py_ssize_t value, level, given, required, alike;
} hidden;

/* hidden_class(type, memories): what `hidden` makes, and what its arrays look at. */
static PyObject *hidden_class(PyObject *module, PyObject *args)
{
    PyObject *type, *memories;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyDict_Type, &memories)) return NULL;
    const struct { const char *name; Py_ssize_t *to; } slots[] = {
        {"value", &hidden.value}, {"level", &hidden.level}, {"given", &hidden.given}, {"user_requires_grad", &hidden.required}, {"alike", &hidden.alike},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if ((*slots[i].to = slot_of(type, slots[i].name)) < 0) return NULL;
    Py_XSETREF(hidden.type, Py_NewRef(type));
    Py_XSETREF(hidden.memories, Py_NewRef(memories));
    Py_RETURN_NONE;
}

/* hidden(value, level): `value` with its first dimension hidden; None where the definition has to do it. */
static PyObject *hide(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "hidden() takes 2 arguments");
    PyObject *value = args[0];
    if (!hidden.type || !at.tensor || !PyObject_TypeCheck(value, (PyTypeObject *)at.tensor)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)SLOT(value, at.data);
    if (!a || !PyArray_CheckExact(a) || !PyArray_NDIM(a) || !SLOT(value, at.vc)) Py_RETURN_NONE;
    PyArray_Descr *d = PyArray_DESCR(a);
    PyObject *memory = PyDict_GetItemWithError(hidden.memories, (PyObject *)d);
    if (!memory || !PyBytes_CheckExact(memory)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    static npy_intp still[NPY_MAXDIMS];
    Py_INCREF(d);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, d, PyArray_NDIM(a) - 1, PyArray_DIMS(a) + 1, still, PyBytes_AS_STRING(memory), 0, NULL);
    if (!array) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(memory)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    PyObject *t = new_instance(hidden.type);
    if (!t) {
        Py_DECREF(array);
        return NULL;
    }
    put(t, at.data, array);
    put(t, at.edge, Py_NewRef(Py_None));
    put(t, at.meta, Py_NewRef(Py_None));
    put(t, at.vc, Py_NewRef(SLOT(value, at.vc)));
    put(t, hidden.value, Py_NewRef(value));
    put(t, hidden.level, Py_NewRef(args[1]));
    put(t, hidden.given, Py_NewRef(Py_None));
    put(t, hidden.required, Py_NewRef(Py_False));
    put(t, hidden.alike, Py_NewRef(Py_None));
    return t;
}

static PyMethodDef hidden_methods[] = {
    {"hidden_class", hidden_class, METH_VARARGS, "Say what hidden() makes."},
    {"hidden", (PyCFunction)(void (*)(void))hide, METH_FASTCALL, "A tensor with its first dimension hidden; None where Python has to make it."},
    {NULL, NULL, 0, NULL},
};

int hidden_init(PyObject *module)
{
    return PyModule_AddFunctions(module, hidden_methods);
}
