/* What operations make: the classes that Python registers, tensors around arrays, and saved tensors rebuilt. */
#include "operation.h"

#include <structmember.h>

struct classes at;

/* A tensor around an array; takes the reference. `grad_scope`: NULL, or the scope of the derivative in whose function it is made: its version counter refers to it.
 * `inference`: it is an inference tensor. */
PyObject *tensor_of(PyObject *array, PyObject *grad_scope, int inference)
{
    PyObject *counter = inference ? Py_NewRef(at.uncounted) : PyList_New(grad_scope ? 2 : 1), *t = counter ? new_instance(at.tensor) : NULL;
    if (!t) {
        Py_XDECREF(counter);
        Py_DECREF(array);
        return NULL;
    }
    if (!inference) {
        PyList_SET_ITEM(counter, 0, Py_NewRef(at.zero));
        if (grad_scope) PyList_SET_ITEM(counter, 1, Py_NewRef(grad_scope));
        else PyObject_GC_UnTrack(counter); /* it never holds anything but a number */
    }
    put(t, at.data, array);
    put(t, at.vc, counter);
    put(t, at.edge, Py_NewRef(Py_None));
    put(t, at.meta, Py_NewRef(Py_None));
    return t;
}

/* Where the slot `name` lies in objects of `type`; -1 with an error if it is none. */
Py_ssize_t slot_of(PyObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString(type, name);
    Py_ssize_t offset = -1;
    if (found && Py_TYPE(found) == &PyMemberDescr_Type && ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX)
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    else if (found) PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, name);
    Py_XDECREF(found);
    return offset;
}

/* tape(Tensor, PLAIN, dtype, Meta, its defaults, View, UNSET, modes, RECORD, SILENT, INFERENCE, INFERENCE_VERSION, sequence, leaf_row, edge_of, unversioned,
 * AccumulateGrad, in_order_of, flags.STATE, flags.IGNORED, rebase, kernels.cast, NATIVE_CALLS, default_float): what operations make */
static PyObject *tape(PyObject *module, PyObject *args)
{
    PyObject *defaults;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOO!OOOOOOOOOOOOOOOOOO!O", &at.tensor, &at.plain, &at.dtype, &at.meta_class, &PyDict_Type, &defaults,
                          &at.view_class, &at.unset, &at.modes, &at.record, &at.silent, &at.inference, &at.uncounted, &at.sequence, &at.leaf_row, &at.edge_of, &at.unversioned, &at.accumulate,
                          &at.in_order_of, &at.flags, &at.ignored, &at.rebase, &at.cast, &PyDict_Type, &at.native_calls, &at.default_float))
        return NULL;
    PyObject *kept[] = {at.tensor, at.plain, at.dtype, at.meta_class, at.view_class, at.unset, at.modes, at.record, at.silent, at.inference, at.uncounted,
                        at.sequence, at.leaf_row, at.edge_of, at.unversioned, at.accumulate, at.in_order_of, at.flags, at.ignored, at.rebase, at.cast, at.native_calls, at.default_float};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) Py_INCREF(kept[i]); /* for as long as the process */
    const struct { PyObject *type; const char *name; Py_ssize_t *to; } slots[] = {
        {at.tensor, "_wg_data", &at.data}, {at.tensor, "_wg_edge", &at.edge}, {at.tensor, "_wg_meta", &at.meta}, {at.tensor, "_wg_vc", &at.vc},
        {at.view_class, "base", &at.base},
        {at.view_class, "creation", &at.creation}, {at.view_class, "last", &at.last}, {at.view_class, "version", &at.version},
        {at.view_class, "window", &at.window}, {at.meta_class, "requires_grad", &at.requires_grad},
        {at.meta_class, "accumulator", &at.accumulator}, {at.meta_class, "hooks", &at.meta_hooks},
        {at.meta_class, "grad_dtype", &at.grad_dtype}, {at.accumulate, "variable", &at.variable}, {(PyObject *)Py_TYPE(at.record), "grad", &at.grad},
        {(PyObject *)Py_TYPE(at.record), "quick", &at.quick}, {(PyObject *)Py_TYPE(at.record), "passes", &at.passes},
        {(PyObject *)Py_TYPE(at.record), "grad_scope", &at.grad_scope}, {at.meta_class, "view", &at.meta_view},
        {at.meta_class, "retained", &at.retained},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if ((*slots[i].to = slot_of(slots[i].type, slots[i].name)) < 0) return NULL;
    if (!(at.conjugating = PyDict_New())) return NULL;
    at.meta_defaults = PyMem_Calloc(2 * PyDict_GET_SIZE(defaults) + 1, sizeof *at.meta_defaults);
    if (!at.meta_defaults) return PyErr_NoMemory();
    PyObject *key, *value, **pair = at.meta_defaults;
    Py_ssize_t position = 0;
    while (PyDict_Next(defaults, &position, &key, &value)) {
        const Py_ssize_t offset = slot_of(at.meta_class, PyUnicode_AsUTF8(key));
        if (offset < 0 || !(*pair++ = PyLong_FromSsize_t(offset))) return NULL;
        *pair++ = Py_NewRef(value);
    }
    Py_RETURN_NONE;
}

