/* Nodes on the tape: where gradients of tensors go, what an operation saves for its rule, and the node that it leaves. */
#include "operation.h"

static inline int same_number(PyObject *a, PyObject *b)
{
    if (a == b) return 1;
    return a && PyLong_CheckExact(a) && PyLong_CheckExact(b) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

static PyObject *shape_of(PyObject *array)
{
    PyArrayObject *a = memory_behind(array);
    PyObject *shape = PyTuple_New(PyArray_NDIM(a));
    for (int i = 0; shape && i < PyArray_NDIM(a); i++) PyTuple_SET_ITEM(shape, i, PyLong_FromSsize_t(PyArray_DIM(a, i)));
    if (shape && PyArray_NDIM(a)) PyObject_GC_UnTrack(shape);
    return shape;
}

/* Take apart (node, number) or None; takes the reference. -1 on error. */
static int open_edge(PyObject *pair, Edge *edge)
{
    *edge = (Edge){NULL, 0};
    if (!pair) return -1;
    int failed = 0;
    if (pair != Py_None) {
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "an edge is a node and a number");
            failed = -1;
        } else {
            edge->node = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
            edge->output = PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
            if (edge->output == -1 && PyErr_Occurred()) failed = -1;
            if (failed) Py_CLEAR(edge->node);
        }
    }
    Py_DECREF(pair);
    return failed;
}

/* As the function of this name in graph/node.py. */
static PyObject *leaf_sequence(void)
{
    PyObject *number = Py_TYPE(at.sequence)->tp_iternext(at.sequence);
    if (!number) return NULL;
    const long long drawn = PyLong_AsLongLong(number), last = PyLong_AsLongLong(PyList_GET_ITEM(at.leaf_row, 0));
    if (drawn != last - 1) PyList_SetItem(at.leaf_row, 1, Py_NewRef(number));
    PyList_SetItem(at.leaf_row, 0, Py_NewRef(number));
    const long long first = PyLong_AsLongLong(PyList_GET_ITEM(at.leaf_row, 1));
    if (drawn == first) return number;
    Py_DECREF(number);
    return PyFloat_FromDouble((double)first + (double)(first - drawn) * 0x1p-20);
}

/* The edge to an AccumulateGrad node for the leaf `t`, which has none: its `known` one is gone, or None. */
static int new_accumulator(PyObject *t, PyObject *meta, PyObject *known, Edge *edge)
{
    PyObject *array = SLOT(t, at.data), *shape, *number, *reference, *node;
    if (SLOT(meta, at.meta_hooks) != Py_None || SLOT(meta, at.grad_dtype) != Py_False) return open_edge(PyObject_CallOneArg(at.edge_of, t), edge);
    Py_INCREF(known);
    if (!(node = new_instance(at.accumulate)) || !(shape = shape_of(array))) {
        Py_DECREF(known);
        Py_XDECREF(node);
        return -1;
    }
    if (!(number = leaf_sequence())) {
        Py_DECREF(known);
        Py_DECREF(shape);
        Py_DECREF(node);
        return -1;
    }
    put(node, at.variable, Py_NewRef(t));
    ((Node *)node)->seq = number;
    ((Node *)node)->shape = shape;
    ((Node *)node)->dtype = Py_NewRef((PyObject *)PyArray_DESCR(memory_behind(array)));
    if (!(reference = PyWeakref_NewRef(node, NULL))) {
        Py_DECREF(known);
        Py_DECREF(node);
        return -1;
    }
    const int overtaken = SLOT(meta, at.accumulator) != known;
    Py_DECREF(known);
    if (overtaken) { /* an allocation set the cycle collector off, and in a finalizer another thread came in */
        Py_DECREF(reference);
        Py_DECREF(node);
        return open_edge(PyObject_CallOneArg(at.edge_of, t), edge);
    }
    put(meta, at.accumulator, reference);
    *edge = (Edge){node, 0};
    return 0;
}

