/* What an operation computes: its arguments taken apart and brought to one type, and the kernel or the forward that is given them. To
 * what is not everyday it answers that the general path has to be taken. */
#include "operation.h"

#include "fast.h"
#include "half.h"

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

/* Whether a value may stand for a tensor: what an operator writes that neither promotes nor computes may be a bool, too. */
static inline int is_number(const Operation *self, PyObject *value)
{
    const int moves = self->writes && self->promote == NO_PROMOTION && self->kernel == Py_None;
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyComplex_CheckExact(value) || (moves && PyBool_Check(value));
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
            } else if (is_whole(value) && is_lazy(SLOT(value, at.data)) && is_counted(value) && self->view != ALWAYS_VIEW && self->view != PERHAPS_VIEW && !self->writes) {
                if (!(c->raw[i] = lazy_numbers(SLOT(value, at.data)))) return 0;
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

static int is_float(PyArray_Descr *d) { return d == at.f32 || d == at.f64 || d->type_num == NPY_HALF || is_brain(d->type_num); }

/* The type of the first tensor where the forward takes others with it: one of 16 bits with float32, as normalisations take their
 * statistics and weights in an autocast region, and what is copied into another type; else NULL. */
static PyArray_Descr *mixed_type(const Operation *self, const struct call *c)
{
    if (self->promote != NO_PROMOTION || self->halves & (IN_FLOAT32 | KERNEL_TAKES) || (self->writes && self->kernel != Py_None) || self->view == ALWAYS_VIEW)
        return NULL;
    PyArray_Descr *d = NULL;
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p]) continue; /* None */
        if (PyList_CheckExact(c->raw[p])) return NULL;
        PyArray_Descr *own = PyArray_DESCR((PyArrayObject *)c->raw[p]);
        if (!is_float(own) || (!d && !self->writes && (own == at.f32 || own == at.f64))) return NULL;
        if (!d) d = own;
        else if (own != d && own != at.f32 && !self->writes) return NULL;
    }
    return d;
}

/* wengert.arrays.kernels.cast */
static PyObject *cast_to(PyObject *array, PyArray_Descr *d)
{
    PyObject *pair[] = {array, (PyObject *)d}, *found = cast_numbers(NULL, pair, 2);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return PyObject_Vectorcall(at.cast, pair, 2, NULL);
}

/* Truth values and integers as numbers of 16 bits. */
static PyObject *narrowed(PyArrayObject *a, PyArray_Descr *d)
{
    Py_INCREF(d);
    PyArrayObject *found = (PyArrayObject *)PyArray_NewLikeArray(a, NPY_KEEPORDER, d, 0);
    if (!found) return NULL;
    if (PyArray_TYPE(a) == NPY_BOOL && PyArray_IS_C_CONTIGUOUS(a)) {
        const uint16_t one = d->type_num == NPY_HALF ? half_of_double(1) : brain_of_float(1);
        const npy_bool *from = PyArray_DATA(a);
        uint16_t *to = PyArray_DATA(found);
        for (npy_intp i = 0, n = PyArray_SIZE(a); i < n; i++) to[i] = (uint16_t)(from[i] ? one : 0);
    } else if (PyArray_CopyInto(found, a) < 0) Py_CLEAR(found);
    return (PyObject *)found;
}

/* The type of 16 bits of the only floating-point arrays, to which truth values and integers are brought; NULL without an error where
 * there are others. */
static PyArray_Descr *brought_to_half(const Operation *self, struct call *c)
{
    PyArray_Descr *d = NULL;
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p]) continue;
        PyArrayObject *a = (PyArrayObject *)c->raw[p];
        PyArray_Descr *own = PyArray_DESCR(a);
        if (own->type_num <= NPY_ULONGLONG) continue;
        if ((d && d != own) || !PyArray_NDIM(a)) return NULL;
        d = own;
    }
    for (int i = 0; d && i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p] || PyArray_DESCR((PyArrayObject *)c->raw[p]) == d) continue;
        PyObject *found = narrowed((PyArrayObject *)c->raw[p], d);
        if (!found) return NULL;
        Py_SETREF(c->raw[p], found);
    }
    return d;
}

