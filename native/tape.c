/* The native call of an operator: the forward, the tensor around its result, and the node on the tape, in one step.
 *
 * An operation(recipe) is called with the operator's arguments in order and does what the general path of
 * wengert.tensor.call does for them, in the everyday case: plain dense tensors of one real type, recording or silent and
 * nothing else in force. To every other case, and to every error, it answers NotImplemented, having changed nothing: the
 * caller then takes the general path, which is the definition. */
#include "node.h"

#include "fast.h"

#include <structmember.h>

enum { MAX_PARAMS = 16, MAX_SAVED = 16 };
enum { TENSOR = 't', OPTIONAL = 'o', LIST = 'l', DTYPE = 'd', FLAG = 'b', OTHER = 'x' }; /* kinds of parameters */
enum { FROM_PARAM = 'p', FROM_OUTPUT = 'r', FROM_AUX = 'a', SHAPE_OF = 's' };           /* sources of what is saved */
enum { RULES_TAKE_FIRST = 1 << MAX_PARAMS }; /* in `numbers`: a Python number that comes first may stay as it is */
enum { HOLES = 'h' }; /* a list in which elements may be None; a LIST with a bit in `holes` */
enum { NO_PROMOTION = 'n', ELEMENTWISE = 'e', TO_FLOAT = 'f' };
enum { NO_VIEW = 'n', ALWAYS_VIEW = 'v', PERHAPS_VIEW = 'p', IN_ROWS = 'r', IN_ORDER = 'e' }; /* the last two: no view, and row by
 row in memory, or as its operands */

enum { IN_FLOAT32 = 1, KERNEL_TAKES = 2 }; /* bits of `halves`: the forward in float32; the kernel as they are */

enum { BY_COPY = 1, BY_KERNEL = 2 }; /* how an in-place form writes; the kernel takes the memory as its last argument */

typedef struct {
    unsigned char source, index;
    unsigned int users; /* bits over wrt: whose gradient needs it */
} Saved;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *op, *forward, *kernel, *keywords, *node, *result_type, *defaults;
    PyObject *others; /* None, or for each parameter the class of the node where it is no tensor */
    int params, floats, wrt, saved, consts, outputs, live, aux; /* outputs: 0 where the forward gives any number */
    char promote, view;
    int numbers; /* bit i: parameter i may be a Python number */
    int holes;   /* bit i: parameter i is a list in which elements may be None */
    int mixes;   /* the tensors that decide the type are those that are brought to it */
    int halves;  /* how numbers of 16 bits are computed: bits, or 0 for as all others */
    int writes;  /* 0, or the in-place form: the result goes into the first argument's memory */
    char kind[MAX_PARAMS];
    unsigned char float_at[MAX_PARAMS], wrt_at[MAX_PARAMS], live_at[MAX_PARAMS];
    Saved save[MAX_SAVED], constant[MAX_SAVED];
} Operation;

/* Classes registered from Python, and the offsets of the slots in their objects. */
static struct {
    PyObject *tensor, *plain, *dtype, *meta_class, *view_class, *unset, *modes, *record, *silent, *inference, *uncounted, *sequence, *leaf_row, *edge_of, *unversioned, *accumulate,
        *in_order_of, *flags, *ignored, *rebase, *cast;
    PyObject *false_, *zero, *one, *no_grad, *multi, *outputs, *np;
    PyObject *made; /* NULL, or called for every new node */
    PyArray_Descr *f32, *f64;
    Py_ssize_t data, edge, meta, vc;                              /* of a tensor */
    Py_ssize_t base, creation, last, version, window;             /* of a view */
    Py_ssize_t variable;                                          /* of an accumulator */
    Py_ssize_t grad, quick, grad_scope;                               /* of the modes */
    Py_ssize_t requires_grad, accumulator, meta_view, meta_hooks, grad_dtype, retained; /* of a tensor's meta */
    PyObject **meta_defaults;                                     /* pairs: offset as an int, value */
} at;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static inline void put(PyObject *object, Py_ssize_t offset, PyObject *owned)
{
    PyObject *old = SLOT(object, offset);
    SLOT(object, offset) = owned;
    Py_XDECREF(old);
}

/* object.__new__(type) */
static inline PyObject *new_instance(PyObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
    /* Without a table of attribute values, which few tensors and nodes need: Python makes a dictionary at the first use. */
    return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
#else
    static PyObject *empty = NULL;
    if (!empty && !(empty = PyTuple_New(0))) return NULL;
    return PyBaseObject_Type.tp_new((PyTypeObject *)type, empty, NULL);
#endif
}

static inline int is_plain(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    return type == at.tensor || (PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)at.tensor) && PySet_Contains(at.plain, type) == 1);
}

/* A plain tensor with an array. */
static inline int has_array(PyObject *object)
{
    return is_plain(object) && SLOT(object, at.data) && PyArray_CheckExact(SLOT(object, at.data)) && SLOT(object, at.vc) && SLOT(object, at.meta) &&
           SLOT(object, at.edge);
}

/* One with an ordinary version counter. */
static inline int is_usable(PyObject *object)
{
    return has_array(object) && PyList_CheckExact(SLOT(object, at.vc)) && PyList_GET_SIZE(SLOT(object, at.vc)) >= 1;
}

/* One that may be read in inference mode, or outside of it. */
static inline int is_readable(PyObject *object, int inference)
{
    return is_usable(object) || (inference && has_array(object) && SLOT(object, at.vc) == at.uncounted);
}

