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

/* A context manager whose entering and leaving are one step each for Python, which looks for signals between its own
   instructions: an interrupt comes before the switch or inside the block, and the block's end always switches back.
   What the states are is Python's to say (wengert.arrays.context.Scope is the same thing without the extension):
   ``_states(now)`` gives the state inside (and what to go back to is ``now``), or ``(inside, back, result)``; ``_return(now,
   back)`` the state to go back to where somebody has changed it inside. States are values of the variable, or what
   ``_put(state)``, which may be called again, puts in force. ``_left()``, if there is one, is called when it is left. */
typedef struct {
    PyObject_HEAD
    PyObject *inside, *back; /* of the innermost entry; NULL where there is none */
    PyObject *outer;         /* (inside, back, outer) of the entry around it, or NULL */
} Scope;

static PyObject *scope_variable, *name_states, *name_return, *name_put, *name_left;

static int scope_traverse(Scope *self, visitproc visit, void *arg)
{
    Py_VISIT(self->inside);
    Py_VISIT(self->back);
    Py_VISIT(self->outer);
    return 0;
}

static int scope_clear(Scope *self)
{
    Py_CLEAR(self->inside);
    Py_CLEAR(self->back);
    Py_CLEAR(self->outer);
    return 0;
}

static void scope_dealloc(Scope *self)
{
    PyObject_GC_UnTrack(self);
    scope_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* A call that is to be done whatever is raised meanwhile: it is tried again, and what was raised first is raised at
   the end. NULL: it has never succeeded; ``*raised`` says whether an error is set all the same. */
static PyObject *finish(PyObject *self, PyObject *name, PyObject *first, PyObject *second, int *raised)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL, *done = NULL;
    for (int tries = 0; tries < 100 && !done; tries++) {
        done = PyObject_CallMethodObjArgs(self, name, first, second, NULL);
        if (done) break;
        const int interrupt = !PyErr_ExceptionMatches(PyExc_Exception);
        if (!type) PyErr_Fetch(&type, &value, &traceback);
        else PyErr_Clear();
        if (!interrupt && tries >= 3) break; /* an error of its own, not one that a signal's handler has raised */
    }
    *raised = type != NULL;
    if (type) PyErr_Restore(type, value, traceback);
    return done;
}