/* rebuilt(array, counter, edge): the tensor that a node saved, with its place on the tape; None if it is none of the everyday ones.
 * See OpNode._rebuild in wengert.tensor.record. */
static PyObject *rebuilt(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 3) return PyErr_Format(PyExc_TypeError, "rebuilt() takes 3 arguments");
    PyObject *array = args[0], *counter = args[1], *edge = args[2];
    if (!PyArray_CheckExact(array)) Py_RETURN_NONE;
    PyArray_Descr *d = PyArray_DESCR((PyArrayObject *)array);
    if (d != at.f32 && d != at.f64) Py_RETURN_NONE;
    if (edge != Py_None && (PyObject *)Py_TYPE(PyTuple_GET_ITEM(edge, 0)) == at.accumulate) {
        PyObject *variable = SLOT(PyTuple_GET_ITEM(edge, 0), at.variable);
        if (SLOT(variable, at.data) == array) return Py_NewRef(variable);
    }
    PyObject *t = tensor_of(Py_NewRef(array), NULL, 0);
    if (!t) return NULL;
    put(t, at.edge, Py_NewRef(edge));
    if (counter != at.unversioned) put(t, at.vc, Py_NewRef(counter));
    return t;
}

static PyObject *tape_watch(PyObject *module, PyObject *made)
{
    (void)module;
    Py_XSETREF(at.made, made == Py_None ? NULL : Py_NewRef(made));
    Py_RETURN_NONE;
}

static PyMethodDef tape_methods[] = {
    {"tape", tape, METH_VARARGS, "Say what operations make."},
    {"rebuilt", (PyCFunction)(void (*)(void))rebuilt, METH_FASTCALL, "The tensor that a node saved."},
    {"tape_watch", tape_watch, METH_O, "tape_watch(made): call made(node) for every node that an operation leaves; None: no more."},
    {NULL, NULL, 0, NULL},
};

int tape_init(PyObject *module)
{
    at.zero = PyLong_FromLong(0);
    at.one = PyLong_FromLong(1);
    at.cast_name = PyUnicode_InternFromString("cast");
    at.no_grad = PyUnicode_InternFromString("no_grad");
    at.in_inference = PyUnicode_InternFromString("inference");
    at.multi = PyUnicode_InternFromString("multi");
    at.np = PyUnicode_InternFromString("np");
    at.outputs = PyUnicode_InternFromString("outputs");
    at.f32 = PyArray_DescrFromType(NPY_FLOAT);
    at.f64 = PyArray_DescrFromType(NPY_DOUBLE);
    at.c64 = PyArray_DescrFromType(NPY_CFLOAT);
    at.c128 = PyArray_DescrFromType(NPY_CDOUBLE);
    if (PyType_Ready(&OperationType) < 0 || PyModule_AddFunctions(module, tape_methods) < 0) return -1;
    return PyModule_AddObjectRef(module, "operation", (PyObject *)&OperationType);
}