/* The arguments that decide the type, as arrays of the type `d`; `d`, or NULL with an error. */
static PyArray_Descr *brought_to(const Operation *self, struct call *c, PyArray_Descr *d, int halves)
{
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p] || PyArray_DESCR((PyArrayObject *)c->raw[p]) == d) continue;
        if (halves && PyArray_DESCR((PyArrayObject *)c->raw[p]) != at.f32 && PyArray_DESCR((PyArrayObject *)c->raw[p]) != at.f64 &&
            PyArray_IS_C_CONTIGUOUS((PyArrayObject *)c->raw[p])) {
            PyObject *found = cast_to(c->raw[p], d);
            if (!found) return NULL;
            Py_SETREF(c->raw[p], found);
            continue;
        }
        Py_INCREF(d);
        PyObject *array = PyArray_NewLikeArray((PyArrayObject *)c->raw[p], NPY_KEEPORDER, d, 0);
        if (!array) return NULL;
        const int failed = PyArray_CopyInto((PyArrayObject *)array, (PyArrayObject *)c->raw[p]);
        Py_SETREF(c->raw[p], array);
        if (failed) return NULL;
    }
    return d;
}

/* Types of which NumPy joins two as PyTorch does. */
static int is_everyday_integer(PyArray_Descr *d)
{
    const int type = d->type_num;
    return PyArray_ISNBO(d->byteorder) && (type == NPY_BOOL || type == NPY_UINT8 || type == NPY_INT8 || type == NPY_INT16 || type == NPY_INT32 || type == NPY_INT64);
}

/* The type of truth values and integers together: arrays with dimensions decide, if they are of integers; NULL for others. */
static PyArray_Descr *type_of_integers(const Operation *self, const struct call *c)
{
    PyArray_Descr *of[2] = {NULL, NULL}; /* arrays without dimensions, with some */
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p]) continue;
        PyArrayObject *a = (PyArrayObject *)c->raw[p];
        PyArray_Descr *own = PyArray_DESCR(a), **all = &of[PyArray_NDIM(a) > 0];
        if (!is_everyday_integer(own)) return NULL;
        if (*all && *all != own) {
            if (!(own = PyArray_PromoteTypes(*all, own))) return NULL;
            Py_DECREF(own); /* a type of NumPy's own lives on */
        }
        *all = own;
    }
    return of[1] && (of[1]->type_num != NPY_BOOL || !of[0]) ? of[1] : of[0];
}

/* The type to which different types are brought, as they then are; NULL where it is not as simple as that. */
static PyArray_Descr *brought_together(const Operation *self, struct call *c)
{
    int wide[2] = {0, 0}, some[2] = {0, 0}; /* floating-point arrays without dimensions, with some */
    int halves = 0, unsigned_wide = 0, complexes[2] = {0, 0};
    for (int i = 0; i < self->floats; i++) {
        const int p = self->float_at[i];
        if (!c->owned[p]) continue;
        if (PyList_CheckExact(c->raw[p])) return NULL;
        PyArrayObject *a = (PyArrayObject *)c->raw[p];
        PyArray_Descr *own = PyArray_DESCR(a);
        if (own->type_num == NPY_BOOL && self->mixes == NO_TRUTHS) return NULL;
        if (own == at.f32 || own == at.f64 || own == at.c64 || own == at.c128) {
            some[PyArray_NDIM(a) > 0] = 1;
            wide[PyArray_NDIM(a) > 0] |= own == at.f64 || own == at.c128;
            complexes[PyArray_NDIM(a) > 0] |= own == at.c64 || own == at.c128;
        } else if (own->type_num == NPY_HALF || is_brain(own->type_num)) halves = 1;
        else if (own->type_num > NPY_ULONGLONG || !PyArray_ISNBO(own->byteorder)) return NULL; /* not an integer either */
        else unsigned_wide |= PyTypeNum_ISUNSIGNED(own->type_num) && own->type_num != NPY_UBYTE; /* which PyTorch does not join to complex numbers */
    }
    if (self->mixes == NO_TRUTHS && halves) return NULL;
    if (halves && !some[0] && !some[1] && !complexes[0] && !complexes[1]) return brought_to_half(self, c);
    if (!halves && !some[0] && !some[1]) {
        PyArray_Descr *d = self->writes ? NULL : type_of_integers(self, c);
        return d ? brought_to(self, c, d, 0) : NULL;
    }
    if (!some[1] && (halves || !some[0])) return NULL;
    if ((complexes[0] || complexes[1]) && (halves || unsigned_wide || (self->halves & REAL))) return NULL;
    const int width = wide[some[1]];
    return brought_to(self, c, complexes[0] || complexes[1] ? (width ? at.c128 : at.c64) : width ? at.f64 : at.f32, halves);
}