/* An argument that is no tensor, and hides none. */
static int is_constant(PyObject *value)
{
    if (value == at.unset || (PyObject *)Py_TYPE(value) == at.dtype || PyObject_TypeCheck(value, (PyTypeObject *)at.tensor)) return 0;
    if (PyTuple_Check(value) || PyList_Check(value))
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
            if ((PyObject *)Py_TYPE(PySequence_Fast_GET_ITEM(value, i)) == at.dtype ||
                PyObject_TypeCheck(PySequence_Fast_GET_ITEM(value, i), (PyTypeObject *)at.tensor))
                return 0;
    return 1;
}

/* ---- edges ---- */

static inline int same_number(PyObject *a, PyObject *b)
{
    if (a == b) return 1;
    return a && PyLong_CheckExact(a) && PyLong_CheckExact(b) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

static PyObject *shape_of(PyObject *array);

/* Where a gradient goes: NULL for nowhere. */
typedef struct {
    PyObject *node; /* owned */
    long output;
} Edge;

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
    ((Node *)node)->dtype = Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)array));
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
static int edge_of(PyObject *t, Edge *to)
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

/* ---- results ---- */

/* A tensor around an array; takes the reference. `grad_scope`: NULL, or the scope of the derivative in whose function it is made: its version counter refers to it.
 * `inference`: it is an inference tensor. */
static PyObject *tensor_of(PyObject *array, PyObject *grad_scope, int inference)
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

/* A forward's answer as an array; takes the reference. */
static PyObject *array_of(PyObject *value)
{
    if (PyArray_CheckExact(value)) return value;
    PyObject *array = PyArray_FromAny(value, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
    Py_DECREF(value);
    return array;
}

static int looks_at(PyObject *array, PyObject *source)
{
    PyObject *base = PyArray_BASE((PyArrayObject *)array);
    return base && (base == source || base == PyArray_BASE((PyArrayObject *)source));
}

/* wengert.tensor.results.attach_view; `which` is the number of the result where there are many, else -1. */
static int attach_view(const Operation *self, PyObject *t, PyObject *source, PyObject *const *args, int silent, int which)
{
    PyObject *meta = SLOT(source, at.meta), *parent = meta == Py_None ? Py_None : SLOT(meta, at.meta_view);
    const int lead = which >= 0, given = self->params - 1 + lead;
    PyObject *rest = PyTuple_New(given), *step = rest ? PyTuple_New(3) : NULL;
    PyObject *view = step ? new_instance(at.view_class) : NULL, *own = view ? new_instance(at.meta_class) : NULL;
    if (!own) {
        Py_XDECREF(rest);
        Py_XDECREF(step);
        Py_XDECREF(view);
        return -1;
    }
    if (lead) PyTuple_SET_ITEM(rest, 0, PyLong_FromLong(which));
    for (int i = 1; i < self->params; i++) PyTuple_SET_ITEM(rest, i - 1 + lead, Py_NewRef(args[i]));
    PyTuple_SET_ITEM(step, 0, Py_NewRef(self->op));
    PyTuple_SET_ITEM(step, 1, rest);
    PyTuple_SET_ITEM(step, 2, Py_NewRef(parent == Py_None ? Py_None : SLOT(parent, at.last)));

    PyObject *base = parent == Py_None ? source : SLOT(parent, at.base);
    PyObject *creation = lead ? at.multi : parent == Py_None ? Py_None : SLOT(parent, at.creation);
    if (silent && (creation == Py_None || creation == at.multi || PyUnicode_Compare(creation, at.multi) == 0)) creation = at.no_grad;
    PyObject *counter = SLOT(source, at.vc);
    put(view, at.base, Py_NewRef(base));
    put(view, at.last, step);
    put(view, at.version, Py_NewRef(PyList_GET_ITEM(counter, 0)));
    put(view, at.creation, Py_NewRef(creation));
    put(view, at.window, Py_NewRef(SLOT(base, at.data)));
    for (PyObject **pair = at.meta_defaults; *pair; pair += 2) put(own, PyLong_AsSsize_t(pair[0]), Py_NewRef(pair[1]));
    put(own, at.meta_view, view);
    put(t, at.meta, own);
    put(t, at.vc, Py_NewRef(counter));
    return 0;
}

/* ---- the node ---- */

struct call {
    PyObject *const *args;
    PyObject *raw[MAX_PARAMS]; /* what the forward is given; owned where the argument is a tensor, or a list of them */
    char owned[MAX_PARAMS];
    PyObject *types[MAX_PARAMS]; /* NumPy's dtype where ours was given; owned */
    PyObject *boxed;         /* the array of a number among them, or NULL */
    PyObject *results, *aux; /* a tuple of tensors; the forward's answer */
    int lists, kept; /* kept: raw[0] is a copy of what is about to be overwritten */
    int inference;
};

static PyObject *shape_of(PyObject *array)
{
    PyArrayObject *a = (PyArrayObject *)array;
    PyObject *shape = PyTuple_New(PyArray_NDIM(a));
    for (int i = 0; shape && i < PyArray_NDIM(a); i++) PyTuple_SET_ITEM(shape, i, PyLong_FromSsize_t(PyArray_DIM(a, i)));
    if (shape && PyArray_NDIM(a)) PyObject_GC_UnTrack(shape);
    return shape;
}

/* The shape of `array`: the tuple that the node of an input (or NULL) already has, if that is the same. */
static PyObject *shape_among(PyObject *array, PyObject *input)
{
    PyArrayObject *a = (PyArrayObject *)array;
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

static void drop_edges(Edge *edges, Py_ssize_t count)
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

/* Leave a node on the tape where some input asks for a gradient; -1 on error. */
static int record(const Operation *self, const struct call *c)
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
        const int type = PyArray_TYPE((PyArrayObject *)SLOT(t, at.data));
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
        fields->dtype = Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)array));
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

