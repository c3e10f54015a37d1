/* The native call of an operator: the forward, the tensor around its result, and the node on the tape, in one step.
 *
 * An operation(recipe) is called with the operator's arguments in order and does what the general path of
 * wengert.tensor.call does for them, in the everyday case: plain dense tensors of one type, recording or silent and
 * nothing else in force. To every other case, and to every error, it answers NotImplemented, having changed nothing: the
 * caller then takes the general path, which is the definition. */
#include "operation.h"

#include <structmember.h>

/* ---- results ---- */

/* A forward's answer as an array; takes the reference. */
PyObject *array_of(PyObject *value)
{
    if (!value || PyArray_CheckExact(value) || is_lazy(value)) return value;
    PyObject *array = PyArray_FromAny(value, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
    Py_DECREF(value);
    return array;
}

static int looks_at(PyObject *array, PyObject *source)
{
    PyObject *base = is_lazy(array) ? NULL : PyArray_BASE((PyArrayObject *)array);
    return base && (base == source || base == PyArray_BASE((PyArrayObject *)source));
}

/* wengert.tensor.results.attach_view; `where`: NULL, or in which mode views are made that are not recorded; `which` is the number of the result where there are many, else -1. */
static int attach_view(const Operation *self, PyObject *t, PyObject *source, PyObject *const *args, PyObject *where, int which)
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
    if (where == at.in_inference || (where && (creation == Py_None || creation == at.multi || PyUnicode_Compare(creation, at.multi) == 0))) creation = where;
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

/* ---- arguments of another type: wengert.amp ---- */

static PyObject *perform(const Operation *self, PyObject *const *args, PyObject *answer);

/* `t` in our type `dtype`: by the native call where no gradient is kept for it, else what `cast` gives. */
static PyObject *in_type(PyObject *t, PyObject *dtype, PyObject *cast)
{
    PyObject *quick = SLOT(t, at.meta) == Py_None ? PyDict_GetItemWithError(at.native_calls, at.cast_name) : NULL;
    if (quick && Py_TYPE(quick) == &OperationType && ((Operation *)quick)->params == 2) {
        PyObject *given[] = {t, dtype}, *found = perform((Operation *)quick, given, NULL);
        if (found != Py_NotImplemented) return found;
        Py_DECREF(found);
    }
    return PyErr_Occurred() ? NULL : PyObject_CallOneArg(cast, t);
}

/* The arguments, those of float16, bfloat16 and float32 as `wanted` says: a tuple of our type, NumPy's, and a function of a tensor. New
 * ones are in `own` too. 0 where the general path has to do it, perhaps with an error. */
static int cast_arguments(const Operation *self, PyObject *wanted, PyObject *const *args, PyObject **given, PyObject **own)
{
    if (!PyTuple_CheckExact(wanted) || PyTuple_GET_SIZE(wanted) != 3 || !PyArray_DescrCheck(PyTuple_GET_ITEM(wanted, 1))) return 0;
    const int type = ((PyArray_Descr *)PyTuple_GET_ITEM(wanted, 1))->type_num;
    for (int i = 0; i < self->params; i++) {
        given[i] = args[i];
        const char kind = self->kind[i];
        if (kind == LIST) return 0;
        if ((kind != TENSOR && kind != OPTIONAL) || args[i] == Py_None || PyFloat_CheckExact(args[i]) || PyLong_CheckExact(args[i])) continue;
        if (!has_array(args[i])) return 0;
        PyObject *array = SLOT(args[i], at.data);
        const int has = PyArray_TYPE((PyArrayObject *)array);
        if (has == type || (has != NPY_FLOAT && !narrow_kind(array))) continue;
        if (!(given[i] = own[i] = in_type(args[i], PyTuple_GET_ITEM(wanted, 0), PyTuple_GET_ITEM(wanted, 2)))) return 0;
    }
    return 1;
}

/* ---- the call ---- */

/* `answer`: what the forward gives, where that is known; takes the reference. */
static PyObject *perform(const Operation *self, PyObject *const *args, PyObject *answer)
{
    if (!PyType_Check(self->node)) {
        Py_XDECREF(answer);
        NOT_HANDLED();
    }
    PyObject *modes = NULL;
    if (PyContextVar_Get(at.modes, NULL, &modes) < 0) {
        Py_XDECREF(answer);
        return NULL;
    }
    const int inference = modes == at.inference;
    int recording = modes == at.record, silent = modes == at.silent || inference;
    PyObject *grad_scope = NULL, *wanted = NULL;
    if (!recording && !silent && SLOT(modes, at.quick) == Py_True) {
        recording = SLOT(modes, at.grad) == Py_True;
        silent = !recording;
        grad_scope = Py_NewRef(SLOT(modes, at.grad_scope));
    } else if (!recording && !silent && PyDict_Check(SLOT(modes, at.passes)) && (wanted = PyDict_GetItemWithError(SLOT(modes, at.passes), self->name))) {
        recording = SLOT(modes, at.grad) == Py_True;
        silent = !recording;
    }
    wanted = wanted && wanted != Py_True && !self->writes ? Py_NewRef(wanted) : NULL; /* in-place forms take what comes */
    Py_XDECREF(modes);
    if ((!recording && !silent) || (self->writes && grad_scope)) {
        Py_XDECREF(grad_scope);
        Py_XDECREF(wanted);
        Py_XDECREF(answer);
        NOT_HANDLED();
    }

    struct call c = {.args = args, .inference = inference};
    PyObject *result = NULL, *row = NULL, *given[MAX_PARAMS], *own[MAX_PARAMS];
    int general = 1, cast = 0;
    if (wanted) {
        for (; cast < self->params; cast++) own[cast] = NULL;
        if (answer || !cast_arguments(self, wanted, args, given, own)) goto done;
        c.args = args = given;
    }
    if (self->writes) {
        result = written(self, &c, recording, &general);
        goto done;
    }
    if (answer ? !take_view(self, &c) : !(answer = computed(self, &c, NULL, &general))) goto done;
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
            Py_SETREF(array, layout_rows(array));
        else if (array && self->view == IN_ORDER && !in_order(self, &c, (PyArrayObject *)array))
            array = ordered(self, &c, array);
        const int shares = array && (self->view == PERHAPS_VIEW || (inference && c.owned[0] && PyArray_CheckExact(c.raw[0]))) && looks_at(array, c.raw[0]);
        const int is_view = self->view == ALWAYS_VIEW || shares, of_normal = is_view && SLOT(args[0], at.vc) != at.uncounted;
        PyObject *t = array ? tensor_of(array, grad_scope, inference && !of_normal) : NULL;
        if (!t) goto done;
        PyTuple_SET_ITEM(c.results, i, t);
        if (shares && self->view != PERHAPS_VIEW && self->view != ALWAYS_VIEW) { /* in inference mode: what looks at an argument all the same */
            general = 1;
            goto done;
        }
        PyObject *where = inference ? at.in_inference : silent ? at.no_grad : NULL;
        if (of_normal && attach_view(self, t, args[0], args, where, self->outputs ? -1 : (int)i) < 0) goto done;
    }
    c.aux = answer;
    if (recording && self->wrt && record(self, &c) < 0) goto done;
    if (self->outputs == 1) result = Py_NewRef(PyTuple_GET_ITEM(c.results, 0));
    else if (!self->outputs) result = Py_NewRef(c.results);
    else if ((row = PyTuple_Pack(1, c.results))) result = PyTuple_Type.tp_new((PyTypeObject *)self->result_type, row, NULL);
done:
    Py_XDECREF(grad_scope);
    Py_XDECREF(wanted);
    while (cast) Py_XDECREF(own[--cast]);
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

/* Whether an argument is a list of whole numbers: shapes and dimensions. An empty one may be there to receive something. */
static int is_row_of_numbers(const Operation *self, PyObject *const *args, int i)
{
    if (self->kind[i] != OTHER || !PyList_CheckExact(args[i]) || !PyList_GET_SIZE(args[i])) return 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(args[i]); k++)
        if (!PyLong_CheckExact(PyList_GET_ITEM(args[i], k))) return 0;
    return 1;
}

