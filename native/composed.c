/* Composites whose everyday form is the call of one operator. What their definitions in wengert.ops.shape and
 * wengert.functions.conversion work out of a shape is worked out here where the operator gives a view; what a declaration's `plan` makes
 * of a shape is remembered: one operator, or several in a row. The operators' native calls do the rest. */
#include "operation.h"

#include "fast.h"

#include <structmember.h>

enum { MOST_PARAMS = 8, MOST_PLANS = 1024, MOST_VALUES = 64, ITSELF = -1, NOT_EVERYDAY = -2 };

/* The arguments of the operator after the tensor, as new references; how many, ITSELF where the answer is the tensor. */
typedef int (*rewrite)(PyArrayObject *a, PyObject *const *args, PyObject **row);

static int axis_of(PyObject *given, int ndim)
{
    if (!PyLong_CheckExact(given)) return -1;
    const Py_ssize_t dim = PyLong_AsSsize_t(given);
    if (dim < -ndim || dim >= ndim || (dim == -1 && PyErr_Occurred())) return -1;
    return (int)(dim < 0 ? dim + ndim : dim);
}

static PyObject *shape_tuple(const npy_intp *shape, int ndim)
{
    PyObject *row = PyTuple_New(ndim);
    for (int d = 0; row && d < ndim; d++) PyTuple_SET_ITEM(row, d, PyLong_FromSsize_t(shape[d]));
    return row;
}

static int one(PyObject **row, PyObject *given)
{
    return (row[0] = given) ? 1 : NOT_EVERYDAY;
}

static int flatten(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    const int ndim = PyArray_NDIM(a), first = axis_of(args[0], ndim), last = axis_of(args[1], ndim);
    npy_intp shape[NPY_MAXDIMS];
    if (first < 0 || last < first) return NOT_EVERYDAY;
    if (first == last) return ITSELF;
    for (int d = 0; d <= first; d++) shape[d] = PyArray_DIM(a, d);
    for (int d = first + 1; d <= last; d++) shape[first] *= PyArray_DIM(a, d);
    for (int d = last + 1; d < ndim; d++) shape[d - last + first] = PyArray_DIM(a, d);
    return one(row, shape_tuple(shape, ndim - last + first));
}

static int unflatten(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    const int ndim = PyArray_NDIM(a), dim = axis_of(args[0], ndim);
    if (dim < 0 || (!PyTuple_CheckExact(args[1]) && !PyList_CheckExact(args[1]))) return NOT_EVERYDAY;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(args[1]);
    npy_intp shape[NPY_MAXDIMS], known = 1;
    const npy_intp size = PyArray_DIM(a, dim);
    int open = -1;
    if (!n || ndim - 1 + n > NPY_MAXDIMS) return NOT_EVERYDAY;
    for (int d = 0; d < dim; d++) shape[d] = PyArray_DIM(a, d);
    for (int k = 0; k < n; k++) {
        PyObject *given = PySequence_Fast_GET_ITEM(args[1], k);
        if (!PyLong_CheckExact(given)) return NOT_EVERYDAY;
        const npy_intp length = shape[dim + k] = PyLong_AsSsize_t(given);
        if (length == -1 && open < 0) open = dim + k; /* an overflow is refused with the error that is set */
        else if (length < 1 || length > size) return NOT_EVERYDAY;
        else if ((known *= length) > size) return NOT_EVERYDAY;
    }
    if (PyErr_Occurred() || (open >= 0 ? size % known : size != known)) return NOT_EVERYDAY;
    if (open >= 0) shape[open] = size / known;
    for (int d = dim + 1; d < ndim; d++) shape[d - 1 + n] = PyArray_DIM(a, d);
    return one(row, shape_tuple(shape, (int)(ndim - 1 + n)));
}

