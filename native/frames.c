/* The place that a call of the package came from (see wengert.diagnose.places). */
#include "wengert.h"

/* The innermost frame of the kind ``user``, as (code, instruction); without one, of the kind ``library``, or None. ``kinds``
   has the kinds of code objects by their identity; ``kind_of(code)`` gives that of one that is not there yet. */
static PyObject *innermost(PyObject *kinds, PyObject *kind_of, long library, long user)
{
    PyObject *found = Py_NewRef(Py_None);
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *key = PyLong_FromVoidPtr(code), *made = NULL;
        PyObject *known = key ? PyDict_GetItemWithError(kinds, key) : NULL;
        Py_XDECREF(key);
        if (!known && !PyErr_Occurred()) known = made = PyObject_CallOneArg(kind_of, (PyObject *)code);
        const long kind = known ? PyLong_AsLong(known) : -1;
        Py_XDECREF(made);
        int last = !known || (kind == -1 && PyErr_Occurred());
        if (last)
            Py_CLEAR(found);
        else if (kind == user || (kind == library && found == Py_None)) {
            Py_SETREF(found, Py_BuildValue("(Oi)", code, PyFrame_GetLasti(frame)));
            last = kind == user || !found;
        }
        Py_DECREF(code);
        PyFrameObject *back = last ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return found;
}

static PyObject *site(PyObject *known, PyObject *unused)
{
    (void)unused;
    PyObject *const *rows = &PyTuple_GET_ITEM(known, 0);
    return innermost(rows[0], rows[1], PyLong_AsLong(rows[2]), PyLong_AsLong(rows[3]));
}

static PyObject *name_dict, *name_site, *name_modules, *name_running;

static PyObject *record(PyObject *known, PyObject *node)
{
    PyObject *const *rows = &PyTuple_GET_ITEM(known, 0);
    PyObject *facts = PyObject_GetAttr(node, name_dict), *modules = NULL;
    PyObject *at = facts ? site(known, NULL) : NULL;
    int failed = !at || PyObject_SetItem(facts, name_site, at) < 0 || !(modules = PyObject_GetAttr(rows[4], name_running));
    if (!failed && PyList_CheckExact(modules) && PyList_GET_SIZE(modules)) {
        PyObject *all = PyList_AsTuple(modules);
        failed = !all || PyObject_SetItem(facts, name_modules, all) < 0;
        Py_XDECREF(all);
    }
    Py_XDECREF(modules);
    Py_XDECREF(at);
    Py_XDECREF(facts);
    return failed ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef bound[] = {
    {"user_site", site, METH_NOARGS, "The innermost frame of the user's code, as (code, instruction)."},
    {"made", record, METH_O, "made(node): note where a node is made, and in which modules."},
};

/* sites(kinds, kind_of, library, user, here): the two functions above; ``here.modules`` are the modules that are running. */
static PyObject *sites(PyObject *module, PyObject *known)
{
    (void)module;
    if (PyTuple_GET_SIZE(known) != 5 || !PyDict_CheckExact(PyTuple_GET_ITEM(known, 0)) ||
        !PyLong_CheckExact(PyTuple_GET_ITEM(known, 2)) || !PyLong_CheckExact(PyTuple_GET_ITEM(known, 3)))
        return PyErr_Format(PyExc_TypeError, "sites() takes a dict, a function, two numbers and an object");
    if (!name_dict) {
        name_dict = PyUnicode_InternFromString("__dict__");
        name_site = PyUnicode_InternFromString("_wg_site");
        name_modules = PyUnicode_InternFromString("_wg_modules");
        name_running = PyUnicode_InternFromString("modules");
        if (!name_dict || !name_site || !name_modules || !name_running) return NULL;
    }
    PyObject *both = PyTuple_New(2);
    for (int i = 0; both && i < 2; i++) {
        PyObject *f = PyCFunction_New(&bound[i], known);
        if (!f) Py_CLEAR(both);
        else PyTuple_SET_ITEM(both, i, f);
    }
    return both;
}

PyMethodDef frames_methods[] = {
    {"sites", sites, METH_VARARGS, "sites(kinds, kind_of, library, user, here): user_site and made."},
    {NULL, NULL, 0, NULL},
};