/* The same with tuples in the place of such lists, which may change after the call. */
static PyObject *perform_with_tuples(const Operation *self, PyObject *const *args)
{
    PyObject *given[MAX_PARAMS], *found = NULL;
    int n = 0;
    while (n < self->params && (given[n] = is_row_of_numbers(self, args, n) ? PyList_AsTuple(args[n]) : Py_NewRef(args[n]))) n++;
    if (n == self->params) found = perform(self, given, NULL);
    while (n) Py_DECREF(given[--n]);
    return found;
}

static PyObject *operation_call(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names)
{
    const Operation *self = (Operation *)callable;
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (PyVectorcall_NARGS(flags) != self->params) NOT_HANDLED();
    for (int i = 0; !named && i < self->params; i++)
        if (is_row_of_numbers(self, args, i)) return perform_with_tuples(self, args);
    if (!named) return perform(self, args, NULL);
    if (named > 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out")) NOT_HANDLED();
    return performed_into(self, args, args[self->params]);
}

PyObject *operation_view(const Operation *self, PyObject *const *args, PyObject *view)
{
    if (self->params == 2 && !self->writes) return perform(self, args, view);
    Py_DECREF(view);
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
 * view, numbers, others, writes, mixes, halves, numbered): see wengert.tensor.native_call, which makes it from the declaration */
static PyObject *operation_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *kinds, *floats, *wrt, *live, *saved, *consts, *op, *forward, *kernel, *names, *node, *result_type, *defaults, *others, *numbered;
    int outputs, aux, numbers, writes, mixes, halves;
    char promote, view;
    if (keywords && PyDict_GET_SIZE(keywords)) return PyErr_Format(PyExc_TypeError, "operation() takes no keywords");
    if (!PyArg_ParseTuple(args, "OOOOOOO!OOOOOOiicciOiiiO", &op, &forward, &kernel, &names, &node, &result_type, &PyTuple_Type, &defaults, &kinds,
                          &floats, &wrt, &live, &saved, &consts, &outputs, &aux, &promote, &view, &numbers, &others, &writes, &mixes, &halves,
                          &numbered))
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
    if (!(self->name = PyObject_GetAttrString(op, "name"))) {
        Py_DECREF(self);
        return NULL;
    }
    self->forward = Py_NewRef(forward);
    self->kernel = Py_NewRef(kernel);
    const int made = PyTuple_CheckExact(numbered) && PyTuple_GET_SIZE(numbered) == 2; /* a kernel, and what makes its numbers */
    self->numbered = Py_NewRef(made ? PyTuple_GET_ITEM(numbered, 0) : numbered);
    self->numbers_of = made ? Py_NewRef(PyTuple_GET_ITEM(numbered, 1)) : NULL;
    self->keywords = Py_NewRef(names);
    self->node = Py_NewRef(node);
    self->result_type = Py_NewRef(result_type);
    self->defaults = Py_NewRef(defaults);
    self->others = Py_NewRef(others);
    self->outputs = outputs, self->aux = aux;
    self->promote = promote, self->view = view, self->numbers = numbers, self->writes = writes, self->mixes = mixes, self->halves = halves;
    static const char *const setting[] = {"copy", "fill", "zero"};
    for (int i = 0; writes && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(self->name, setting[i]) == 0) self->sets = (char)(TO_COPY + i);
    for (int i = 0; i < self->params; i++)
        if (self->kind[i] == HOLES) self->kind[i] = LIST, self->holes |= 1 << i;
    if (others != Py_None && (!PyTuple_Check(others) || PyTuple_GET_SIZE(others) != self->params)) self->params = -1;
    self->early = writes ? writing_forward_of(self->name) : view_forward_of(op);
    if (!self->early && !writes) self->early = early_forward_of(self->name);
    if (!self->early && !writes) self->early = direct_forward_of(self->name);
    if (!self->early && !writes) self->early = places_forward_of(self->name);
    if (!self->early && !writes) self->early = laid_forward_of(self->name);
    if (!writes && PyUnicode_CompareWithASCIIString(self->name, "cat") == 0) self->row = cat_forward;
    if (!writes && PyUnicode_CompareWithASCIIString(self->name, "stack") == 0) self->row = stack_forward;
    if (self->params < 0 || self->floats < 0 || self->wrt < 0 || self->live < 0 || self->saved < 0 || self->consts < 0) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "operation(): too many parameters");
    }
    return (PyObject *)self;
}

static void operation_dealloc(PyObject *object)
{
    Operation *self = (Operation *)object;
    PyObject *fields[] = {self->op, self->name, self->forward, self->kernel, self->keywords, self->node, self->result_type, self->defaults, self->others, self->numbered, self->numbers_of};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) Py_XDECREF(fields[i]);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef operation_members[] = {
    {"node", T_OBJECT, offsetof(Operation, node), 0, "the class of the nodes; anything else switches the short cut off"},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject OperationType = {
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