static int movedim(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    const int ndim = PyArray_NDIM(a);
    npy_intp order[NPY_MAXDIMS];
    unsigned char taken[NPY_MAXDIMS] = {0}, filled[NPY_MAXDIMS] = {0};
    const int several = PyTuple_CheckExact(args[0]) && PyTuple_CheckExact(args[1]);
    const Py_ssize_t n = several ? PyTuple_GET_SIZE(args[0]) : 1;
    if (several && n != PyTuple_GET_SIZE(args[1])) return NOT_EVERYDAY;
    for (Py_ssize_t k = 0; k < n; k++) {
        const int from = axis_of(several ? PyTuple_GET_ITEM(args[0], k) : args[0], ndim), to = axis_of(several ? PyTuple_GET_ITEM(args[1], k) : args[1], ndim);
        if (from < 0 || to < 0 || taken[from] || filled[to]) return NOT_EVERYDAY;
        taken[from] = filled[to] = 1, order[to] = from;
    }
    for (int from = 0, to = 0; from < ndim; from++) {
        if (taken[from]) continue;
        while (filled[to]) to++;
        order[to++] = from;
    }
    return one(row, shape_tuple(order, ndim));
}

static int swapaxes(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    (void)a;
    row[0] = Py_NewRef(args[0]), row[1] = Py_NewRef(args[1]);
    return 2;
}

static int matrices(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    (void)args;
    if (PyArray_NDIM(a) < 2) return NOT_EVERYDAY;
    row[0] = PyLong_FromLong(-2), row[1] = PyLong_FromLong(-1); /* which Python has */
    return 2;
}

static int as_other(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    (void)a;
    if (!has_array(args[0])) return NOT_EVERYDAY;
    PyArrayObject *other = (PyArrayObject *)SLOT(args[0], at.data);
    return one(row, shape_tuple(PyArray_DIMS(other), PyArray_NDIM(other)));
}

static int expand_as(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    if (as_other(a, args, row) == NOT_EVERYDAY) return NOT_EVERYDAY;
    row[1] = Py_NewRef(Py_False); /* implicit */
    return 2;
}

/* +x is the tensor itself, but for truth values. */
static int positive(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    (void)args, (void)row;
    return PyArray_TYPE(a) == NPY_BOOL ? NOT_EVERYDAY : ITSELF;
}

/* Of real numbers the conjugate is the tensor itself. */
static int conjugate(PyArrayObject *a, PyObject *const *args, PyObject **row)
{
    (void)args, (void)row;
    const int type = PyArray_TYPE(a);
    return PyTypeNum_ISCOMPLEX(type) ? 0 : type <= NPY_DOUBLE ? ITSELF : NOT_EVERYDAY;
}

static const struct recipe {
    const char *name, *target;
    int params; /* after the tensor */
    rewrite rewrite;
} RECIPES[] = {
    {"flatten", "reshape", 2, flatten}, {"unflatten", "view", 2, unflatten}, {"movedim", "permute", 2, movedim}, {"swapaxes", "transpose", 2, swapaxes},
    {"mT", "transpose", 0, matrices}, {"conj", "conj", 0, conjugate}, {"positive", "positive", 0, positive}, {"view_as", "view", 1, as_other}, {"reshape_as", "reshape", 1, as_other}, {"expand_as", "expand", 1, expand_as},
};

enum { ROWS_ONLY = 2, OF_KIND = 3 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    const struct recipe *recipe; /* NULL where there is a plan */
    int count;                            /* of the parameters after the tensor */
    PyObject *params, *defaults, *target; /* of the composite, without the tensor; the operator's name, or None: the plan says it */
    PyObject *plan, *plans;               /* the arguments of the operator after the tensors, from shapes and ours; those that are known */
    int others;                           /* parameters that are tensors, or None, which the operator is given as they are */
    int steps;                            /* 0, or the plan gives operators in a row; ROWS_ONLY: of tensors that lie row by row; OF_KIND: it is given
 * the characters of their types, too */
    int exact;                            /* whether the operator's node is the composite's */
} Composed;