/* The default floating type, if it is one of ours; else NULL. */
static PyArray_Descr *default_float(void)
{
    PyObject *found = PyObject_CallNoArgs(at.default_float);
    Py_XDECREF(found); /* a type of NumPy's own lives on */
    return found == (PyObject *)at.f32 || found == (PyObject *)at.f64 ? (PyArray_Descr *)found : NULL;
}

/* The arguments of the type `d` as those of the type that they have with a Python number, or as floating-point numbers where the operator
 * wants those; NULL where it is not as simple as that. */
static PyArray_Descr *brought_to_number(const Operation *self, struct call *c, PyArray_Descr *d, int number)
{
    if (!self->mixes || self->writes || (self->mixes == NO_TRUTHS && d->type_num == NPY_BOOL)) return d;
    PyObject *value = number >= 0 ? c->args[number] : NULL;
    PyArray_Descr *wanted = d;
    const int integer = is_everyday_integer(d);
    if (integer && (self->promote == TO_FLOAT || (value && !PyLong_CheckExact(value)))) {
        if (!(wanted = default_float())) return NULL;
    } else if (value && PyLong_CheckExact(value) && d->type_num == NPY_BOOL) {
        wanted = PyArray_DescrFromType(NPY_INT64);
        Py_DECREF(wanted);
    }
    if (value && PyComplex_CheckExact(value) && (wanted == at.f32 || wanted == at.f64)) {
        if (self->halves & REAL) return NULL;
        wanted = wanted == at.f64 ? at.c128 : at.c64;
    }
    if (wanted == d) return d;
    for (int i = 0; i < self->floats; i++) /* a list is not taken apart here */
        if (c->owned[self->float_at[i]] && PyList_CheckExact(c->raw[self->float_at[i]])) return NULL;
    return brought_to(self, c, wanted, 0);
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
    for (int axis = 0; axis < PyArray_NDIM(a); axis++) {
        const npy_intp step = PyArray_STRIDE(a, axis);
        if (!step) continue;
        if (step < 0 || step >= before) return 0;
        before = step;
    }
    return 1;
}

/* Whether `a` alone says how a result of its shape lies: it steps along each axis, along no two as far. */
static int decides(PyArrayObject *a)
{
    const npy_intp *steps = PyArray_STRIDES(a);
    for (int axis = 0; axis < PyArray_NDIM(a); axis++) {
        if (PyArray_DIM(a, axis) == 1 || steps[axis] <= 0) return 0;
        for (int other = 0; other < axis; other++)
            if (steps[other] == steps[axis]) return 0;
    }
    return 1;
}

/* The tensor that was passed as argument `i`, as it lay in memory: not converted, but computed where it is a lazy conjugate. */
static PyArrayObject *as_given(const struct call *c, int i)
{
    PyObject *array = SLOT(c->args[i], at.data);
    return (PyArrayObject *)(is_lazy(array) ? c->raw[i] : array);
}

