/* The in-place form of an operation: into the memory of the first argument, at once where nobody else looks at it. */
#include "operation.h"

#include "fast.h"

#include <float.h>

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

/* Whether the memory between the first and the last element of one array meets that of another. */
static int may_overlap(PyArrayObject *a, PyArrayObject *b)
{
    PyArrayObject *both[2] = {a, b};
    char *low[2], *high[2];
    for (int k = 0; k < 2; k++) {
        low[k] = high[k] = PyArray_BYTES(both[k]);
        for (int i = 0; i < PyArray_NDIM(both[k]); i++) {
            const npy_intp reach = PyArray_STRIDE(both[k], i) * (PyArray_DIM(both[k], i) - 1);
            *(reach < 0 ? &low[k] : &high[k]) += reach;
        }
        high[k] += PyArray_ITEMSIZE(both[k]);
    }
    return low[0] < high[1] && low[1] < high[0];
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
    if (!is_readable(target, c->inference) || !PyArray_ISWRITEABLE((PyArrayObject *)SLOT(target, at.data)) || !is_apart((PyArrayObject *)SLOT(target, at.data)))
        return 0;
    for (int i = 0; i < self->params; i++) {
        if (self->kind[i] == LIST) {
            if (!PyList_CheckExact(c->args[i]) && !PyTuple_CheckExact(c->args[i])) return 0;
        } else if ((self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) || !is_readable(c->args[i], c->inference)) continue;
        const int list = self->kind[i] == LIST;
        const Py_ssize_t n = list ? PySequence_Fast_GET_SIZE(c->args[i]) : 1;
        for (Py_ssize_t k = 0; k < n; k++) {
            PyObject *t = list ? PySequence_Fast_GET_ITEM(c->args[i], k) : c->args[i];
            if (list && t == Py_None) continue;
            if (!is_readable(t, c->inference)) return 0;
            /* Views of one tensor count together. Inference tensors do not count. */
            if (i && SLOT(t, at.vc) == SLOT(target, at.vc) &&
                (SLOT(t, at.vc) != at.uncounted || may_overlap((PyArrayObject *)SLOT(t, at.data), (PyArrayObject *)SLOT(target, at.data))))
                return 0;
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

/* Copy an array of the same type and shape to where the target lies. */
static int copied(PyArrayObject *target, PyArrayObject *y)
{
    const char *begin, *end, *target_begin, *target_end;
    const int width = PyArray_ITEMSIZE(y);
    if (PyArray_NDIM(y) > MAX_AXES || PyDataType_REFCHK(PyArray_DESCR(y)) || (width & (width - 1)) || width > 16 || !width ||
        !PyArray_ISALIGNED(y) || !PyArray_ISALIGNED(target))
        return PyArray_CopyInto(target, y);
    fast_extent(y, &begin, &end);
    fast_extent(target, &target_begin, &target_end);
    if (begin < target_end && target_begin < end) return PyArray_CopyInto(target, y);
    const int done = PyArray_IS_C_CONTIGUOUS(target) && !PyArray_IS_C_CONTIGUOUS(y) ? layout_into(y, PyArray_BYTES(target)) : 0;
    if (!done) fast_copy(y, PyArray_BYTES(target), PyArray_STRIDES(target));
    return done < 0 ? -1 : 0;
}

union element {
    float f;
    double d;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
};

/* A number as an element of the type; 0 where it is not an everyday one. */
static int element_of(PyObject *number, int type, union element *one)
{
    enum { HELD_BY_ALL = 127 };
    const int truth = PyBool_Check(number);
    if (type == NPY_FLOAT || type == NPY_DOUBLE) {
        const double value = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
        if ((type == NPY_FLOAT && isfinite(value) && fabs(value) > FLT_MAX) || (value == -1 && PyErr_Occurred())) return 0;
        if (type == NPY_FLOAT) one->f = (float)value;
        else one->d = value;
        return 1;
    }
    if (!truth && !PyLong_CheckExact(number)) return 0;
    const long long value = truth ? number == Py_True : PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred()) return 0;
    if (type == NPY_INT64 || type == NPY_LONGLONG) return one->i64 = value, 1;
    if (type == NPY_BOOL) return one->i8 = value != 0, 1;
    if (value < 0 || value > HELD_BY_ALL) return 0;
    if (type == NPY_UINT8 || type == NPY_INT8) return one->i8 = (int8_t)value, 1;
    if (type == NPY_INT16) return one->i16 = (int16_t)value, 1;
    if (type == NPY_INT32) return one->i32 = (int32_t)value, 1;
    return 0;
}

/* An array of this shape over memory that it does not hold. */
static PyArrayObject *over(PyArrayObject *shape, int type, npy_intp *strides, void *memory)
{
    return (PyArrayObject *)PyArray_New(&PyArray_Type, PyArray_NDIM(shape), PyArray_DIMS(shape), type, strides, memory, 0, 0, NULL);
}

/* Write a number to every element of a part; -1 where it is not an everyday number. */
static int filled(PyArrayObject *part, PyObject *number)
{
    union element one;
    if (PyArray_NDIM(part) > MAX_AXES || !element_of(number, PyArray_TYPE(part), &one)) return -1;
    if (!PyArray_NDIM(part)) return memcpy(PyArray_DATA(part), &one, PyArray_ITEMSIZE(part)), 0;
    npy_intp still[MAX_AXES] = {0};
    PyArrayObject *repeated = over(part, PyArray_TYPE(part), still, &one);
    if (!repeated) return -1;
    fast_copy(repeated, PyArray_BYTES(part), PyArray_STRIDES(part));
    Py_DECREF(repeated);
    return 0;
}

/* Write an array of the same type to a part, repeated where it is the smaller; 0 with nothing done where it does not fit, -1 with an error. */
static int spread(PyArrayObject *part, PyArrayObject *y)
{
    const int n = PyArray_NDIM(part);
    int lead = PyArray_NDIM(y) - n; /* dimensions too many, which have to be of one */
    npy_intp strides[MAX_AXES];
    if (!lead && PyArray_CompareLists(PyArray_DIMS(y), PyArray_DIMS(part), n)) return copied(part, y) < 0 ? -1 : 1;
    if (n > MAX_AXES || PyArray_TYPE(y) >= NPY_NTYPES_LEGACY) return 0;
    for (int d = 0; d < lead; d++)
        if (PyArray_DIM(y, d) != 1) return 0;
    for (int d = 0; d < n; d++) {
        const npy_intp size = d + lead < 0 ? 1 : PyArray_DIM(y, d + lead);
        if (size != 1 && size != PyArray_DIM(part, d)) return 0;
        strides[d] = size == 1 ? 0 : PyArray_STRIDE(y, d + lead);
    }
    PyArrayObject *repeated = over(part, PyArray_TYPE(y), strides, PyArray_DATA(y));
    const int failed = !repeated || copied(part, repeated) < 0;
    Py_XDECREF(repeated);
    return failed ? -1 : 1;
}

/* The numbers of an array in the type of a real part that holds each of them, rounded; NULL (perhaps with an error) where it may not. */
static PyArrayObject *in_type_of(PyArrayObject *part, PyArrayObject *b)
{
    const int to = PyArray_TYPE(part), from = PyArray_TYPE(b);
    if (to != NPY_FLOAT && to != NPY_DOUBLE && to != NPY_HALF && !is_brain(to)) return NULL;
    if (!casts_memory(from, to)) return NULL;
    PyObject *row = PyArray_ISCARRAY_RO(b) ? Py_NewRef((PyObject *)b) : layout_rows((PyObject *)b);
    PyObject *args[] = {row, (PyObject *)PyArray_DESCR(part)}, *found = row ? cast_numbers(NULL, args, 2) : NULL;
    Py_XDECREF(row);
    if (found == Py_NotImplemented) Py_CLEAR(found);
    return (PyArrayObject *)found;
}

/* Whether nothing but the grad mode is in force, and which; -1 with an error. */
static int known_mode(int *recording, int *inference)
{
    PyObject *modes = NULL;
    if (PyContextVar_Get(at.modes, NULL, &modes) < 0) return -1;
    *recording = modes == at.record;
    *inference = modes == at.inference;
    const int known = *recording || *inference || modes == at.silent;
    Py_XDECREF(modes);
    return known;
}

static int count_write(PyObject *target)
{
    PyObject *counter = SLOT(target, at.vc);
    if (counter == at.uncounted) return 1;
    PyObject *version = PyNumber_Add(PyList_GET_ITEM(counter, 0), at.one);
    return version && PyList_SetItem(counter, 0, version) == 0 ? 1 : -1;
}

int write_whole(PyObject *target, int (*write)(PyArrayObject *, void *), void *context)
{
    int recording, inference;
    const int known = known_mode(&recording, &inference);
    if (known < 1 || inference || !is_usable(target) || (recording && requires_grad(target))) return known < 0 ? -1 : 0;
    const int done = write((PyArrayObject *)SLOT(target, at.data), context);
    return done > 0 ? count_write(target) : done;
}

int write_part(PyObject *target, PyArrayObject *part, PyObject *value)
{
    PyArrayObject *a = (PyArrayObject *)SLOT(target, at.data);
    int recording, inference;
    const int known = known_mode(&recording, &inference);
    if (known < 0) return -1;
    const int number = PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value);
    if (!known || !is_readable(target, inference) || !(number || is_readable(value, inference)) ||
        (recording && (requires_grad(target) || (!number && requires_grad(value)))))
        return 0;
    if (!PyArray_ISWRITEABLE(a) || !PyArray_ISALIGNED(a) || !is_apart(a)) return 0;
    if (number) return filled(part, value) < 0 ? 0 : count_write(target);
    PyArrayObject *b = (PyArrayObject *)SLOT(value, at.data);
    if (PyArray_DESCR(b) != PyArray_DESCR(part)) {
        PyArrayObject *same = SLOT(value, at.vc) == SLOT(target, at.vc) ? NULL : in_type_of(part, b);
        const int done = same ? spread(part, same) : PyErr_Occurred() ? -1 : 0;
        Py_XDECREF(same);
        return done > 0 ? count_write(target) : done;
    }
    if (SLOT(value, at.vc) != SLOT(target, at.vc) || (SLOT(value, at.vc) == at.uncounted && !may_overlap(a, b))) {
        const int done = spread(part, b);
        return done > 0 ? count_write(target) : done;
    }
    const int n = PyArray_NDIM(part), same = PyArray_NDIM(b) == n && PyArray_DATA(b) == PyArray_DATA(part) && PyArray_CompareLists(PyArray_DIMS(b), PyArray_DIMS(part), n) &&
                                             PyArray_CompareLists(PyArray_STRIDES(b), PyArray_STRIDES(part), n);
    return same ? count_write(target) : 0; /* x[2:] += 1 ends with this write, of what is there already */
}

/* What the in-place form that runs in this thread is about to write to: to_write gives that array itself, not a copy. */
static _Thread_local PyArrayObject *about_to_be_written = NULL;

/* Whether an argument besides the first lies in the target's memory. */
static int meets_others(const Operation *self, const struct call *c, PyArrayObject *target)
{
    for (int i = 1; i < self->params; i++) {
        const int list = PyList_CheckExact(c->args[i]) || PyTuple_CheckExact(c->args[i]);
        for (Py_ssize_t k = 0; k < (list ? PySequence_Fast_GET_SIZE(c->args[i]) : 1); k++) {
            PyObject *t = list ? PySequence_Fast_GET_ITEM(c->args[i], k) : c->args[i];
            if (PyObject_TypeCheck(t, (PyTypeObject *)at.tensor) && (!has_array(t) || may_overlap((PyArrayObject *)SLOT(t, at.data), target))) return 1;
        }
    }
    return 0;
}

/* to_write(x, order): a copy to write to, or x itself if the in-place form is about to write there: where a forward changes a part of its
 * first argument, after it has seen that nothing is wrong */
static PyObject *to_write(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!about_to_be_written || args[0] != (PyObject *)about_to_be_written) NOT_HANDLED();
    return Py_NewRef(args[0]);
}