/* The arguments after the tensor in order, borrowed; -1 where they are not all there. */
static int arguments(const Composed *self, PyObject *const *args, Py_ssize_t given, PyObject *names, PyObject **row)
{
    const int most = self->count;
    if (given < 1 || given - 1 > most) return -1;
    for (int i = 0; i < most; i++) row[i] = i < given - 1 ? args[i + 1] : NULL;
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); k++) {
        int at = 0;
        while (at < most && PyTuple_GET_ITEM(names, k) != PyTuple_GET_ITEM(self->params, at)) at++; /* both are interned */
        if (at == most || row[at]) return -1;
        row[at] = args[given + k];
    }
    for (int i = 0; i < most; i++)
        if (!row[i] && !(row[i] = PyDict_GetItemWithError(self->defaults, PyTuple_GET_ITEM(self->params, i)))) return -1;
    return 0;
}

/* ---- plans ---- */

/* A bit for each kind of value that a plan may be made for, or 0: what is equal and of another kind has another plan. */
static long kind_of(PyObject *value)
{
    if (PyLong_CheckExact(value)) return 1;
    if (value == Py_None) return 2;
    if (PyBool_Check(value)) return 3;
    if (PyUnicode_CheckExact(value)) return 4;
    if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value) > 0 ? 5 : 0;
    if (!PyTuple_CheckExact(value)) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++) {
        PyObject *item = PyTuple_GET_ITEM(value, i);
        if (!PyLong_CheckExact(item) && !(PyTuple_CheckExact(item) && kind_of(item))) return 0;
    }
    return 6;
}

/* How many values a plan is given after the shape. */
static int facts_of(const Composed *self) { return self->count + (self->steps == OF_KIND); }

/* What a plan depends on; NULL where there can be none. */
static PyObject *key_of(const Composed *self, PyObject *shape, PyObject *const *given)
{
    const int count = facts_of(self);
    PyObject *key = PyTuple_New(count + 2);
    long kinds = 0;
    for (int i = 0; key && i < count; i++) {
        const long kind = kind_of(given[i]);
        if (!kind) Py_CLEAR(key);
        else kinds = kinds * 8 + kind, PyTuple_SET_ITEM(key, i, Py_NewRef(given[i]));
    }
    if (!key) return NULL;
    PyTuple_SET_ITEM(key, count, Py_NewRef(shape));
    PyTuple_SET_ITEM(key, count + 1, PyLong_FromLong(kinds));
    return key;
}

/* Whether there is a bool for each parameter whose default is one: the definition refuses others. */
static int bools_where_due(const Composed *self, PyObject *const *given)
{
    for (int i = 0; i < self->count; i++) {
        PyObject *usual = PyDict_GetItemWithError(self->defaults, PyTuple_GET_ITEM(self->params, i));
        if (usual && PyBool_Check(usual) && !PyBool_Check(given[i])) return 0;
    }
    return 1;
}

/* The plan, borrowed; NULL, perhaps with an error, where it has none or refuses, which the definition says better. */
static PyObject *plan_of(Composed *self, PyObject *shape, PyObject *const *given)
{
    PyObject *key = key_of(self, shape, given), *found = key ? PyDict_GetItemWithError(self->plans, key) : NULL;
    if (key && !found && !PyErr_Occurred() && bools_where_due(self, given)) {
        PyObject *args[2 + MOST_PARAMS] = {shape};
        memcpy(args + 1, given, facts_of(self) * sizeof *given);
        PyObject *made = PyObject_Vectorcall(self->plan, args, facts_of(self) + 1, NULL);
        if (PyDict_GET_SIZE(self->plans) >= MOST_PLANS) PyDict_Clear(self->plans);
        if (made && PyDict_SetItem(self->plans, key, made) == 0) found = made;
        Py_XDECREF(made); /* the dictionary has it */
    }
    Py_XDECREF(key);
    return found;
}

/* The shape of a further tensor, of the type of the first, and as plain as it has to be; or None. */
static PyObject *shape_beside(PyArrayObject *a, PyObject *other)
{
    if (other == Py_None) return Py_NewRef(other);
    if (!has_array(other)) return NULL;
    PyArrayObject *b = (PyArrayObject *)SLOT(other, at.data);
    return PyArray_DESCR(b) == PyArray_DESCR(a) && PyArray_IS_C_CONTIGUOUS(b) ? shape_tuple(PyArray_DIMS(b), PyArray_NDIM(b)) : NULL;
}