/* ---- the call ---- */

/* Whether a value may stand for a tensor: what an operator writes that neither promotes nor computes may be a bool, too. */
static inline int is_number(const Operation *self, PyObject *value)
{
    const int moves = self->writes && self->promote == NO_PROMOTION && self->kernel == Py_None;
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || (moves && PyBool_Check(value));
}

/* Take the arguments apart; 0 if the general path has to. `number`: where a Python number stands for a tensor, or -1. */
static int take(const Operation *self, struct call *c, int *number)
{
    *number = -1;
    for (int i = 0; i < self->params; i++) {
        PyObject *value = c->args[i];
        c->raw[i] = value;
        switch (self->kind[i]) {
        case OPTIONAL:
            if (value == Py_None) break;
            /* fall through */
        case TENSOR:
            if (is_readable(value, c->inference)) {
                c->raw[i] = Py_NewRef(SLOT(value, at.data));
                c->owned[i] = 1;
            } else if ((self->numbers >> i & 1) && *number < 0 && is_number(self, value)) *number = i;
            else return 0;
            break;
        case LIST: {
            if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return 0;
            const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
            const int holes = self->holes >> i & 1;
            for (Py_ssize_t k = 0; k < n; k++)
                if (!is_readable(PySequence_Fast_GET_ITEM(value, k), c->inference) && !(holes && PySequence_Fast_GET_ITEM(value, k) == Py_None)) return 0;
            PyObject *row = PyList_New(n);
            if (!row) return 0;
            for (Py_ssize_t k = 0; k < n; k++) {
                PyObject *t = PySequence_Fast_GET_ITEM(value, k);
                PyList_SET_ITEM(row, k, Py_NewRef(t == Py_None ? t : SLOT(t, at.data)));
            }
            c->raw[i] = row;
            c->owned[i] = 1;
            c->lists = 1;
            break;
        }
        case DTYPE:
            if (value == Py_None) break;
            if ((PyObject *)Py_TYPE(value) != at.dtype || !(c->types[i] = PyObject_GetAttr(value, at.np))) return 0;
            c->raw[i] = c->types[i];
            break;
        case FLAG:
            if (!PyBool_Check(value)) return 0;
            break;
        default:
            if (!is_constant(value)) return 0;
        }
    }
    return 1;
}

/* The one element type that decides; NULL if there is none, or several. */
static PyArray_Descr *common_type(const Operation *self, const struct call *c)
{
    PyArray_Descr *d = NULL;
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p]) continue; /* None, or a number */
        const int list = PyList_CheckExact(c->raw[p]);
        const Py_ssize_t n = list ? PyList_GET_SIZE(c->raw[p]) : 1;
        for (Py_ssize_t k = 0; k < n; k++) {
            PyObject *a = list ? PyList_GET_ITEM(c->raw[p], k) : c->raw[p];
            if (a == Py_None) continue;
            PyArray_Descr *own = PyArray_DESCR((PyArrayObject *)a);
            if (d && own != d) return NULL;
            d = own;
        }
    }
    return d;
}

/* The floating type to which different types are brought, as they then are; NULL where it is not as simple as that. */
static PyArray_Descr *brought_together(const Operation *self, struct call *c)
{
    int wide[2] = {0, 0}, some[2] = {0, 0}; /* floating-point arrays without dimensions, with some */
    int integers = 0;
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p]) continue;
        if (PyList_CheckExact(c->raw[p])) return NULL;
        PyArrayObject *a = (PyArrayObject *)c->raw[p];
        PyArray_Descr *own = PyArray_DESCR(a);
        if (own == at.f32 || own == at.f64) {
            some[PyArray_NDIM(a) > 0] = 1;
            wide[PyArray_NDIM(a) > 0] |= own == at.f64;
        } else if (own->type_num <= NPY_ULONGLONG && PyArray_ISNBO(own->byteorder)) integers = 1;
        else return NULL;
    }
    if (!some[1] && (integers || !some[0])) return NULL;
    PyArray_Descr *d = wide[some[1]] ? at.f64 : at.f32;
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p] || PyArray_DESCR((PyArrayObject *)c->raw[p]) == d) continue;
        Py_INCREF(d);
        PyObject *array = PyArray_NewLikeArray((PyArrayObject *)c->raw[p], NPY_KEEPORDER, d, 0);
        if (!array) return NULL;
        const int failed = PyArray_CopyInto((PyArrayObject *)array, (PyArrayObject *)c->raw[p]);
        Py_SETREF(c->raw[p], array);
        if (failed) return NULL;
    }
    return d;
}

/* Whether every argument that is no tensor has its default, so that the kernel may do the forward's work. */
static int all_defaults(const Operation *self, PyObject *const *args)
{
    for (int i = 0; i < self->params; i++)
        if ((self->kind[i] == OTHER || self->kind[i] == FLAG || self->kind[i] == DTYPE) && args[i] != PyTuple_GET_ITEM(self->defaults, i)) return 0;
    return 1;
}