/* Whether a result obviously lies in memory as its operands do: all row by row, or all with the same steps; or as the
 * first of them, where that decides. */
int in_order(const Operation *self, const struct call *c, PyArrayObject *y)
{
    const int n = PyArray_NDIM(y), rows = PyArray_IS_C_CONTIGUOUS(y);
    int alike = 1, whole = rows, first = 1;
    for (int i = 0; i < self->params && (alike || whole); i++) {
        if ((self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) || !c->owned[i]) continue;
        PyArrayObject *a = as_given(c, i);
        whole = whole && descends(a);
        alike = alike && PyArray_NDIM(a) == n && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(y), n) &&
                PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(y), n);
        if (first && alike && decides(a)) return 1;
        first = 0;
    }
    return whole || alike;
}

/* The first operand, where it alone says how the result lies; NULL elsewhere. */
static PyArrayObject *deciding(const Operation *self, const struct call *c, PyArrayObject *y)
{
    for (int i = 0; i < self->params; i++) {
        if ((self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) || !c->owned[i]) continue;
        PyArrayObject *a = as_given(c, i);
        return PyArray_SAMESHAPE(a, y) && decides(a) ? a : NULL;
    }
    return NULL;
}

enum { WORTH_TURNING = 1024 }; /* numbers */

/* A copy of `y` whose axes lie in memory in the order of those of `like`, which has no gaps; large ones are turned in tiles. */
static PyObject *in_order_like(PyArrayObject *y, PyArrayObject *like)
{
    npy_intp axes[NPY_MAXDIMS], places[NPY_MAXDIMS];
    const int n = PyArray_NDIM(y);
    for (int axis = 0; axis < n; axis++) {
        int k = axis;
        for (; k && PyArray_STRIDE(like, axes[k - 1]) < PyArray_STRIDE(like, axis); k--) axes[k] = axes[k - 1];
        axes[k] = axis;
    }
    for (int k = 0; k < n; k++) places[axes[k]] = k;
    PyArray_Dims outer_first = {axes, n}, back = {places, n};
    PyObject *turned = PyArray_Transpose(y, &outer_first), *rows = turned ? layout_rows(turned) : NULL;
    PyObject *copy = rows ? PyArray_Transpose((PyArrayObject *)rows, &back) : NULL;
    Py_XDECREF(turned);
    Py_XDECREF(rows);
    return copy;
}

/* Axes from the one with the largest steps to that with the smallest, by the first operand that steps along both of two:
 * wengert.arrays.layouts.order_of. */
enum { FEW_AXES = 8 };
static void order_of(const npy_intp (*steps)[FEW_AXES], int operands, const npy_intp *shape, int n, int *order)
{
    int decided = 1;
    for (int d = 0; d < n; d++) {
        order[d] = n - 1 - d;
        decided = decided && steps[0][d];
        for (int k = 0; k < d; k++) decided = decided && steps[0][k] != steps[0][d];
    }
    for (int i = 1; i < n; i++)
        for (int at = i, k = i - 1; k >= 0; k--) {
            const int a = order[k], b = order[at];
            int after = 0;
            for (int o = 0; o < (decided ? 1 : operands) && !after; o++) {
                if (!steps[o][a] || !steps[o][b]) continue;
                after = steps[o][a] < steps[o][b] ? -1 : steps[o][a] > steps[o][b] || shape[a] > shape[b];
            }
            if (after < 0) break;
            if (after) order[k] = b, order[at] = a, at = k;
        }
}