static int planned(Composed *self, PyArrayObject *a, PyObject *const *given, PyObject **row, PyObject **target)
{
    const int others = self->others, named = self->target == Py_None;
    PyObject *facts[MOST_PARAMS], *shape = shape_tuple(PyArray_DIMS(a), PyArray_NDIM(a)), *found = NULL;
    memcpy(facts, given, self->count * sizeof *given);
    int fit = 0;
    while (fit < others && (facts[fit] = shape_beside(a, given[fit]))) fit++;
    if (shape && fit == others) found = plan_of(self, shape, facts);
    Py_XDECREF(shape);
    for (int i = 0; i < fit; i++) Py_DECREF(facts[i]);
    const Py_ssize_t size = found && PyTuple_CheckExact(found) ? PyTuple_GET_SIZE(found) - named : -1;
    if (size < 0 || size + others < 1 || size + others > MOST_PARAMS) return NOT_EVERYDAY;
    if (named) *target = PyTuple_GET_ITEM(found, 0);
    for (int i = 0; i < others; i++) row[i] = Py_NewRef(given[i]);
    for (Py_ssize_t i = 0; i < size; i++) row[others + i] = Py_NewRef(PyTuple_GET_ITEM(found, named + i));
    return others + (int)size;
}

/* ---- operators in a row ---- */

/* Tuples in the place of lists, which a plan cannot be remembered for. */
static PyObject *frozen(PyObject *value)
{
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return Py_NewRef(value);
    PyObject *row = PyTuple_New(PySequence_Fast_GET_SIZE(value));
    for (Py_ssize_t i = 0; row && i < PyTuple_GET_SIZE(row); i++) {
        PyObject *item = frozen(PySequence_Fast_GET_ITEM(value, i));
        if (item) PyTuple_SET_ITEM(row, i, item);
        else Py_CLEAR(row);
    }
    return row;
}

/* The shape of a tensor that a row of operators may begin with; NULL for others. */
static PyObject *shape_at_first(const Composed *self, PyObject *t)
{
    if (!has_array(t)) return NULL;
    PyArrayObject *a = (PyArrayObject *)SLOT(t, at.data);
    const int type = PyArray_TYPE(a);
    if (type == NPY_BOOL || (type > NPY_CDOUBLE && type != NPY_HALF && !is_brain(type)) || (self->steps == ROWS_ONLY && !PyArray_IS_C_CONTIGUOUS(a))) return NULL;
    return shape_tuple(PyArray_DIMS(a), PyArray_NDIM(a));
}

/* The tensors of the first argument, borrowed, their number in `count`; their shape or, of a list, their shapes. */
static PyObject *shapes_of(const Composed *self, PyObject *first, PyObject **values, int *count)
{
    *count = 1;
    if (!PyList_CheckExact(first) && !PyTuple_CheckExact(first)) return shape_at_first(self, values[0] = first);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(first);
    PyObject *shapes = n && n < MOST_VALUES / 2 ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; shapes && i < n; i++) {
        PyObject *shape = shape_at_first(self, values[i] = PySequence_Fast_GET_ITEM(first, i));
        if (shape) PyTuple_SET_ITEM(shapes, i, shape);
        else Py_CLEAR(shapes);
    }
    *count = (int)n;
    return shapes;
}

/* The value that a place in a step names, borrowed; NULL where there is none. */
static PyObject *value_at(PyObject *place, PyObject *const *values, int count)
{
    const long i = PyLong_CheckExact(place) ? PyLong_AsLong(place) : -1;
    return i >= 0 && i < count ? values[i] : NULL;
}

/* The values at these places as a tuple, or a list. */
static PyObject *values_at(PyObject *places, PyObject *const *values, int count, int list)
{
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(places);
    PyObject *row = list ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; row && i < n; i++) {
        PyObject *value = value_at(PySequence_Fast_GET_ITEM(places, i), values, count);
        if (!value) Py_CLEAR(row);
        else if (list) PyList_SET_ITEM(row, i, Py_NewRef(value));
        else PyTuple_SET_ITEM(row, i, Py_NewRef(value));
    }
    return row;
}