/* Whether the steps of an array get smaller from axis to axis, as those of arrays in C order and of parts of them do. */
static int descends(PyArrayObject *a)
{
    npy_intp before = NPY_MAX_INTP;
    if (PyArray_IS_C_CONTIGUOUS(a)) return 1;
    for (int axis = 0; axis < PyArray_NDIM(a); axis++) {
        const npy_intp step = PyArray_STRIDE(a, axis);
        if (!step) continue;
        if (step < 0 || step >= before) return 0;
        before = step;
    }
    return 1;
}

/* Whether a result obviously lies in memory as its operands do: all row by row, or all with the same steps. */
static int in_order(const Operation *self, const struct call *c, PyArrayObject *y)
{
    const int n = PyArray_NDIM(y), rows = PyArray_IS_C_CONTIGUOUS(y);
    int alike = 1, whole = rows;
    for (int i = 0; i < self->params && (alike || whole); i++) {
        if ((self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) || !c->owned[i]) continue;
        PyArrayObject *a = (PyArrayObject *)SLOT(c->args[i], at.data); /* as it was given, not converted */
        whole = whole && descends(a);
        alike = alike && PyArray_NDIM(a) == n && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(y), n) &&
                PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(y), n);
    }
    return whole || alike;
}

/* wengert.arrays.layouts.in_order_of; takes over `y`. */
static PyObject *ordered(const Operation *self, const struct call *c, PyObject *y)
{
    PyObject *operands = PyList_New(0), *found = NULL;
    for (int i = 0; operands && i < self->params; i++)
        if ((self->kind[i] == TENSOR || self->kind[i] == OPTIONAL) && c->owned[i] &&
            PyList_Append(operands, SLOT(c->args[i], at.data)) < 0)
            Py_CLEAR(operands);
    if (operands) found = PyObject_CallFunctionObjArgs(at.in_order_of, y, operands, NULL);
    Py_XDECREF(operands);
    Py_DECREF(y);
    return found;
}

/* Python code of the package, without NumPy's warnings of infinities and NaN (see wengert.arrays.flags). */
static PyObject *quietly(PyObject *callable, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *before = context_set(at.flags, at.ignored);
    if (!before) return NULL;
    PyObject *answer = PyObject_Vectorcall(callable, args, n, names), *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (context_reset(at.flags, before) < 0) Py_CLEAR(answer);
    else PyErr_Restore(type, error, traceback);
    Py_DECREF(before);
    return answer;
}

static PyObject *forward_of(const Operation *self, PyObject *const *raw)
{
    const Py_ssize_t named = self->keywords == Py_None ? 0 : PyTuple_GET_SIZE(self->keywords);
    return quietly(self->forward, raw, self->params - named, named ? self->keywords : NULL);
}

/* wengert.arrays.kernels.cast */
static PyObject *cast_to(PyObject *array, PyArray_Descr *d)
{
    PyObject *pair[] = {array, (PyObject *)d}, *found = cast_numbers(NULL, pair, 2);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return PyObject_Vectorcall(at.cast, pair, 2, NULL);
}

/* What the kernel or the forward gives for tensors of the type `d`, of 16 bits, as wengert.tensor.arguments.half has it; NULL where it
 * fails, or (without an error) where the general path has to be taken. */
static PyObject *of_halves(const Operation *self, struct call *c, PyArray_Descr *d, PyObject *into)
{
    PyObject *operands[MAX_PARAMS + 1], *wide[MAX_PARAMS], *answer = NULL;
    int n = 0, all = 1, mixed = 0, at_end = 0;
    if (!self->halves) return forward_of(self, c->raw);
    for (int i = 0; i < self->params; i++) {
        if (self->kind[i] == LIST) return NULL;
        if (self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) continue;
        operands[n++] = c->raw[i];
        const int alike = PyArray_CheckExact(c->raw[i]) && PyArray_DESCR((PyArrayObject *)c->raw[i]) == d;
        all &= alike;
        mixed |= !alike && PyArray_CheckExact(c->raw[i]) && PyArray_NDIM((PyArrayObject *)c->raw[i]);
    }
    if ((self->halves & KERNEL_TAKES) && all && all_defaults(self, c->args)) {
        if (into) operands[n++] = into;
        return quietly(self->kernel, operands, n, NULL);
    }
    if (!(self->halves & IN_FLOAT32) || mixed) return forward_of(self, c->raw);
    for (; at_end < self->params; at_end++) {
        PyObject *value = c->raw[at_end];
        const int narrow = (self->kind[at_end] == TENSOR || self->kind[at_end] == OPTIONAL) && PyArray_CheckExact(value) && PyArray_DESCR((PyArrayObject *)value) == d;
        if (!(wide[at_end] = narrow ? cast_to(value, at.f32) : Py_NewRef(value))) break;
    }
    if (at_end == self->params) answer = forward_of(self, wide);
    if (answer) Py_SETREF(answer, cast_to(answer, d));
    for (int i = 0; i < at_end; i++) Py_DECREF(wide[i]);
    return answer;
}

/* What the kernel or the forward gives; NULL where it fails or the general path has to be taken, which `general` says. `into`: where
 * the kernel writes its result, or NULL. */