int may_write_to(PyArrayObject *a) { return a == about_to_be_written; }

/* target(x): x itself if the in-place form is about to write there, else None: where a kernel may leave the result, which comes last */
static PyObject *target_of(PyObject *module, PyObject *x)
{
    (void)module;
    return Py_NewRef(about_to_be_written && x == (PyObject *)about_to_be_written ? x : Py_None);
}

PyMethodDef writes_methods[] = {{"target", target_of, METH_O, NULL}, {"to_write", (PyCFunction)(void (*)(void))to_write, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};

/* copy_, fill_ and zero_, where the target's history does not matter: 1 if it was done, 0 where the general path has to, -1 with an error. */
static int set_whole(const Operation *self, PyObject *const *args)
{
    PyObject *value = self->sets == TO_ZERO ? at.zero : self->sets ? args[1] : NULL;
    if (!value || !has_array(args[0])) return 0;
    PyArrayObject *whole = (PyArrayObject *)SLOT(args[0], at.data);
    if (self->sets != TO_COPY) return PyFloat_CheckExact(value) || PyLong_CheckExact(value) ? write_part(args[0], whole, value) : 0;
    const int fits = has_array(value) && value != args[0] && PyArray_NDIM((PyArrayObject *)SLOT(value, at.data)) <= PyArray_NDIM(whole);
    return fits && PyBool_Check(args[2]) ? write_part(args[0], whole, value) : 0;
}

/* The in-place form: the target, into whose memory the result has gone; NULL where it fails or the general path has to be taken. */
PyObject *written(const Operation *self, struct call *c, int recording, int *general)
{
    *general = 1;
    int recorded;
    const int set = set_whole(self, c->args);
    if (set) return *general = 0, set > 0 ? Py_NewRef(c->args[0]) : NULL;
    if (!writes_at_once(self, c, recording, &recorded)) return NULL;
    if (recorded) { /* a stale view is recorded anew, or refused */
        Edge edge;
        if (edge_of(c->args[0], &edge) < 0) return NULL;
        drop_edges(&edge, 1);
    }
    PyArrayObject *target = (PyArrayObject *)SLOT(c->args[0], at.data);
    const int kept = recorded && needs_first(self, c);
    PyArrayObject *before = about_to_be_written;
    about_to_be_written = kept || !PyArray_IS_C_CONTIGUOUS(target) || meets_others(self, c, target) ? NULL : target;
    PyObject *answer = computed(self, c, self->writes == BY_KERNEL && !kept ? (PyObject *)target : NULL, general);
    about_to_be_written = before;
    if (answer && self->aux) Py_SETREF(answer, PySequence_GetItem(answer, 0));
    PyArrayObject *y = answer ? (PyArrayObject *)array_of(answer) : NULL;
    if (!y) return NULL;
    *general = 1;
    const int fits = PyArray_DESCR(y) == PyArray_DESCR(target) && PyArray_NDIM(y) == PyArray_NDIM(target) &&
                     PyArray_CompareLists(PyArray_DIMS(y), PyArray_DIMS(target), PyArray_NDIM(y));
    const int done = fits && (!recorded || keep_first(self, c) == 0) && (y == target || copied(target, y) == 0);
    Py_DECREF(y);
    if (!done) return NULL;
    *general = 0;
    if (SLOT(c->args[0], at.vc) == at.uncounted) return Py_NewRef(c->args[0]);
    PyObject *counter = SLOT(c->args[0], at.vc), *version = PyNumber_Add(PyList_GET_ITEM(counter, 0), at.one);
    if (!version || PyList_SetItem(counter, 0, version) < 0) return NULL;
    PyObject *meta = SLOT(c->args[0], at.meta);
    if (recorded && meta != Py_None && SLOT(c->args[0], at.edge) != Py_None) /* the view had its place on the tape before the write */
        put(SLOT(meta, at.meta_view), at.version, Py_NewRef(PyList_GET_ITEM(counter, 0)));
    if (recorded && record_write(self, c) < 0) return NULL;
    return Py_NewRef(c->args[0]);
}

/* Whether what is written to `out` may be seen, or refused, by somebody: the general path says. */
static int is_simple_target(const Operation *self, PyObject *const *args, PyObject *out)
{
    if (!is_usable(out) || SLOT(out, at.meta) != Py_None || SLOT(out, at.edge) != Py_None) return 0;
    PyArrayObject *target = (PyArrayObject *)SLOT(out, at.data);
    if (!PyArray_ISCARRAY(target)) return 0;
    for (int i = 0; i < self->params; i++) {
        const int list = PyList_CheckExact(args[i]) || PyTuple_CheckExact(args[i]);
        for (Py_ssize_t k = 0; k < (list ? PySequence_Fast_GET_SIZE(args[i]) : 1); k++) {
            PyObject *t = list ? PySequence_Fast_GET_ITEM(args[i], k) : args[i];
            if (is_whole(t) && (!has_array(t) || SLOT(t, at.vc) == SLOT(out, at.vc) || may_overlap((PyArrayObject *)SLOT(t, at.data), target))) return 0;
        }
    }
    return 1;
}

/* The operator with `out=`: what it gives without, copied to a tensor of that shape and type. */
PyObject *performed_into(const Operation *self, PyObject *const *args, PyObject *out)
{
    PyObject *modes = NULL;
    if (PyContextVar_Get(at.modes, NULL, &modes) < 0) return NULL;
    Py_DECREF(modes);
    if ((modes != at.record && modes != at.silent) || self->writes || self->view == 'v' || self->view == 'p' || self->outputs != 1 || !is_simple_target(self, args, out)) NOT_HANDLED();
    PyObject *t = PyObject_Vectorcall((PyObject *)self, args, self->params, NULL);
    if (!t || t == Py_NotImplemented) return t;
    PyArrayObject *target = (PyArrayObject *)SLOT(out, at.data), *y = has_array(t) ? (PyArrayObject *)SLOT(t, at.data) : NULL;
    const int fits = y && SLOT(t, at.edge) == Py_None && PyArray_DESCR(y) == PyArray_DESCR(target) && PyArray_SAMESHAPE(y, target);
    const int done = fits && copied(target, y) == 0 && count_write(out) > 0;
    Py_DECREF(t);
    if (done) return Py_NewRef(out);
    if (PyErr_Occurred()) return NULL;
    NOT_HANDLED();
}