/* wengert.tensor.autograd_meta.edge_of; -1 on error. */
int edge_of(PyObject *t, Edge *to)
{
    PyObject *meta = SLOT(t, at.meta), *edge = SLOT(t, at.edge);
    if (meta == Py_None) return open_edge(Py_NewRef(edge), to);
    PyObject *view = SLOT(meta, at.meta_view), *own = SLOT(meta, at.requires_grad);
    if (view && view != Py_None) {
        PyObject *base = SLOT(view, at.base);
        const int free_base = base && SLOT(base, at.edge) == Py_None && SLOT(base, at.meta) == Py_None;
        if (own == Py_False && edge == Py_None && free_base) return open_edge(Py_NewRef(Py_None), to);
        if (edge != Py_None && same_number(SLOT(view, at.version), PyList_GET_ITEM(SLOT(t, at.vc), 0))) return open_edge(Py_NewRef(edge), to);
    } else if (own == Py_False) {
        return open_edge(Py_NewRef(edge), to);
    } else {
        PyObject *alive = SLOT(meta, at.accumulator);
        if (own == Py_True && alive && (alive == Py_None || PyWeakref_CheckRef(alive))) {
            if (alive == Py_None) return new_accumulator(t, meta, alive, to);
#if PY_VERSION_HEX >= 0x030D0000
            PyObject *node = NULL;
            if (PyWeakref_GetRef(alive, &node) < 0) return -1;
#else
            PyObject *node = PyWeakref_GET_OBJECT(alive);
            if (node == Py_None) node = NULL;
            Py_XINCREF(node);
#endif
            if (!node) return new_accumulator(t, meta, alive, to);
            *to = (Edge){node, 0};
            return 0;
        }
    }
    return open_edge(PyObject_CallOneArg(at.edge_of, t), to);
}

/* The shape of `array`: the tuple that the node of an input (or NULL) already has, if that is the same. */
static PyObject *shape_among(PyObject *array, PyObject *input)
{
    PyArrayObject *a = memory_behind(array);
    const int ndim = PyArray_NDIM(a);
    PyObject *shape = input ? ((Node *)input)->shape : NULL;
    if (shape && PyTuple_CheckExact(shape) && PyTuple_GET_SIZE(shape) == ndim) {
        int i = 0;
        while (i < ndim && PyLong_CheckExact(PyTuple_GET_ITEM(shape, i)) && PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) == PyArray_DIM(a, i)) i++;
        if (i == ndim) return Py_NewRef(shape);
    }
    return shape_of(array);
}

static PyObject *shape_of_any(PyObject *value)
{
    if (PyArray_CheckExact(value)) return shape_of(value);
    if (value == Py_None) return Py_NewRef(Py_None);
    if (!PyList_CheckExact(value)) return PyTuple_New(0);
    PyObject *row = PyList_New(PyList_GET_SIZE(value));
    for (Py_ssize_t i = 0; row && i < PyList_GET_SIZE(value); i++) {
        PyObject *shape = shape_of_any(PyList_GET_ITEM(value, i));
        if (!shape) Py_CLEAR(row);
        else PyList_SET_ITEM(row, i, shape);
    }
    return row;
}

/* value, counter, version into three places of the memory; takes no references */
static void remember(PyObject *memory, Py_ssize_t place, PyObject *value, PyObject *counter, PyObject *version)
{
    PyTuple_SET_ITEM(memory, place, Py_NewRef(value));
    PyTuple_SET_ITEM(memory, place + 1, Py_NewRef(counter));
    PyTuple_SET_ITEM(memory, place + 2, Py_NewRef(version));
}