static PyObject *computed(const Operation *self, struct call *c, PyObject *into, int *general)
{
    PyObject *answer = NULL;
    int number;
    *general = 1;
    if (!take(self, c, &number)) return NULL;
    PyArray_Descr *d = common_type(self, c);
    if (!d && self->mixes) d = brought_together(self, c);
    if (!d) return NULL;
    const int floating = d == at.f32 || d == at.f64;
    const int half = PyArray_ISNBO(d->byteorder) && (d->type_num == NPY_HALF || is_brain(d->type_num));
    if (half) {
        if (number >= 0 && self->promote != NO_PROMOTION && !(self->halves & IN_FLOAT32)) return NULL;
    } else if (!floating) {
        /* Integers of one type: no promotion, no gradient, and the forward itself. */
        if (d->type_num > NPY_ULONGLONG || !PyArray_ISNBO(d->byteorder) || self->promote == TO_FLOAT) return NULL;
        const int kept = self->writes && self->promote == NO_PROMOTION;
        if (number >= 0 && !kept && (!PyLong_CheckExact(c->args[number]) || d->type_num == NPY_BOOL)) return NULL;
    }
    const int by_kernel = floating && self->kernel != Py_None && all_defaults(self, c->args);
    /* Where arguments are promoted, a forward expects arrays, and so do most rules of a number that comes first. */
    if (number >= 0 && self->promote != NO_PROMOTION && (!by_kernel || (number == 0 && !(self->numbers & RULES_TAKE_FIRST)))) {
        if (!(c->boxed = PyArray_SimpleNew(0, NULL, half ? NPY_FLOAT : d->type_num))) return NULL;
        if (PyArray_SETITEM((PyArrayObject *)c->boxed, PyArray_BYTES((PyArrayObject *)c->boxed), c->args[number]) < 0) return NULL;
        c->raw[number] = c->boxed;
    }
    if (by_kernel) {
        PyObject *operands[MAX_PARAMS + 1];
        int n = 0;
        for (int i = 0; i < self->params; i++)
            if (self->kind[i] == TENSOR || self->kind[i] == OPTIONAL) operands[n++] = c->raw[i];
        if (into) operands[n++] = into;
        answer = PyFunction_Check(self->kernel) ? quietly(self->kernel, operands, n, NULL) : PyObject_Vectorcall(self->kernel, operands, n, NULL);
        if (answer == Py_NotImplemented) Py_CLEAR(answer);
    }
    if (half) answer = of_halves(self, c, d, into);
    else if (!answer && !PyErr_Occurred()) answer = forward_of(self, c->raw);
    if (!answer && PyErr_Occurred())
        *general = PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError) ||
                   PyErr_ExceptionMatches(PyExc_IndexError) || PyErr_ExceptionMatches(PyExc_OverflowError) ||
                   PyErr_ExceptionMatches(PyExc_RuntimeError) || /* over a value, where another is of the wrong kind */
                   PyErr_ExceptionMatches(PyExc_AttributeError); /* a forward that wants arrays was given a number */
    return answer;
}

/* Whether no two elements share memory, as far as is obvious. */
static int is_apart(PyArrayObject *a)
{
    if (PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a)) return 1;
    npy_intp least = PyArray_ITEMSIZE(a); /* below which a step would lead into what has been seen */
    unsigned long long left = 0;
    const int ndim = PyArray_NDIM(a);
    for (int i = 0; i < ndim; i++)
        if (PyArray_DIM(a, i) > 1) left |= 1ull << i;
    while (left) {
        int next = -1;
        for (int i = 0; i < ndim; i++)
            if ((left >> i & 1) && (next < 0 || llabs(PyArray_STRIDE(a, i)) < llabs(PyArray_STRIDE(a, next)))) next = i;
        const npy_intp step = llabs(PyArray_STRIDE(a, next));
        if (step < least) return 0;
        least = step * (PyArray_DIM(a, next) - 1) + least;
        left &= ~(1ull << next);
    }
    return 1;
}

/* wengert.tensor.autograd_meta.requires_grad */
static int requires_grad(PyObject *t)
{
    for (;;) {
        PyObject *meta = SLOT(t, at.meta);
        if (SLOT(t, at.edge) != Py_None) return 1;
        if (meta == Py_None) return 0;
        if (SLOT(meta, at.requires_grad) != Py_False) return 1;
        if (SLOT(meta, at.meta_view) == Py_None) return 0;
        t = SLOT(SLOT(meta, at.meta_view), at.base);
    }
}

/* Whether a recorded write to this target is of the everyday kind: no leaf that requires a gradient, no hooks, and if it is a view,
 * one that may be written to, of such a tensor. */
static int is_writable_history(PyObject *target)
{
    PyObject *meta = SLOT(target, at.meta), *base = target;
    if (meta != Py_None) {
        PyObject *view = SLOT(meta, at.meta_view);
        if (SLOT(meta, at.requires_grad) != Py_False || SLOT(meta, at.retained) != Py_False || SLOT(meta, at.meta_hooks) != Py_None ||
            view == Py_None || SLOT(view, at.creation) != Py_None)
            return 0;
        base = SLOT(view, at.base);
        if (SLOT(base, at.edge) == Py_None && SLOT(target, at.edge) != Py_None) return 0; /* below a view that is a leaf */
        if (!is_usable(base) || SLOT(base, at.meta) != Py_None || PyArray_DESCR((PyArrayObject *)SLOT(base, at.data)) != PyArray_DESCR((PyArrayObject *)SLOT(target, at.data)))
            return 0;
    }
    PyArray_Descr *d = PyArray_DESCR((PyArrayObject *)SLOT(target, at.data));
    return d == at.f32 || d == at.f64;
}

/* Whether a write may go to the memory at once: the target shares memory with no other argument, and nothing is recorded, or in the
 * everyday way, which `recorded` says. */