static int scope_set(PyObject *state)
{
    PyObject *token = context_set(scope_variable, state);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

static void scope_pop(Scope *self)
{
    PyObject *outer = self->outer;
    Py_CLEAR(self->inside);
    Py_CLEAR(self->back);
    self->outer = NULL;
    if (outer) {
        self->inside = Py_NewRef(PyTuple_GET_ITEM(outer, 0));
        self->back = Py_NewRef(PyTuple_GET_ITEM(outer, 1));
        self->outer = PyTuple_GET_ITEM(outer, 2) == Py_None ? NULL : Py_NewRef(PyTuple_GET_ITEM(outer, 2));
        Py_DECREF(outer);
    }
}

/* The states that ``_states`` gives, as new references. */
static int scope_states(PyObject *self, PyObject *now, PyObject **inside, PyObject **back, PyObject **result)
{
    PyObject *states = PyObject_CallMethodOneArg(self, name_states, now);
    if (!states) return -1;
    if (!PyTuple_CheckExact(states)) {
        *inside = states;
        *back = Py_NewRef(now);
        *result = Py_NewRef(Py_None);
        return 0;
    }
    if (PyTuple_GET_SIZE(states) != 3) {
        Py_DECREF(states);
        PyErr_SetString(PyExc_TypeError, "_states() gives a state, or a tuple (inside, back, result)");
        return -1;
    }
    *inside = Py_NewRef(PyTuple_GET_ITEM(states, 0));
    *back = Py_NewRef(PyTuple_GET_ITEM(states, 1));
    *result = Py_NewRef(PyTuple_GET_ITEM(states, 2));
    Py_DECREF(states);
    return 0;
}

static PyObject *scope_enter(PyObject *object, PyObject *nothing)
{
    (void)nothing;
    Scope *self = (Scope *)object;
    PyObject *now, *inside, *back, *result;
    if (PyContextVar_Get(scope_variable, NULL, &now) < 0) return NULL;
    const int failed = scope_states(object, now, &inside, &back, &result);
    Py_DECREF(now);
    if (failed) return NULL;
    if (self->inside) { /* entered before, and not left yet */
        PyObject *outer = PyTuple_Pack(3, self->inside, self->back, self->outer ? self->outer : Py_None);
        if (!outer) goto refused;
        Py_DECREF(self->inside);
        Py_DECREF(self->back);
        Py_XDECREF(self->outer);
        self->outer = outer;
    }
    self->inside = inside;
    self->back = back;
    if (!_PyType_Lookup(Py_TYPE(object), name_put)) {
        if (scope_set(inside) == 0) return result;
    } else {
        PyObject *done = PyObject_CallMethodOneArg(object, name_put, inside);
        Py_XDECREF(done);
        if (done) return result;
        PyObject *type, *value, *traceback;
        int raised;
        PyErr_Fetch(&type, &value, &traceback);
        Py_INCREF(back);
        Py_XDECREF(finish(object, name_put, back, NULL, &raised));
        Py_DECREF(back);
        PyErr_Restore(type, value, traceback);
    }
    scope_pop(self);
    Py_DECREF(result);
    return NULL;
refused:
    Py_DECREF(inside);
    Py_DECREF(back);
    Py_DECREF(result);
    return NULL;
}

static PyObject *scope_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    (void)args, (void)count;
    Scope *self = (Scope *)object;
    PyObject *now, *inside, *back;
    int raised = 0;
    const int entered = self->inside != NULL;
    if (PyContextVar_Get(scope_variable, NULL, &now) < 0) return NULL;
    if (entered) {
        inside = Py_NewRef(self->inside);
        back = Py_NewRef(self->back);
        scope_pop(self);
    } else { /* of something that acts when it is made, or was left before its block ended */
        PyObject *result;
        if (scope_states(object, now, &inside, &back, &result) < 0) {
            Py_DECREF(now);
            return NULL;
        }
        Py_DECREF(result);
    }
    if (_PyType_Lookup(Py_TYPE(object), name_put)) {
        Py_XDECREF(finish(object, name_put, back, NULL, &raised));
    } else if (entered && (now == inside || now == back)) {
        raised = scope_set(back) < 0;
    } else { /* switched inside */
        PyObject *state = finish(object, name_return, now, back, &raised), *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        const int failed = scope_set(state ? state : back) < 0;
        Py_XDECREF(state);
        if (type) PyErr_Restore(type, value, traceback);
        else raised = failed;
    }
    Py_DECREF(now);
    Py_DECREF(inside);
    Py_DECREF(back);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback); /* a look-up would clear it */
    if (_PyType_Lookup(Py_TYPE(object), name_left)) {
        PyObject *done = PyObject_CallMethodNoArgs(object, name_left);
        raised = raised || !done;
        Py_XDECREF(done);
    }
    if (type) PyErr_Restore(type, value, traceback);
    if (raised) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, "Put the state inside in force."},
    {"__exit__", (PyCFunction)(void (*)(void))scope_exit, METH_FASTCALL, "Put back what was in force."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject ScopeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "wengert.arrays._kernels.Scope",
    .tp_basicsize = sizeof(Scope),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A context manager that is entered and left in one step each: see wengert.arrays.context.Scope.",
    .tp_new = PyType_GenericNew,
    .tp_traverse = (traverseproc)scope_traverse,
    .tp_clear = (inquiry)scope_clear,
    .tp_dealloc = (destructor)scope_dealloc,
    .tp_methods = scope_methods,
};

static PyObject *scopes_in(PyObject *module, PyObject *variable)
{
    (void)module;
    if (!PyContextVar_CheckExact(variable)) return PyErr_Format(PyExc_TypeError, "scopes_in() takes a ContextVar");
    if (!name_states) name_states = PyUnicode_InternFromString("_states");
    if (!name_return) name_return = PyUnicode_InternFromString("_return");
    if (!name_put) name_put = PyUnicode_InternFromString("_put");
    if (!name_left) name_left = PyUnicode_InternFromString("_left");
    if (!name_states || !name_return || !name_put || !name_left || PyType_Ready(&ScopeType) < 0) return NULL;
    Py_XSETREF(scope_variable, Py_NewRef(variable));
    return Py_NewRef((PyObject *)&ScopeType);
}

PyMethodDef context_methods[] = {
    {"unbroken", unbroken, METH_O, "unbroken(variable): its set and reset, without a run of the cycle collector inside."},
    {"scopes_in", scopes_in, METH_O, "scopes_in(variable): the class Scope, whose states are values of the variable."},
    {NULL, NULL, 0, NULL},
};