static PyObject *memory_of(const Operation *self, const struct call *c, unsigned int needed)
{
    PyObject *memory = PyTuple_New(3 * self->saved + self->consts);
    if (!memory) return NULL;
    for (int i = 0; i < self->saved; i++) {
        const Saved *s = &self->save[i];
        PyObject *value, *tensor = NULL;
        if (s->source == FROM_PARAM) {
            value = c->raw[s->index];
            if (c->owned[s->index] && !(c->kept && s->index == 0)) tensor = c->args[s->index];
        } else if (s->source == FROM_OUTPUT) {
            tensor = PyTuple_GET_ITEM(c->results, s->index);
            value = SLOT(tensor, at.data);
        } else value = PyTuple_GET_ITEM(c->aux, s->index);
        if (value == Py_None || !(c->lists || (s->users & needed))) remember(memory, 3 * i, Py_None, at.unversioned, at.zero);
        else if (!tensor) remember(memory, 3 * i, value, at.unversioned, at.zero);
        else if (PyList_CheckExact(value)) {
            const Py_ssize_t n = PyList_GET_SIZE(value);
            PyObject *counters = PyList_New(n), *versions = counters ? PyList_New(n) : NULL;
            if (!versions) {
                Py_XDECREF(counters);
                Py_DECREF(memory);
                return NULL;
            }
            for (Py_ssize_t k = 0; k < n; k++) {
                PyObject *t = PySequence_Fast_GET_ITEM(tensor, k), *counter = t == Py_None ? at.unversioned : SLOT(t, at.vc);
                PyList_SET_ITEM(counters, k, Py_NewRef(counter));
                PyList_SET_ITEM(versions, k, t == Py_None ? Py_NewRef(at.zero) : Py_NewRef(PyList_GET_ITEM(counter, 0)));
            }
            remember(memory, 3 * i, value, counters, versions);
            Py_DECREF(counters);
            Py_DECREF(versions);
        } else remember(memory, 3 * i, value, SLOT(tensor, at.vc), PyList_GET_ITEM(SLOT(tensor, at.vc), 0));
    }
    for (int i = 0; i < self->consts; i++) {
        const Saved *s = &self->constant[i];
        PyObject *value = s->source == SHAPE_OF ? shape_of_any(c->raw[s->index]) : Py_NewRef(c->raw[s->index]);
        if (!value) {
            Py_DECREF(memory);
            return NULL;
        }
        PyTuple_SET_ITEM(memory, 3 * self->saved + i, value);
    }
    /* Long chains are mostly nodes, and the cycle collector visits all that could be part of a cycle. Arrays and numbers cannot. */
    int inert = 1;
    for (Py_ssize_t i = 0; inert && i < PyTuple_GET_SIZE(memory); i++) {
        PyObject *item = PyTuple_GET_ITEM(memory, i);
        inert = (i < 3 * self->saved && i % 3 == 1) ? 1 : !PyObject_IS_GC(item) || !PyObject_GC_IsTracked(item);
    }
    if (inert && PyTuple_GET_SIZE(memory)) PyObject_GC_UnTrack(memory);
    return memory;
}

void drop_edges(Edge *edges, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) Py_CLEAR(edges[i].node);
}

static Py_ssize_t count_edges(const Operation *self, const struct call *c)
{
    Py_ssize_t total = 0;
    for (int i = 0; i < self->wrt; i++) {
        const int p = self->wrt_at[i];
        total += c->owned[p] && PyList_CheckExact(c->raw[p]) ? PyList_GET_SIZE(c->raw[p]) : 1;
    }
    return total;
}

/* The edges of the inputs; `needed`: bits for the arguments whose edges lead somewhere. -1 on error. */
static int edges_of(const Operation *self, const struct call *c, Edge *edges, unsigned int *needed)
{
    Py_ssize_t place = 0;
    *needed = 0;
    for (int i = 0; i < self->wrt; i++) {
        const int p = self->wrt_at[i];
        const int list = c->owned[p] && PyList_CheckExact(c->raw[p]);
        const Py_ssize_t n = list ? PyList_GET_SIZE(c->raw[p]) : 1;
        for (Py_ssize_t k = 0; k < n; k++) {
            Edge *edge = &edges[place];
            *edge = (Edge){NULL, 0};
            PyObject *t = list ? PySequence_Fast_GET_ITEM(c->args[p], k) : c->args[p];
            if (c->owned[p] && t != Py_None && edge_of(t, edge) < 0) {
                drop_edges(edges, place);
                return -1;
            }
            if (edge->node) *needed |= 1u << i;
            place++;
        }
    }
    return 0;
}

/* Give the edges to a node; -1 on error. */
static int put_edges(Node *node, Edge *edges, Py_ssize_t count)
{
    if (count && count <= OWN_EDGES) {
        for (int i = 0; i < count; i++) {
            node->to[i] = edges[i].node, node->output[i] = (int)edges[i].output;
            edges[i].node = NULL;
        }
        node->count = (int)count;
        return 0;
    }
    if (!(node->edges = PyTuple_New(count))) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *edge = edges[i].node ? Py_BuildValue("(Ol)", edges[i].node, edges[i].output) : Py_NewRef(Py_None);
        if (!edge) return -1;
        PyTuple_SET_ITEM(node->edges, i, edge);
    }
    return 0;
}

/* The class of nodes that save complex numbers, for that of others; borrowed. */
static PyObject *conjugating(PyObject *kind)
{
    PyObject *found = PyDict_GetItemWithError(at.conjugating, kind);
    if (found || PyErr_Occurred()) return found;
    if (!(found = PyObject_CallMethod(kind, "conjugating", NULL))) return NULL;
    const int failed = PyDict_SetItem(at.conjugating, kind, found);
    Py_DECREF(found);
    return failed ? NULL : found;
}