static int writes_at_once(const Operation *self, const struct call *c, int recording, int *recorded)
{
    PyObject *target = c->args[0];
    *recorded = 0;
    if (!is_usable(target) || !PyArray_ISWRITEABLE((PyArrayObject *)SLOT(target, at.data)) || !is_apart((PyArrayObject *)SLOT(target, at.data)))
        return 0;
    for (int i = 0; i < self->params; i++) {
        if (self->kind[i] == LIST) {
            if (!PyList_CheckExact(c->args[i]) && !PyTuple_CheckExact(c->args[i])) return 0;
        } else if ((self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) || !is_usable(c->args[i])) continue;
        const int list = self->kind[i] == LIST;
        const Py_ssize_t n = list ? PySequence_Fast_GET_SIZE(c->args[i]) : 1;
        for (Py_ssize_t k = 0; k < n; k++) {
            PyObject *t = list ? PySequence_Fast_GET_ITEM(c->args[i], k) : c->args[i];
            if (list && t == Py_None) continue;
            if (!is_usable(t) || (i && SLOT(t, at.vc) == SLOT(target, at.vc))) return 0;
            *recorded |= recording && requires_grad(t);
        }
    }
    return !*recorded || (self->wrt && self->outputs == 1 && !self->aux && is_writable_history(target));
}

/* Whether the gradient of another argument needs what the first one held. */
static int needs_first(const Operation *self, const struct call *c)
{
    for (int i = 0; i < self->saved; i++) {
        if (self->save[i].source != FROM_PARAM || self->save[i].index != 0) continue;
        for (int k = 0; k < self->wrt; k++) {
            PyObject *t = c->args[self->wrt_at[k]];
            if (!(self->save[i].users >> k & 1)) continue;
            if (self->kind[self->wrt_at[k]] == LIST || (PyObject_TypeCheck(t, (PyTypeObject *)at.tensor) && requires_grad(t))) return 1;
        }
    }
    return 0;
}

/* Keep what the first argument holds, if the gradient of another will need it; -1 on error. */
static int keep_first(const Operation *self, struct call *c)
{
    for (int i = 0; i < self->saved; i++) {
        if (self->save[i].source != FROM_PARAM || self->save[i].index != 0) continue;
        for (int k = 0; k < self->wrt && !c->kept; k++) {
            const int p = self->wrt_at[k];
            if (!(self->save[i].users >> k & 1) || !c->owned[p] || !(PyList_CheckExact(c->raw[p]) || requires_grad(c->args[p]))) continue;
            PyObject *copy = PyArray_NewCopy((PyArrayObject *)c->raw[0], NPY_KEEPORDER);
            if (!copy) return -1;
            Py_SETREF(c->raw[0], copy);
            c->kept = 1;
        }
    }
    return 0;
}

/* Leave the node of a write that has been done; -1 on error. */
static int record_write(const Operation *self, struct call *c)
{
    PyObject *target = c->args[0], *before = Py_NewRef(SLOT(target, at.edge));
    int failed = -1;
    if ((c->results = PyTuple_Pack(1, target))) failed = record(self, c);
    PyObject *edge = SLOT(target, at.edge);
    if (!failed && SLOT(target, at.meta) != Py_None && edge != before && edge != Py_None) {
        PyObject *done = PyObject_CallFunctionObjArgs(at.rebase, target, PyTuple_GET_ITEM(edge, 0), NULL);
        failed = done ? 0 : -1;
        Py_XDECREF(done);
    }
    Py_DECREF(before);
    return failed;
}

/* The in-place form: the target, into whose memory the result has gone; NULL where it fails or the general path has to be taken. */
static PyObject *written(const Operation *self, struct call *c, int recording, int *general)
{
    *general = 1;
    int recorded;
    if (!writes_at_once(self, c, recording, &recorded)) return NULL;
    if (recorded) { /* a stale view is recorded anew, or refused */
        Edge edge;
        if (edge_of(c->args[0], &edge) < 0) return NULL;
        drop_edges(&edge, 1);
    }
    PyArrayObject *target = (PyArrayObject *)SLOT(c->args[0], at.data);
    PyObject *answer = computed(self, c, self->writes == BY_KERNEL && !(recorded && needs_first(self, c)) ? (PyObject *)target : NULL, general);
    if (answer && self->aux) Py_SETREF(answer, PySequence_GetItem(answer, 0));
    PyArrayObject *y = answer ? (PyArrayObject *)array_of(answer) : NULL;
    if (!y) return NULL;
    *general = 1;
    const int fits = PyArray_DESCR(y) == PyArray_DESCR(target) && PyArray_NDIM(y) == PyArray_NDIM(target) &&
                     PyArray_CompareLists(PyArray_DIMS(y), PyArray_DIMS(target), PyArray_NDIM(y));
    const int done = fits && (!recorded || keep_first(self, c) == 0) && (y == target || PyArray_CopyInto(target, y) == 0);
    Py_DECREF(y);
    if (!done) return NULL;
    *general = 0;
    PyObject *counter = SLOT(c->args[0], at.vc), *version = PyNumber_Add(PyList_GET_ITEM(counter, 0), at.one);
    if (!version || PyList_SetItem(counter, 0, version) < 0) return NULL;
    if (recorded && record_write(self, c) < 0) return NULL;
    return Py_NewRef(c->args[0]);
}