/* One operator: (name, places, further arguments ...); NULL, perhaps without an error, or NotImplemented where the definition has to. */
static PyObject *step_of(PyObject *step, PyObject *const *values, int count)
{
    PyObject *places = PyTuple_GET_ITEM(step, 1), *op = PyDict_GetItemWithError(at.native_calls, PyTuple_GET_ITEM(step, 0)), *row[MAX_PARAMS], *held = NULL, *found = NULL;
    if (!op || Py_TYPE(op) != &OperationType) return NULL;
    const int params = ((Operation *)op)->params;
    int k = 0, fits = 1;
    if (PyLong_CheckExact(places)) fits = (row[k++] = value_at(places, values, count)) != NULL;
    else if (PyList_CheckExact(places)) fits = (row[k++] = held = values_at(places, values, count, 1)) != NULL;
    else
        for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(places); i++)
            fits = k < params && (row[k++] = value_at(PyTuple_GET_ITEM(places, i), values, count)) != NULL;
    for (Py_ssize_t i = 2; fits && i < PyTuple_GET_SIZE(step); i++) {
        if (!(fits = k < params)) break;
        row[k++] = PyTuple_GET_ITEM(step, i);
    }
    for (; k < params; k++) row[k] = PyTuple_GET_ITEM(((Operation *)op)->defaults, k);
    if (fits) found = PyObject_Vectorcall(op, row, params, NULL);
    Py_XDECREF(held);
    return found;
}

/* What the steps give of the first `count` values: the last result, or a tuple of those that a step without a name says. */
static PyObject *walk(PyObject *steps, PyObject **values, int count)
{
    const int given = count;
    PyObject *found = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        PyObject *step = PyTuple_GET_ITEM(steps, i);
        Py_XDECREF(found);
        if (PyTuple_GET_ITEM(step, 0) == Py_None) found = values_at(PyTuple_GET_ITEM(step, 1), values, count, 0);
        else found = count < MOST_VALUES ? step_of(step, values, count) : NULL;
        if (!found || found == Py_NotImplemented) break;
        values[count++] = Py_NewRef(found);
    }
    while (count > given) Py_DECREF(values[--count]);
    return found;
}

static PyObject *walked(Composed *self, PyObject *first, PyObject *const *given)
{
    PyObject *values[MOST_VALUES + 1], *facts[MOST_PARAMS + 1] = {NULL}, *found = NULL, *steps = NULL;
    int count, k = 0;
    PyObject *shapes = shapes_of(self, first, values, &count);
    char kinds[MOST_VALUES];
    const int tensors = count;
    for (; shapes && k < self->count; k++) {
        if (k < self->others) values[count++] = given[k];
        if (!(facts[k] = k < self->others ? shape_at_first(self, given[k]) : frozen(given[k]))) break;
    }
    if (shapes && k == self->count && self->steps == OF_KIND) {
        for (int i = 0; i < tensors; i++) kinds[i] = PyArray_DESCR((PyArrayObject *)SLOT(values[i], at.data))->type;
        if ((facts[k] = PyUnicode_FromStringAndSize(kinds, tensors))) k++;
    }
    if (shapes && k == facts_of(self)) steps = plan_of(self, shapes, facts);
    if (steps && PyTuple_CheckExact(steps)) {
        Py_INCREF(steps); /* the plans may be forgotten meanwhile */
        found = walk(steps, values, count);
        Py_DECREF(steps);
    }
    Py_XDECREF(shapes);
    for (int i = 0; i < k; i++) Py_DECREF(facts[i]);
    if (!found && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return NULL; /* an interrupt */
    PyErr_Clear();
    return found ? found : Py_NewRef(Py_NotImplemented);
}

static int has_no_history(PyObject *t) { return SLOT(t, at.edge) == Py_None && SLOT(t, at.meta) == Py_None; }

/* Whether the composite may be what it stands for: nobody is to be told of it, as nothing but the grad mode is in force, and either the
 * node is the same or none will be made. */
static int unwatched(const Composed *self, PyObject *t, PyObject *const *given)
{
    PyObject *modes = NULL;
    if (PyContextVar_Get(at.modes, NULL, &modes) < 0) return 0;
    const int silent = modes == at.silent || modes == at.inference;
    int plain = silent || modes == at.record || SLOT(modes, at.quick) == Py_True;
    if (self->plan && !self->steps && plain) {
        PyArray_Descr *d = PyArray_DESCR((PyArrayObject *)SLOT(t, at.data));
        plain = (d == at.f32 || d == at.f64) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)SLOT(t, at.data)) &&
                (self->exact || silent || (modes == at.record && has_no_history(t)));
        for (int i = 0; plain && !self->exact && !silent && i < self->others; i++)
            plain = given[i] == Py_None || (has_array(given[i]) && has_no_history(given[i]));
    }
    Py_DECREF(modes);
    return plain;
}

