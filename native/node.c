/* What a node of the tape is made of, and how Python's cycle collector sees it.
 *
 * The collector counts what programs allocate and visits all that could be part of a cycle, again and again while a long
 * graph grows. So up to three edges stand in the node itself instead of in tuples: there is one object to count and visit
 * for an operation where there would be three or more, and what hooks, attributes and custom functions hold is found as ever.
 * The attribute `edges` makes the tuple anew for whoever asks. */
#include "node.h"

#include <structmember.h>

static int fields_traverse(PyObject *object, visitproc visit, void *arg)
{
    Node *self = (Node *)object;
    for (int i = 0; i < self->count; i++) Py_VISIT(self->to[i]);
    Py_VISIT(self->edges);
    Py_VISIT(self->hooks);
    Py_VISIT(self->saved);
    return 0;
}

static int fields_clear(PyObject *object)
{
    Node *self = (Node *)object;
    for (int i = 0; i < self->count; i++) Py_CLEAR(self->to[i]);
    Py_CLEAR(self->edges);
    Py_CLEAR(self->hooks);
    Py_CLEAR(self->saved);
    return 0;
}

static void fields_dealloc(PyObject *object)
{
    Node *self = (Node *)object;
    PyObject_GC_UnTrack(object);
    fields_clear(object);
    Py_XDECREF(self->seq);
    Py_XDECREF(self->shape);
    Py_XDECREF(self->dtype);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *get_edges(PyObject *object, void *unused)
{
    Node *self = (Node *)object;
    (void)unused;
    if (self->edges) return Py_NewRef(self->edges);
    if (!self->count) return PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute 'edges'", Py_TYPE(object)->tp_name);
    const int count = self->count;
    PyObject *to[OWN_EDGES]; /* held: allocating may run finalizers, and other threads, which may give the node other edges */
    long output[OWN_EDGES];
    for (int i = 0; i < count; i++) to[i] = Py_XNewRef(self->to[i]), output[i] = self->output[i];
    PyObject *edges = PyTuple_New(count);
    for (int i = 0; i < count; i++) {
        PyObject *edge = NULL;
        if (edges && (edge = to[i] ? PyTuple_New(2) : Py_NewRef(Py_None)) && to[i]) {
            PyObject *number = PyLong_FromLong(output[i]);
            if (number) {
                PyTuple_SET_ITEM(edge, 0, to[i]);
                PyTuple_SET_ITEM(edge, 1, number);
                to[i] = NULL;
            } else Py_CLEAR(edge);
        }
        Py_XDECREF(to[i]);
        if (edge) PyTuple_SET_ITEM(edges, i, edge);
        else Py_CLEAR(edges);
    }
    return edges;
}

static int set_edges(PyObject *object, PyObject *edges, void *unused)
{
    Node *self = (Node *)object;
    (void)unused;
    if (edges && !PyTuple_Check(edges)) {
        PyErr_SetString(PyExc_TypeError, "edges are a tuple");
        return -1;
    }
    const int count = self->count;
    Py_XINCREF(edges);
    self->count = 0;
    for (int i = 0; i < count; i++) Py_CLEAR(self->to[i]);
    Py_XSETREF(self->edges, edges);
    return 0;
}

/* For each edge whether it leads somewhere. */
static PyObject *get_wanted(PyObject *object, void *unused)
{
    static PyObject *known[OWN_EDGES + 1][1 << OWN_EDGES];
    Node *self = (Node *)object;
    (void)unused;
    if (!self->count) {
        PyObject *edges = PyObject_GetAttrString(object, "edges"); /* which a class may have */
        if (!edges || !PyTuple_Check(edges)) return edges;
        PyObject *wanted = PyTuple_New(PyTuple_GET_SIZE(edges));
        for (Py_ssize_t i = 0; wanted && i < PyTuple_GET_SIZE(edges); i++)
            PyTuple_SET_ITEM(wanted, i, PyBool_FromLong(PyTuple_GET_ITEM(edges, i) != Py_None));
        Py_DECREF(edges);
        return wanted;
    }
    int bits = 0;
    for (int i = 0; i < self->count; i++) bits |= (self->to[i] != NULL) << i;
    PyObject **place = &known[self->count][bits];
    if (!*place) {
        PyObject *wanted = PyTuple_New(self->count);
        for (int i = 0; wanted && i < self->count; i++) PyTuple_SET_ITEM(wanted, i, PyBool_FromLong(bits >> i & 1));
        *place = wanted;
    }
    return Py_XNewRef(*place);
}

static PyGetSetDef fields_computed[] = {
    {"edges", get_edges, set_edges, "For each differentiable input (node, output number) or None.", NULL},
    {"wanted", get_wanted, NULL, "Which of the edges are not None.", NULL}, {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef fields_members[] = {
    {"seq", T_OBJECT_EX, offsetof(Node, seq), 0, NULL},     {"hooks", T_OBJECT_EX, offsetof(Node, hooks), 0, NULL},
    {"saved", T_OBJECT_EX, offsetof(Node, saved), 0, NULL}, {"shape", T_OBJECT_EX, offsetof(Node, shape), 0, NULL},
    {"dtype", T_OBJECT_EX, offsetof(Node, dtype), 0, NULL}, {NULL, 0, 0, 0, NULL},
};

PyTypeObject NodeFieldsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "wengert.arrays._kernels.node_fields",
    .tp_basicsize = sizeof(Node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "The fields of a node.",
    .tp_traverse = fields_traverse,
    .tp_clear = fields_clear,
    .tp_dealloc = fields_dealloc,
    .tp_getset = fields_computed,
    .tp_members = fields_members,
};

/* A search below some nodes for targets. */
struct search {
    PyObject *stack, *seen, *met, *targets;
};

/* Note an edge to a node: 1, 0 where that ends the search, or -1. */
static int comes_to(const struct search *at, PyObject *to)
{
    const int found = PyDict_Contains(at->targets, to);
    if (found < 0) return -1;
    if (!found) {
        const int seen = PySet_Contains(at->seen, to);
        if (seen) return seen;
        return PySet_Add(at->seen, to) < 0 || PyList_Append(at->stack, to) < 0 ? -1 : 1;
    }
    if (PyDict_GET_SIZE(at->targets) > 1) { /* it may lead on to another */
        PyObject *edges = PyObject_GetAttrString(to, "edges");
        const int on = edges ? PyObject_IsTrue(edges) : -1;
        Py_XDECREF(edges);
        if (on) return on < 0 ? -1 : 0;
    }
    return PySet_Add(at->met, to) < 0 ? -1 : 1;
}

/* The same for all edges of a node, of which there must be one. */
static int goes_on(const struct search *at, PyObject *node)
{
    const int own = PyObject_TypeCheck(node, &NodeFieldsType) ? ((Node *)node)->count : 0;
    int on = 0, found = 1;
    if (own) {
        for (int i = 0; i < own && i < ((Node *)node)->count && found > 0; i++) {
            PyObject *to = Py_XNewRef(((Node *)node)->to[i]);
            if (to) on = 1, found = comes_to(at, to);
            Py_XDECREF(to);
        }
        return found > 0 ? on : found;
    }
    PyObject *edges = PyObject_GetAttrString(node, "edges");
    if (!edges || !PyTuple_Check(edges)) found = edges ? 0 : -1;
    for (Py_ssize_t i = 0; found > 0 && i < PyTuple_GET_SIZE(edges); i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);
        if (edge == Py_None) continue;
        on = 1;
        found = PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) ? comes_to(at, PyTuple_GET_ITEM(edge, 0)) : 0;
    }
    Py_XDECREF(edges);
    return found > 0 ? on : found;
}

/* ends_at(nodes, targets): whether every way down from a list of nodes ends at a target, and each of these is met. */
static PyObject *ends_at(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyList_Check(given[0]) || !PyDict_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "ends_at(list of nodes, dict of targets)");
        return NULL;
    }
    struct search at = {PyList_GetSlice(given[0], 0, PyList_GET_SIZE(given[0])), PySet_New(given[0]), PySet_New(NULL), given[1]};
    int found = at.stack && at.seen && at.met ? 1 : -1;
    while (found > 0) {
        const Py_ssize_t left = PyList_GET_SIZE(at.stack);
        if (!left) break;
        PyObject *node = Py_NewRef(PyList_GET_ITEM(at.stack, left - 1));
        found = PyList_SetSlice(at.stack, left - 1, left, NULL) < 0 ? -1 : goes_on(&at, node);
        Py_DECREF(node);
    }
    PyObject *answer = found < 0 ? NULL : PyBool_FromLong(found && PySet_GET_SIZE(at.met) == PyDict_GET_SIZE(given[1]));
    Py_XDECREF(at.stack);
    Py_XDECREF(at.seen);
    Py_XDECREF(at.met);
    return answer;
}

static PyMethodDef node_methods[] = {
    {"ends_at", (PyCFunction)(void (*)(void))ends_at, METH_FASTCALL, "Whether every way down from nodes ends at a target, and each is met."},
    {NULL, NULL, 0, NULL},
};

int node_init(PyObject *module)
{
    NodeFieldsType.tp_new = PyBaseObject_Type.tp_new;
    if (PyType_Ready(&NodeFieldsType) < 0 || PyModule_AddFunctions(module, node_methods) < 0) return -1;
    return PyModule_AddObjectRef(module, "node_fields", (PyObject *)&NodeFieldsType);
}