/* The steps of a result of the shape of `y`: wengert.arrays.layouts.result_strides; 0 where Python has to say them. */
static int steps_between(const Operation *self, const struct call *c, PyArrayObject *y, npy_intp *strides)
{
    npy_intp steps[MAX_PARAMS][FEW_AXES];
    char all[FEW_AXES];
    int operands = 0, alike = 1, order[NPY_MAXDIMS];
    const int n = PyArray_NDIM(y);
    PyArrayObject *before = NULL;
    if (n < 2 || n > FEW_AXES || !PyArray_SIZE(y)) return 0;
    for (int i = 0; i < self->params; i++) {
        if ((self->kind[i] != TENSOR && self->kind[i] != OPTIONAL) || !c->owned[i]) continue;
        PyArrayObject *a = as_given(c, i);
        const int lead = n - PyArray_NDIM(a);
        if (lead == n) continue;
        if (lead < 0) return 0;
        alike = alike && PyArray_SAMESHAPE(a, y) && (!before || PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(before), n));
        for (int d = 0; d < n; d++)
            steps[operands][d] = d < lead || (PyArray_DIM(a, d - lead) == 1 && PyArray_DIM(y, d) != 1) ? 0 : PyArray_STRIDE(a, d - lead);
        operands++, before = a;
    }
    memset(all, 1, sizeof all);
    if (!operands) return 0;
    if (alike && memory_order(before, all, order)) { /* without gaps */
        for (int d = 0; d < n; d++) strides[d] = PyArray_STRIDE(before, d) / PyArray_ITEMSIZE(before) * PyArray_ITEMSIZE(y);
        return 1;
    }
    order_of(steps, operands, PyArray_DIMS(y), n, order);
    npy_intp step = PyArray_ITEMSIZE(y);
    for (int i = 0; i < n; i++) strides[order[i]] = step, step *= PyArray_DIM(y, order[i]);
    return 1;
}

/* wengert.arrays.layouts.in_order_of; takes over `y`. */
PyObject *ordered(const Operation *self, const struct call *c, PyObject *y)
{
    PyArrayObject *first = PyArray_CheckExact(y) && PyArray_SIZE((PyArrayObject *)y) ? deciding(self, c, (PyArrayObject *)y) : NULL;
    if (first) { /* that order, copied without asking Python */
        PyArray_Descr *d = PyArray_DESCR((PyArrayObject *)y);
        Py_INCREF(d);
        PyArrayObject *like = (PyArrayObject *)PyArray_NewLikeArray(first, NPY_KEEPORDER, d, 0);
        if (like && PyArray_CompareLists(PyArray_STRIDES(like), PyArray_STRIDES((PyArrayObject *)y), PyArray_NDIM(like))) {
            Py_DECREF(like);
            return y;
        }
        if (like && PyArray_SIZE(like) >= WORTH_TURNING) Py_SETREF(like, (PyArrayObject *)in_order_like((PyArrayObject *)y, like));
        else if (like && PyArray_CopyInto(like, (PyArrayObject *)y) < 0) Py_CLEAR(like);
        Py_DECREF(y);
        return (PyObject *)like;
    }
    npy_intp strides[FEW_AXES];
    if (PyArray_CheckExact(y) && steps_between(self, c, (PyArrayObject *)y, strides)) {
        PyArrayObject *given = (PyArrayObject *)y;
        int d = PyArray_NDIM(given);
        while (d && (PyArray_DIM(given, d - 1) == 1 || PyArray_STRIDE(given, d - 1) == strides[d - 1])) d--;
        if (!d) return y;
        Py_INCREF(PyArray_DESCR(given));
        PyArrayObject *laid = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(given), PyArray_NDIM(given), PyArray_DIMS(given), strides, NULL, 0, NULL);
        if (laid && PyArray_CopyInto(laid, given) < 0) Py_CLEAR(laid);
        Py_DECREF(y);
        return (PyObject *)laid;
    }
    PyObject *operands = PyList_New(0), *found = NULL;
    for (int i = 0; operands && i < self->params; i++)
        if ((self->kind[i] == TENSOR || self->kind[i] == OPTIONAL) && c->owned[i] &&
            PyList_Append(operands, (PyObject *)as_given(c, i)) < 0)
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

/* What the kernel or the forward gives for tensors of the type `d`, of 16 bits, as wengert.tensor.arguments.half has it; NULL where it
 * fails, or (without an error) where the general path has to be taken. */