static PyObject *composed_call(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names)
{
    Composed *self = (Composed *)callable;
    PyObject *given[MOST_PARAMS], *row[1 + MOST_PARAMS] = {NULL}, *found = NULL, *target = self->target;
    if (!at.tensor || arguments(self, args, PyVectorcall_NARGS(flags), names, given) < 0) NOT_HANDLED();
    if (self->steps) {
        if (!unwatched(self, args[0], given)) NOT_HANDLED();
        return walked(self, args[0], given);
    }
    if (!has_array(args[0]) || !unwatched(self, args[0], given)) NOT_HANDLED();
    PyArrayObject *a = (PyArrayObject *)SLOT(args[0], at.data);
    const int n = self->plan ? planned(self, a, given, row + 1, &target) : self->recipe->rewrite(a, given, row + 1);
    if (n == ITSELF) return Py_NewRef(args[0]);
    PyObject *step = n >= 0 ? PyDict_GetItemWithError(at.native_calls, target) : NULL;
    if (step && Py_TYPE(step) == &OperationType) {
        row[0] = args[0];
        found = PyObject_Vectorcall(step, row, n + 1, NULL);
        if (self->plan && found && PyTuple_Check(found)) Py_SETREF(found, Py_NewRef(PyTuple_GET_ITEM(found, 0)));
    } else {
        PyErr_Clear();
        found = Py_NewRef(Py_NotImplemented);
    }
    for (int i = 1; i <= MOST_PARAMS; i++) Py_XDECREF(row[i]);
    return found;
}

static void composed_dealloc(PyObject *object)
{
    Composed *self = (Composed *)object;
    Py_XDECREF(self->params);
    Py_XDECREF(self->defaults);
    Py_XDECREF(self->target);
    Py_XDECREF(self->plan);
    Py_XDECREF(self->plans);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject ComposedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "wengert.arrays._kernels.composed",
    .tp_basicsize = sizeof(Composed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "The short cut of a composite; NotImplemented where its definition is needed.",
    .tp_dealloc = composed_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Composed, vectorcall),
};

/* composed(name, params, defaults, plan, exact, others, steps): the short cut of the composite, whose parameters these are; None if it has none.
 * `plan`: None, or the operator's name (None: the function gives it first) and a function; `exact`: whether its node is the composite's, too; `others`: how many parameters
 * after the first are tensors; `steps`: 0, or the function gives operators in a row: a tuple of (name, the places of values, further
 * arguments ...), where the tensors have the first places and results the next (a list of places: one argument, a list), the last perhaps
 * (None, the places of a tuple of results). 2: only of tensors that lie row by row; 3: the function is given the characters of their types last */
