/* Changes of context variables that the cycle collector does not break into (see wengert.arrays.context). */
#include "wengert.h"

/* Up to Python 3.11 an allocation may start the collector, here in the middle of the change. */
#define UNBROKEN(statement)                  \
    do {                                     \
        const int collecting = PyGC_Disable(); \
        statement;                           \
        if (collecting) PyGC_Enable();       \
    } while (0)

PyObject *context_set(PyObject *variable, PyObject *value)
{
    PyObject *token;
    UNBROKEN(token = PyContextVar_Set(variable, value));
    return token;
}

int context_reset(PyObject *variable, PyObject *token)
{
    int failed;
    UNBROKEN(failed = PyContextVar_Reset(variable, token));
    return failed;
}

static PyObject *reset(PyObject *variable, PyObject *token)
{
    if (context_reset(variable, token) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef bound[] = {
    {"set", context_set, METH_O, "set(value): give the variable a value; returns a token."},
    {"reset", reset, METH_O, "reset(token): the value from before the token was given."},
};

static PyObject *unbroken(PyObject *module, PyObject *variable)
{
    (void)module;
    if (!PyContextVar_CheckExact(variable)) return PyErr_Format(PyExc_TypeError, "unbroken() takes a ContextVar");
    PyObject *set = PyCFunction_New(&bound[0], variable), *back = PyCFunction_New(&bound[1], variable);
    PyObject *both = set && back ? PyTuple_Pack(2, set, back) : NULL;
    Py_XDECREF(set);
    Py_XDECREF(back);
    return both;
}

PyMethodDef context_methods[] = {
    {"unbroken", unbroken, METH_O, "unbroken(variable): its set and reset, without a run of the cycle collector inside."},
    {NULL, NULL, 0, NULL},
};