static PyObject *of_halves(const Operation *self, struct call *c, PyArray_Descr *d, PyObject *into)
{
    PyObject *operands[MAX_PARAMS + 1], *wide[MAX_PARAMS], *answer = NULL;
    int n = 0, all = 1, mixed = 0, at_end = 0;
    if (!(self->halves & (IN_FLOAT32 | KERNEL_TAKES))) return forward_of(self, c->raw);
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

/* Whether the first argument is of a type whose views are those of memory alone; notes what is known of its numbers. */
static int is_everyday_type(struct call *c)
{
    PyArray_Descr *d = PyArray_CheckExact(c->raw[0]) ? PyArray_DESCR((PyArrayObject *)c->raw[0]) : NULL;
    if (!d || !PyArray_ISNBO(d->byteorder)) return 0;
    c->conjugates = d == at.c64 || d == at.c128;
    return c->conjugates || d == at.f32 || d == at.f64 || d->type_num <= NPY_ULONGLONG || d->type_num == NPY_HALF || is_brain(d->type_num);
}

int take_view(const Operation *self, struct call *c)
{
    int number;
    return take(self, c, &number) && number < 0 && is_everyday_type(c);
}

/* A Python number as an array of the type `d`, of 16 bits; NULL without an error for the general path. */
static PyObject *boxed_half(PyObject *number, PyArray_Descr *d)
{
    enum { EXACT = 1 << 24 };
    const double value = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
    if (PyErr_Occurred() || (PyLong_CheckExact(number) && fabs(value) > EXACT)) return NULL;
    Py_INCREF(d);
    PyObject *box = PyArray_NewFromDescr(&PyArray_Type, d, 0, NULL, NULL, NULL, 0, NULL);
    if (box) *(uint16_t *)PyArray_DATA((PyArrayObject *)box) = d->type_num == NPY_HALF ? half_of_double(value) : brain_of_float((float)value);
    return box;
}

/* A Python number among the arguments as an array; 0 with an error. */
static int box(struct call *c, int number, int type)
{
    if (!(c->boxed = PyArray_SimpleNew(0, NULL, type))) return 0;
    if (PyArray_SETITEM((PyArrayObject *)c->boxed, PyArray_BYTES((PyArrayObject *)c->boxed), c->args[number]) < 0) return 0;
    c->raw[number] = c->boxed;
    return 1;
}

/* What the kernel of tensors and numbers gives, in the memory that an in-place form is about to write where there is such; NULL (perhaps
 * with an error) where the forward has to say it. */
static PyObject *by_numbers(const Operation *self, const struct call *c)
{
    PyObject *operands[2 * MAX_PARAMS + 1], *numbers = NULL;
    int n = 0, tensors = 0;
    for (; n < self->params; n++) {
        if (self->kind[n] == TENSOR ? !PyArray_CheckExact(c->raw[n]) : !PyFloat_CheckExact(c->raw[n]) && !PyLong_CheckExact(c->raw[n])) return NULL;
        operands[n] = c->raw[n];
        tensors += self->kind[n] == TENSOR;
    }
    if (self->numbers_of) {
        numbers = PyObject_Vectorcall(self->numbers_of, operands + tensors, n - tensors, NULL);
        if (!numbers || !PyTuple_CheckExact(numbers) || PyTuple_GET_SIZE(numbers) > MAX_PARAMS) {
            Py_XDECREF(numbers);
            return NULL;
        }
        for (n = tensors; n < tensors + PyTuple_GET_SIZE(numbers); n++) operands[n] = PyTuple_GET_ITEM(numbers, n - tensors);
    }
    if (self->writes && may_write_to((PyArrayObject *)c->raw[0])) operands[n++] = c->raw[0];
    PyObject *found = PyObject_Vectorcall(self->numbered, operands, n, NULL);
    Py_XDECREF(numbers);
    return found;
}

/* What the kernel or the forward gives; NULL where it fails or the general path has to be taken, which `general` says. `into`: where
 * the kernel writes its result, or NULL. */
PyObject *computed(const Operation *self, struct call *c, PyObject *into, int *general)
{
    PyObject *answer = NULL;
    int number;
    *general = 1;
    if (!take(self, c, &number)) return NULL;
    if (self->early && is_everyday_type(c)) {
        if ((answer = view_of(self, c))) return answer;
        if (PyErr_Occurred()) {
            *general = 0;
            return NULL;
        }
    }
    PyArray_Descr *d = common_type(self, c);
    if (!d && self->mixes) d = brought_together(self, c);
    if (!d && !self->mixes) d = mixed_type(self, c);
    if (!d || !(d = brought_to_number(self, c, d, number))) return NULL;
    const int floating = d == at.f32 || d == at.f64;
    c->conjugates = !(self->halves & REAL) && (d == at.c64 || d == at.c128);
    if (number >= 0 && PyComplex_CheckExact(c->args[number])) {
        if (!c->conjugates || (self->promote == NO_PROMOTION && !(self->halves & KERNEL_TAKES)) || !box(c, number, d->type_num)) return NULL;
        number = -1;
    }
    const int half = PyArray_ISNBO(d->byteorder) && (d->type_num == NPY_HALF || is_brain(d->type_num));
    if (half) {
        if (number >= 0 && (self->promote != NO_PROMOTION || self->halves & KERNEL_TAKES) && !(self->halves & IN_FLOAT32)) {
            if (!(c->boxed = boxed_half(c->args[number], d))) return NULL;
            c->raw[number] = c->boxed;
            number = -1;
        }
    } else if (!floating && !c->conjugates) {
        /* Integers of one type: no promotion, no gradient, and the forward itself. */
        if (d->type_num > NPY_ULONGLONG || !PyArray_ISNBO(d->byteorder) || self->promote == TO_FLOAT) return NULL;
        const int kept = self->writes && self->promote == NO_PROMOTION;
        if (number >= 0 && !kept && (!PyLong_CheckExact(c->args[number]) || d->type_num == NPY_BOOL)) return NULL;
    }
    if (self->row && PyList_CheckExact(c->raw[0])) {
        if ((answer = self->row(c->raw))) return answer;
        PyErr_Clear();
    }
    const int by_kernel = floating && self->kernel != Py_None && all_defaults(self, c->args);
    /* Where arguments are promoted, a forward expects arrays, and so do most rules of a number that comes first. */
    if (number >= 0 && self->promote != NO_PROMOTION && (!by_kernel || (number == 0 && !(self->numbers & RULES_TAKE_FIRST))) &&
        !box(c, number, half ? NPY_FLOAT : d->type_num))
        return NULL;
    if (by_kernel) {
        PyObject *operands[MAX_PARAMS + 1];
        int n = 0;
        for (int i = 0; i < self->params; i++)
            if (self->kind[i] == TENSOR || self->kind[i] == OPTIONAL) operands[n++] = c->raw[i];
        if (into) operands[n++] = into;
        answer = PyFunction_Check(self->kernel) ? quietly(self->kernel, operands, n, NULL) : PyObject_Vectorcall(self->kernel, operands, n, NULL);
        if (answer == Py_NotImplemented) Py_CLEAR(answer);
    } else if (floating && self->numbered != Py_None) answer = by_numbers(self, c);
    if (half) answer = of_halves(self, c, d, into);
    else if (!answer && !PyErr_Occurred()) answer = forward_of(self, c->raw);
    if (!answer && PyErr_Occurred())
        *general = PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError) ||
                   PyErr_ExceptionMatches(PyExc_IndexError) || PyErr_ExceptionMatches(PyExc_OverflowError) ||
                   PyErr_ExceptionMatches(PyExc_RuntimeError) || /* over a value, where another is of the wrong kind */
                   PyErr_ExceptionMatches(PyExc_AttributeError); /* a forward that wants arrays was given a number */
    return answer;
}