static PyObject *operation_call(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names)
{
    Operation *self = (Operation *)callable;
    if (PyVectorcall_NARGS(flags) != self->params || (names && PyTuple_GET_SIZE(names)) || !PyType_Check(self->node)) NOT_HANDLED();
    PyObject *modes = NULL;
    if (PyContextVar_Get(at.modes, NULL, &modes) < 0) return NULL;
    const int inference = modes == at.inference && !self->writes && self->view != ALWAYS_VIEW;
    int recording = modes == at.record, silent = modes == at.silent || inference;
    PyObject *grad_scope = NULL;
    if (!recording && !silent && SLOT(modes, at.quick) == Py_True) {
        recording = SLOT(modes, at.grad) == Py_True;
        silent = !recording;
        grad_scope = Py_NewRef(SLOT(modes, at.grad_scope));
    }
    Py_XDECREF(modes);
    if ((!recording && !silent) || (self->writes && grad_scope)) {
        Py_XDECREF(grad_scope);
        NOT_HANDLED();
    }

    struct call c = {.args = args, .inference = inference};
    PyObject *answer = NULL, *result = NULL, *row = NULL;
    int general = 1;
    if (self->writes) {
        result = written(self, &c, recording, &general);
        goto done;
    }
    if (!(answer = computed(self, &c, NULL, &general))) goto done;
    general = 0;
    const int several = self->aux || self->outputs != 1;
    if (several && !PyTuple_CheckExact(answer)) {
        row = PySequence_Tuple(answer);
        if (!row) goto done;
        Py_SETREF(answer, row);
        row = NULL;
    }
    const Py_ssize_t count = self->outputs ? self->outputs : PyTuple_GET_SIZE(answer);
    if (!(c.results = PyTuple_New(count))) goto done;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *array = array_of(Py_NewRef(several ? PyTuple_GET_ITEM(answer, i) : answer));
        if (array && self->view == IN_ROWS && !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array))
            Py_SETREF(array, PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER));
        else if (array && self->view == IN_ORDER && !in_order(self, &c, (PyArrayObject *)array))
            array = ordered(self, &c, array);
        const int shares = array && (self->view == PERHAPS_VIEW || (inference && c.owned[0] && PyArray_CheckExact(c.raw[0]))) && looks_at(array, c.raw[0]);
        PyObject *t = array ? tensor_of(array, grad_scope, inference) : NULL;
        if (!t) goto done;
        PyTuple_SET_ITEM(c.results, i, t);
        if (shares && inference) { /* what looks at a normal tensor is one */
            general = 1;
            goto done;
        }
        if ((self->view == ALWAYS_VIEW || shares) &&
            attach_view(self, t, args[0], args, silent, self->outputs ? -1 : (int)i) < 0)
            goto done;
    }
    c.aux = answer;
    if (recording && self->wrt && record(self, &c) < 0) goto done;
    if (self->outputs == 1) result = Py_NewRef(PyTuple_GET_ITEM(c.results, 0));
    else if (!self->outputs) result = Py_NewRef(c.results);
    else if ((row = PyTuple_Pack(1, c.results))) result = PyTuple_Type.tp_new((PyTypeObject *)self->result_type, row, NULL);
done:
    Py_XDECREF(grad_scope);
    for (int i = 0; i < self->params; i++) {
        if (c.owned[i]) Py_DECREF(c.raw[i]);
        Py_XDECREF(c.types[i]);
    }
    Py_XDECREF(c.boxed);
    Py_XDECREF(answer);
    Py_XDECREF(row);
    Py_XDECREF(c.results);
    if (result) return result;
    if (!general) return NULL;
    PyErr_Clear();
    NOT_HANDLED();
}

/* ---- making one ---- */

static int take_bytes(PyObject *bytes, unsigned char *to, int most)
{
    if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) > most) return -1;
    memcpy(to, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
    return (int)PyBytes_GET_SIZE(bytes);
}

static int take_saved(PyObject *rows, Saved *to)
{
    if (!PyTuple_Check(rows) || PyTuple_GET_SIZE(rows) > MAX_SAVED) return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        char source;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "cbI", &source, &to[i].index, &to[i].users)) return -1;
        to[i].source = (unsigned char)source;
    }
    return (int)PyTuple_GET_SIZE(rows);
}

/* operation(op, forward, kernel, keywords, node, result_type, defaults, kinds, floats, wrt, live, saved, consts, outputs, aux, promote,
 * view, numbers, others, writes, mixes, halves): see wengert.tensor.native_call, which makes it from the declaration */
static PyObject *operation_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *kinds, *floats, *wrt, *live, *saved, *consts, *op, *forward, *kernel, *names, *node, *result_type, *defaults, *others;
    int outputs, aux, numbers, writes, mixes, halves;
    char promote, view;
    if (keywords && PyDict_GET_SIZE(keywords)) return PyErr_Format(PyExc_TypeError, "operation() takes no keywords");
    if (!PyArg_ParseTuple(args, "OOOOOOO!OOOOOOiicciOipi", &op, &forward, &kernel, &names, &node, &result_type, &PyTuple_Type, &defaults, &kinds,
                          &floats, &wrt, &live, &saved, &consts, &outputs, &aux, &promote, &view, &numbers, &others, &writes, &mixes, &halves))
        return NULL;
    Operation *self = (Operation *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = operation_call;
    self->params = take_bytes(kinds, (unsigned char *)self->kind, MAX_PARAMS);
    self->floats = take_bytes(floats, self->float_at, MAX_PARAMS);
    self->wrt = take_bytes(wrt, self->wrt_at, MAX_PARAMS);
    self->live = take_bytes(live, self->live_at, MAX_PARAMS);
    self->saved = take_saved(saved, self->save);
    self->consts = take_saved(consts, self->constant);
    self->op = Py_NewRef(op);
    self->forward = Py_NewRef(forward);
    self->kernel = Py_NewRef(kernel);
    self->keywords = Py_NewRef(names);
    self->node = Py_NewRef(node);
    self->result_type = Py_NewRef(result_type);
    self->defaults = Py_NewRef(defaults);
    self->others = Py_NewRef(others);
    self->outputs = outputs, self->aux = aux;
    self->promote = promote, self->view = view, self->numbers = numbers, self->writes = writes, self->mixes = mixes, self->halves = halves;
    for (int i = 0; i < self->params; i++)
        if (self->kind[i] == HOLES) self->kind[i] = LIST, self->holes |= 1 << i;
    if (others != Py_None && (!PyTuple_Check(others) || PyTuple_GET_SIZE(others) != self->params)) self->params = -1;
    if (self->params < 0 || self->floats < 0 || self->wrt < 0 || self->live < 0 || self->saved < 0 || self->consts < 0) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "operation(): too many parameters");
    }
    return (PyObject *)self;
}