static PyObject *composed(PyObject *module, PyObject *args)
{
    const char *name, *target = NULL;
    PyObject *params, *defaults, *given = Py_None, *plan = NULL;
    int exact = 0, others = 0, steps = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO!O!|Opii", &name, &PyTuple_Type, &params, &PyDict_Type, &defaults, &given, &exact, &others, &steps)) return NULL;
    if (given != Py_None && !PyArg_ParseTuple(given, "zO", &target, &plan)) return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(params) - 1;
    const struct recipe *found = NULL;
    for (size_t i = 0; i < sizeof RECIPES / sizeof *RECIPES; i++)
        if (!strcmp(RECIPES[i].name, name)) found = &RECIPES[i];
    if (!found && !plan) Py_RETURN_NONE;
    if (found ? count != found->params : count > MOST_PARAMS || others < 0 || others > count) return PyErr_Format(PyExc_TypeError, "%s() has other parameters", name);
    Composed *self = PyObject_New(Composed, &ComposedType);
    if (!self) return NULL;
    self->vectorcall = composed_call;
    self->recipe = found;
    self->count = (int)count, self->exact = exact, self->others = others, self->steps = steps;
    self->params = PyTuple_GetSlice(params, 1, count + 1);
    self->defaults = Py_NewRef(defaults);
    self->target = plan && !target ? Py_NewRef(Py_None) : PyUnicode_InternFromString(plan ? target : found->target);
    self->plan = Py_XNewRef(plan);
    self->plans = PyDict_New();
    if (!self->params || !self->target || !self->plans) Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- whether two tensors are equal ---- */

/* By blocks: of what differs early little is read. */
#define DEFINE_SAME(TYPE)                                                              \
    static int same_##TYPE(const TYPE *x, const TYPE *y, npy_intp n)                   \
    {                                                                                  \
        enum { BLOCK = 256 };                                                          \
        for (npy_intp i = 0; i < n; i += BLOCK) {                                      \
            const npy_intp end = n - i < BLOCK ? n : i + BLOCK;                        \
            int differ = 0;                                                            \
            for (npy_intp k = i; k < end; k++) differ |= !(x[k] == y[k]);              \
            if (differ) return 0;                                                      \
        }                                                                              \
        return 1;                                                                      \
    }
DEFINE_SAME(float)
DEFINE_SAME(double)

/* equal(a, b): whether tensors of one type that lie row by row have the same shape and numbers; NotImplemented to others */
static PyObject *equal(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    (void)module;
    PyObject *modes = NULL;
    if (count != 2 || names || !at.tensor || !has_array(args[0]) || !has_array(args[1])) NOT_HANDLED();
    if (PyContextVar_Get(at.modes, NULL, &modes) < 0) return NULL;
    const int plain = modes == at.record || modes == at.silent || modes == at.inference;
    Py_DECREF(modes);
    PyArrayObject *a = (PyArrayObject *)SLOT(args[0], at.data), *b = (PyArrayObject *)SLOT(args[1], at.data);
    const int type = PyArray_TYPE(a);
    if (!plain || PyArray_DESCR(a) != PyArray_DESCR(b) || type > NPY_CDOUBLE || type == NPY_LONGDOUBLE || !PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY_RO(b)) NOT_HANDLED();
    if (!PyArray_SAMESHAPE(a, b)) Py_RETURN_FALSE;
    const npy_intp n = PyArray_SIZE(a);
    int same;
    if (type == NPY_FLOAT || type == NPY_CFLOAT) same = same_float(PyArray_DATA(a), PyArray_DATA(b), type == NPY_FLOAT ? n : 2 * n);
    else if (type == NPY_DOUBLE || type == NPY_CDOUBLE) same = same_double(PyArray_DATA(a), PyArray_DATA(b), type == NPY_DOUBLE ? n : 2 * n);
    else same = !memcmp(PyArray_DATA(a), PyArray_DATA(b), PyArray_NBYTES(a));
    return PyBool_FromLong(same);
}

static PyMethodDef methods[] = {
    {"composed", composed, METH_VARARGS, "composed(name, params, defaults): the short cut of a composite."},
    {"equal", (PyCFunction)(void (*)(void))equal, METH_FASTCALL | METH_KEYWORDS, "equal(a, b): whether two tensors are equal."},
    {NULL, NULL, 0, NULL},
};

int composed_init(PyObject *module)
{
    return PyType_Ready(&ComposedType) < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