/* Leave a node on the tape where some input asks for a gradient; -1 on error. */
int record(const Operation *self, const struct call *c)
{
    const Py_ssize_t results = PyTuple_GET_SIZE(c->results), all = self->outputs ? self->live : results, total = count_edges(self, c);
    PyObject *live[MAX_PARAMS], **outputs = live, *node = NULL, *memory = NULL, *number = NULL;
    Edge few[MAX_PARAMS], *edges = total > MAX_PARAMS ? PyMem_Calloc(total, sizeof *edges) : few;
    Py_ssize_t count = 0;
    unsigned int needed;
    int failed = -1;
    if (!edges || edges_of(self, c, edges, &needed) < 0) {
        if (edges != few) PyMem_Free(edges);
        return -1;
    }
    if (!needed) {
        if (edges != few) PyMem_Free(edges);
        return 0;
    }
    if (all > MAX_PARAMS && !(outputs = PyMem_Malloc(all * sizeof *outputs))) goto done;
    for (Py_ssize_t i = 0; i < all; i++) {
        PyObject *t = PyTuple_GET_ITEM(c->results, self->outputs ? self->live_at[i] : i);
        const int type = PyArray_TYPE(memory_behind(SLOT(t, at.data)));
        if (!self->outputs || PyTypeNum_ISFLOAT(type) || PyTypeNum_ISCOMPLEX(type) || PyTypeNum_ISUSERDEF(type) /* bfloat16 */) outputs[count++] = t;
    }
    if (!count) {
        failed = 0;
        goto done;
    }
    PyObject *kind = self->node;
    if (self->others != Py_None)
        for (int i = 0; i < self->params; i++)
            if (!c->owned[i] && PyTuple_GET_ITEM(self->others, i) != Py_None) kind = PyTuple_GET_ITEM(self->others, i);
    if (c->conjugates && !(kind = conjugating(kind))) goto done;
    if (!PyType_IsSubtype((PyTypeObject *)kind, &NodeFieldsType)) {
        PyErr_SetString(PyExc_TypeError, "nodes are made by subclasses of Node");
        goto done;
    }
    if (!(node = new_instance(kind)) || !(memory = memory_of(self, c, needed))) goto done;
    if (!(number = Py_TYPE(at.sequence)->tp_iternext(at.sequence))) goto done;
    Node *fields = (Node *)node;
    fields->seq = number;
    fields->hooks = Py_NewRef(Py_None);
    fields->saved = memory, memory = NULL;
    if (count == 1) {
        PyObject *array = SLOT(outputs[0], at.data), *shape = shape_among(array, edges[0].node);
        if (!shape) goto done;
        fields->shape = shape;
        fields->dtype = Py_NewRef((PyObject *)PyArray_DESCR(memory_behind(array)));
    } else {
        PyObject *shapes = PyTuple_New(count), *types = PyTuple_New(count);
        for (Py_ssize_t i = 0; shapes && types && i < count; i++) {
            PyObject *array = SLOT(outputs[i], at.data);
            PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)array)));
            PyTuple_SET_ITEM(shapes, i, shape_of(array));
        }
        if (!shapes || !types) {
            Py_XDECREF(shapes);
            Py_XDECREF(types);
            goto done;
        }
        fields->shape = shapes;
        fields->dtype = types;
    }
    if (put_edges(fields, edges, total) < 0) goto done;
    if (at.made) {
        PyObject *answer = PyObject_CallOneArg(at.made, node);
        if (!answer) goto done;
        Py_DECREF(answer);
    }
    if (count > 1 || !self->outputs) {
        PyObject *n = PyLong_FromSsize_t(count);
        const int bad = !n || PyObject_GenericSetAttr(node, at.outputs, n) < 0;
        Py_XDECREF(n);
        if (bad) goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyTuple_New(2), *place = pair ? PyLong_FromSsize_t(i) : NULL;
        if (!place) {
            Py_XDECREF(pair);
            goto done;
        }
        PyTuple_SET_ITEM(pair, 0, Py_NewRef(node));
        PyTuple_SET_ITEM(pair, 1, place);
        put(outputs[i], at.edge, pair);
    }
    failed = 0;
done:
    if (outputs != live) PyMem_Free(outputs);
    drop_edges(edges, total);
    if (edges != few) PyMem_Free(edges);
    Py_XDECREF(node);
    Py_XDECREF(memory);
    return failed;
}