static void operation_dealloc(PyObject *object)
{
    Operation *self = (Operation *)object;
    PyObject *fields[] = {self->op, self->forward, self->kernel, self->keywords, self->node, self->result_type, self->defaults, self->others};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) Py_XDECREF(fields[i]);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef operation_members[] = {
    {"node", T_OBJECT, offsetof(Operation, node), 0, "the class of the nodes; anything else switches the short cut off"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject OperationType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "wengert.arrays._kernels.operation",
    .tp_basicsize = sizeof(Operation),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "The short cut of an operator call; NotImplemented where the general path is needed.",
    .tp_new = operation_new,
    .tp_dealloc = operation_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Operation, vectorcall),
    .tp_members = operation_members,
};

/* Where the slot `name` lies in objects of `type`; -1 with an error if it is none. */
static Py_ssize_t slot(PyObject *type, const char *name)
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
 * AccumulateGrad, in_order_of, flags.STATE, flags.IGNORED, rebase, kernels.cast): what operations make */
static PyObject *tape(PyObject *module, PyObject *args)
{
    PyObject *defaults;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOO!OOOOOOOOOOOOOOOOO", &at.tensor, &at.plain, &at.dtype, &at.meta_class, &PyDict_Type, &defaults,
                          &at.view_class, &at.unset, &at.modes, &at.record, &at.silent, &at.inference, &at.uncounted, &at.sequence, &at.leaf_row, &at.edge_of, &at.unversioned, &at.accumulate,
                          &at.in_order_of, &at.flags, &at.ignored, &at.rebase, &at.cast))
        return NULL;
    PyObject *kept[] = {at.tensor, at.plain, at.dtype, at.meta_class, at.view_class, at.unset, at.modes, at.record, at.silent, at.inference, at.uncounted,
                        at.sequence, at.leaf_row, at.edge_of, at.unversioned, at.accumulate, at.in_order_of, at.flags, at.ignored, at.rebase, at.cast};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) Py_INCREF(kept[i]); /* for as long as the process */
    const struct { PyObject *type; const char *name; Py_ssize_t *to; } slots[] = {
        {at.tensor, "_wg_data", &at.data}, {at.tensor, "_wg_edge", &at.edge}, {at.tensor, "_wg_meta", &at.meta}, {at.tensor, "_wg_vc", &at.vc},
        {at.view_class, "base", &at.base},
        {at.view_class, "creation", &at.creation}, {at.view_class, "last", &at.last}, {at.view_class, "version", &at.version},
        {at.view_class, "window", &at.window}, {at.meta_class, "requires_grad", &at.requires_grad},
        {at.meta_class, "accumulator", &at.accumulator}, {at.meta_class, "hooks", &at.meta_hooks},
        {at.meta_class, "grad_dtype", &at.grad_dtype}, {at.accumulate, "variable", &at.variable}, {(PyObject *)Py_TYPE(at.record), "grad", &at.grad},
        {(PyObject *)Py_TYPE(at.record), "quick", &at.quick}, {(PyObject *)Py_TYPE(at.record), "grad_scope", &at.grad_scope}, {at.meta_class, "view", &at.meta_view},
        {at.meta_class, "retained", &at.retained},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if ((*slots[i].to = slot(slots[i].type, slots[i].name)) < 0) return NULL;
    at.meta_defaults = PyMem_Calloc(2 * PyDict_GET_SIZE(defaults) + 1, sizeof *at.meta_defaults);
    if (!at.meta_defaults) return PyErr_NoMemory();
    PyObject *key, *value, **pair = at.meta_defaults;
    Py_ssize_t position = 0;
    while (PyDict_Next(defaults, &position, &key, &value)) {
        const Py_ssize_t offset = slot(at.meta_class, PyUnicode_AsUTF8(key));
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
    at.no_grad = PyUnicode_InternFromString("no_grad");
    at.multi = PyUnicode_InternFromString("multi");
    at.np = PyUnicode_InternFromString("np");
    at.outputs = PyUnicode_InternFromString("outputs");
    at.f32 = PyArray_DescrFromType(NPY_FLOAT);
    at.f64 = PyArray_DescrFromType(NPY_DOUBLE);
    if (PyType_Ready(&OperationType) < 0 || PyModule_AddFunctions(module, tape_methods) < 0) return -1;
    return PyModule_AddObjectRef(module, "operation", (PyObject *)&OperationType);
}
