/* Views of everyday arrays: x[key] with integers, slices, None and an Ellipsis, as one step from the key to the tensor, and the forwards
 * of operators that give views. Where the numbers lie in memory is as wengert.arrays.strides says; what they do not handle is left to
 * the definitions in Python, errors among it. */
#include "operation.h"

/* A view to be made. */
struct window {
    int ndim;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS]; /* in bytes */
    char *data;
};

/* `d`: the element type, whose reference is taken. */
static PyObject *make_of(PyArrayObject *a, const struct window *w, PyArray_Descr *d)
{
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, d, w->ndim, w->shape, w->strides, w->data, PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
    if (view && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef((PyObject *)a)) < 0) Py_CLEAR(view);
    return view;
}

static PyObject *make(PyArrayObject *a, const struct window *w)
{
    Py_INCREF(PyArray_DESCR(a));
    return make_of(a, w, PyArray_DESCR(a));
}

static void rows_of(const npy_intp *shape, int ndim, npy_intp step, npy_intp *strides)
{
    for (int d = ndim - 1; d >= 0; d--) strides[d] = step, step *= shape[d];
}

/* strides.steps, in bytes; of an array with elements. */
static void steps_of(PyArrayObject *a, npy_intp *row)
{
    if (!PyArray_BASE(a) && PyArray_IS_C_CONTIGUOUS(a)) rows_of(PyArray_DIMS(a), PyArray_NDIM(a), PyArray_ITEMSIZE(a), row);
    else memcpy(row, PyArray_STRIDES(a), PyArray_NDIM(a) * sizeof *row);
}

static inline int is_everyday(PyObject *array)
{
    return PyArray_CheckExact(array) && PyArray_SIZE((PyArrayObject *)array) && PyArray_ITEMSIZE((PyArrayObject *)array);
}

/* ---- keys ---- */

enum { NO_STEP, TO_SELECT, TO_SLICE, TO_INSERT, TO_ALIAS }; /* the last step of a key: by which operator PyTorch would end */

/* A slice of a dimension of `size`: where it begins, its length and step; which kind of step that is; -1 where it is not everyday. */
static int slice_of(PyObject *key, npy_intp size, int last, npy_intp *start, npy_intp *length, npy_intp *step)
{
    const PySliceObject *s = (PySliceObject *)key;
    Py_ssize_t from = 0, to = size, by = 1;
    *start = 0, *length = size, *step = 1;
    if (s->start == Py_None && s->stop == Py_None && s->step == Py_None) return last;
    if ((s->start != Py_None && !PyLong_CheckExact(s->start)) || (s->stop != Py_None && !PyLong_CheckExact(s->stop)) ||
        (s->step != Py_None && !PyLong_CheckExact(s->step)) || PySlice_Unpack(key, &from, &to, &by) < 0 || by < 1)
        return -1;
    const int whole = from == 0 && to >= size && by == 1;
    *length = PySlice_AdjustIndices(size, &from, &to, by), *start = from, *step = by;
    return !whole ? TO_SLICE : last == NO_STEP ? TO_ALIAS : last;
}

/* The whole number of a tensor without dimensions; NULL where it is not that. */
static PyObject *number_in(PyObject *key)
{
    if (!at.tensor || !has_array(key) || PyArray_NDIM((PyArrayObject *)SLOT(key, at.data))) return NULL;
    PyArrayObject *a = (PyArrayObject *)SLOT(key, at.data);
    if (!PyArray_ISALIGNED(a) || !PyArray_ISNBO(PyArray_DESCR(a)->byteorder)) return NULL;
    if (PyArray_TYPE(a) == NPY_INT64) return PyLong_FromLongLong(*(int64_t *)PyArray_DATA(a));
    return PyArray_TYPE(a) == NPY_INT32 ? PyLong_FromLong(*(int32_t *)PyArray_DATA(a)) : NULL;
}

/* A key with numbers in the place of tensors of one number; NULL where others are in it. */
static PyObject *with_numbers(PyObject *key)
{
    if (!PyTuple_CheckExact(key)) return number_in(key);
    const Py_ssize_t count = PyTuple_GET_SIZE(key);
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *k = PyTuple_GET_ITEM(key, i);
        const int plain = PyLong_CheckExact(k) || PySlice_Check(k) || k == Py_None || k == Py_Ellipsis;
        PyObject *item = plain ? Py_NewRef(k) : number_in(k);
        if (item) PyTuple_SET_ITEM(found, i, item);
        else Py_CLEAR(found);
    }
    return found;
}

/* What functions.indexing._plain_key says of a key, and strides.part of the view: the operator's key, a new reference, the view and the
 * last step; NULL where there is more to it. */
static PyObject *read_plain_key(PyArrayObject *a, PyObject *key, struct window *w, int *last)
{
    static PyObject *all = NULL;
    if (!all && !(all = PySlice_New(NULL, NULL, NULL))) return NULL;
    PyObject *const *row = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key, *normal[2 * NPY_MAXDIMS];
    const Py_ssize_t count = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    const int ndim = PyArray_NDIM(a);
    int used = 0, inserted = 0, open = 1, d = 0, n = 0;
    if (count > NPY_MAXDIMS) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyLong_CheckExact(row[i]) || PySlice_Check(row[i])) used++;
        else if (row[i] == Py_None) inserted++;
        else if (row[i] != Py_Ellipsis || !open--) return NULL;
    }
    if (used > ndim || ndim + inserted > NPY_MAXDIMS) return NULL;
    npy_intp from[NPY_MAXDIMS], start, step;
    if (inserted) steps_of(a, from);
    else memcpy(from, PyArray_STRIDES(a), ndim * sizeof *from);
    *w = (struct window){.data = PyArray_BYTES(a)};
    *last = NO_STEP;
    for (Py_ssize_t i = 0; i < count; i++) {
        const int o = w->ndim;
        if (row[i] == Py_Ellipsis) {
            for (int k = 0; k < ndim - used; k++, d++, w->ndim++) w->shape[w->ndim] = PyArray_DIM(a, d), w->strides[w->ndim] = from[d], normal[n++] = all;
            continue;
        }
        normal[n++] = row[i];
        if (row[i] == Py_None) {
            w->shape[o] = 1, w->strides[o] = d < ndim ? PyArray_DIM(a, d) * from[d] : PyArray_ITEMSIZE(a), w->ndim++, *last = TO_INSERT;
        } else if (PySlice_Check(row[i])) {
            if ((*last = slice_of(row[i], PyArray_DIM(a, d), *last, &start, &w->shape[o], &step)) < 0 || !w->shape[o]) return NULL;
            w->strides[o] = from[d] * step, w->data += start * PyArray_STRIDE(a, d), w->ndim++, d++;
        } else {
            const Py_ssize_t k = PyLong_AsSsize_t(row[i]), size = PyArray_DIM(a, d);
            if (k < -size || k >= size || PyErr_Occurred()) return NULL;
            w->data += (k < 0 ? k + size : k) * PyArray_STRIDE(a, d), d++, *last = TO_SELECT;
        }
    }
    const int alias = *last == NO_STEP; /* whole dimensions, or nothing: x[...] */
    const int whole = PyTuple_CheckExact(key) && open == 1; /* dimensions that a tuple without an Ellipsis leaves over are written out */
    for (; d < ndim; d++, w->ndim++) {
        w->shape[w->ndim] = PyArray_DIM(a, d), w->strides[w->ndim] = from[d];
        if (whole) normal[n++] = all;
    }
    if (alias) *last = TO_ALIAS, n = 0;
    PyObject *found = PyTuple_New(n + 1);
    for (int i = 0; found && i < n; i++) PyTuple_SET_ITEM(found, i, Py_NewRef(normal[i]));
    if (found) PyTuple_SET_ITEM(found, n, Py_NewRef(Py_Ellipsis));
    return found;
}

static PyObject *read_key(PyArrayObject *a, PyObject *key, struct window *w, int *last)
{
    PyObject *found = read_plain_key(a, key, w, last), *plain = found || PyErr_Occurred() ? NULL : with_numbers(key);
    if (plain) found = read_plain_key(a, plain, w, last);
    Py_XDECREF(plain);
    return found;
}

/* window(array, key): the view array[key], which has elements */
static PyObject *window(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct window w;
    int last;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "window() takes 2 arguments");
    PyObject *key = is_everyday(args[0]) ? read_key((PyArrayObject *)args[0], args[1], &w, &last) : NULL;
    PyErr_Clear();
    if (!key) NOT_HANDLED();
    Py_DECREF(key);
    return make((PyArrayObject *)args[0], &w);
}

/* getitem(tensor, key): the tensor's view, with its node and what is known of it as a view */
static PyObject *getitem(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    static PyObject *names[5];
    struct window w;
    int last;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "getitem() takes 2 arguments");
    if (!at.tensor || !has_array(args[0]) || !is_everyday(SLOT(args[0], at.data))) NOT_HANDLED();
    PyArrayObject *a = (PyArrayObject *)SLOT(args[0], at.data);
    PyObject *key = read_key(a, args[1], &w, &last);
    PyErr_Clear();
    if (!key) NOT_HANDLED();
    if (!names[1]) {
        names[TO_SELECT] = PyUnicode_InternFromString("select_index"), names[TO_SLICE] = PyUnicode_InternFromString("basic_index");
        names[TO_INSERT] = PyUnicode_InternFromString("unsqueeze_index"), names[TO_ALIAS] = PyUnicode_InternFromString("alias_index");
    }
    PyObject *step = PyDict_GetItemWithError(at.native_calls, names[PySlice_Check(args[1]) ? TO_SLICE : last]), *found = NULL;
    if (step && Py_TYPE(step) == &OperationType) {
        PyObject *pair[2] = {args[0], key}, *view = make(a, &w);
        if (view) found = operation_view((Operation *)step, pair, view);
    } else found = Py_NewRef(Py_NotImplemented);
    Py_DECREF(key);
    return found;
}

/* setitem(tensor, key, value): True if the value, a number or a tensor that fits, was written */
static PyObject *setitem(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct window w;
    int last, done = 0;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "setitem() takes 3 arguments");
    if (!at.tensor || !has_array(args[0]) || !is_everyday(SLOT(args[0], at.data))) Py_RETURN_FALSE;
    PyObject *key = read_key((PyArrayObject *)SLOT(args[0], at.data), args[1], &w, &last);
    PyErr_Clear();
    if (!key) Py_RETURN_FALSE;
    Py_DECREF(key);
    PyObject *part = make((PyArrayObject *)SLOT(args[0], at.data), &w);
    if (part) done = write_part(args[0], (PyArrayObject *)part, args[2]);
    Py_XDECREF(part);
    if (done < 0 || !part) return NULL;
    PyErr_Clear();
    return PyBool_FromLong(done);
}

/* ---- forwards: (the arguments of the operator) -> a view, or NULL ---- */

/* A tuple of sizes; -1 if it is not that. */
static int read_sizes(PyObject *sizes, npy_intp *to)
{
    if (!PyTuple_CheckExact(sizes) || PyTuple_GET_SIZE(sizes) > NPY_MAXDIMS) return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); i++) {
        PyObject *n = PyTuple_GET_ITEM(sizes, i);
        if (!PyLong_CheckExact(n)) return -1;
        to[i] = PyLong_AsSsize_t(n);
        if (to[i] < -1 || (to[i] == -1 && PyErr_Occurred())) return -1;
    }
    return (int)PyTuple_GET_SIZE(sizes);
}

/* strides._merged: the steps of a view of as many elements in another shape, where each run of dimensions that lie evenly in memory is cut
 * anew; 0 where a dimension would reach over two of them. */
static int cut_anew(PyArrayObject *a, struct window *w)
{
    npy_intp row[NPY_MAXDIMS], run = 1, taken = 1, step = PyArray_ITEMSIZE(a);
    const npy_intp *old = PyArray_DIMS(a);
    int at = w->ndim - 1, d = PyArray_NDIM(a) - 1;
    steps_of(a, row);
    if (d >= 0) step = row[d];
    else while (at >= 0) w->strides[at--] = step;
    for (; d >= 0; d--) {
        run *= old[d];
        if (d && (old[d - 1] == 1 || row[d - 1] == run * step)) continue;
        for (; at >= 0 && (taken < run || w->shape[at] == 1); at--) w->strides[at] = taken * step, taken *= w->shape[at];
        if (taken != run) return 0;
        if (d) step = row[d - 1], run = taken = 1;
    }
    return at < 0;
}

static PyObject *viewed(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.ndim = read_sizes(args[1], w.shape), .data = PyArray_BYTES(a)};
    const npy_intp size = PyArray_SIZE(a);
    npy_intp known = 1;
    int free = -1;
    if (w.ndim < 0) return NULL;
    for (int d = 0; d < w.ndim; d++) {
        if (!w.shape[d] || (w.shape[d] < 0 && free >= 0) || (w.shape[d] > 0 && known > size)) return NULL;
        if (w.shape[d] < 0) free = d;
        else known *= w.shape[d];
    }
    if (free >= 0 ? size % known : size != known) return NULL;
    if (free >= 0) w.shape[free] = size / known;
    return cut_anew(a, &w) ? make(a, &w) : NULL;
}

static PyObject *unsqueezed(PyArrayObject *a, PyObject *const *args)
{
    const int ndim = PyArray_NDIM(a);
    if (!PyLong_CheckExact(args[1]) || ndim == NPY_MAXDIMS) return NULL;
    Py_ssize_t dim = PyLong_AsSsize_t(args[1]);
    if (dim < -ndim - 1 || dim > ndim || PyErr_Occurred()) return NULL;
    if (dim < 0) dim += ndim + 1;
    npy_intp row[NPY_MAXDIMS];
    struct window w = {.ndim = ndim + 1, .data = PyArray_BYTES(a)};
    steps_of(a, row);
    for (int d = 0; d < dim; d++) w.shape[d] = PyArray_DIM(a, d), w.strides[d] = row[d];
    w.shape[dim] = 1, w.strides[dim] = dim < ndim ? PyArray_DIM(a, dim) * row[dim] : PyArray_ITEMSIZE(a);
    for (int d = (int)dim; d < ndim; d++) w.shape[d + 1] = PyArray_DIM(a, d), w.strides[d + 1] = row[d];
    return make(a, &w);
}

static PyObject *expanded(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.ndim = read_sizes(args[1], w.shape), .data = PyArray_BYTES(a)};
    const int ndim = PyArray_NDIM(a), lead = w.ndim - ndim;
    npy_intp row[NPY_MAXDIMS];
    if (w.ndim < 0 || lead < 0 || !ndim) return NULL;
    steps_of(a, row);
    if (!lead) memcpy(row, PyArray_STRIDES(a), ndim * sizeof *row); /* if nothing is repeated, it is the same view */
    int alike = !lead;
    for (int d = w.ndim - 1; d >= 0; d--) {
        const npy_intp have = d < lead ? 0 : PyArray_DIM(a, d - lead);
        if (d >= lead && w.shape[d] == -1) w.shape[d] = have;
        if (w.shape[d] < 1 || (d >= lead && w.shape[d] != have && have != 1)) return NULL;
        alike &= w.shape[d] == have;
    }
    if (!alike) steps_of(a, row);
    for (int d = w.ndim - 1; d >= 0; d--) {
        if (d >= lead) w.strides[d] = w.shape[d] == PyArray_DIM(a, d - lead) ? row[d - lead] : 0;
        else w.strides[d] = w.shape[d] == 1 ? w.shape[d + 1] * w.strides[d + 1] : 0;
    }
    return make(a, &w);
}

/* A Python int as one of `ndim` dimensions; -1 where it is none of them. */
static int read_axis(PyObject *given, int ndim)
{
    if (!PyLong_CheckExact(given)) return -1;
    const Py_ssize_t dim = PyLong_AsSsize_t(given);
    if (dim < -ndim || dim >= ndim || (dim == -1 && PyErr_Occurred())) return -1;
    return (int)(dim < 0 ? dim + ndim : dim);
}

static PyObject *permuted(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.ndim = PyArray_NDIM(a), .data = PyArray_BYTES(a)};
    PyObject *dims = args[1];
    unsigned char seen[NPY_MAXDIMS] = {0};
    if ((!PyTuple_CheckExact(dims) && !PyList_CheckExact(dims)) || PySequence_Fast_GET_SIZE(dims) != w.ndim) return NULL;
    for (int d = 0; d < w.ndim; d++) {
        const int from = read_axis(PySequence_Fast_GET_ITEM(dims, d), w.ndim);
        if (from < 0 || seen[from]++) return NULL;
        w.shape[d] = PyArray_DIM(a, from), w.strides[d] = PyArray_STRIDE(a, from);
    }
    return make(a, &w);
}

static PyObject *exchanged(PyArrayObject *a, int first, int second)
{
    struct window w = {.ndim = PyArray_NDIM(a), .data = PyArray_BYTES(a)};
    if (first < 0 || second < 0) return NULL;
    for (int d = 0; d < w.ndim; d++) {
        const int from = d == first ? second : d == second ? first : d;
        w.shape[d] = PyArray_DIM(a, from), w.strides[d] = PyArray_STRIDE(a, from);
    }
    return make(a, &w);
}

static PyObject *transposed(PyArrayObject *a, PyObject *const *args)
{
    return exchanged(a, read_axis(args[1], PyArray_NDIM(a)), read_axis(args[2], PyArray_NDIM(a)));
}

static PyObject *matrix_transposed(PyArrayObject *a, PyObject *const *args)
{
    (void)args;
    return PyArray_NDIM(a) == 2 ? exchanged(a, 0, 1) : NULL;
}

static PyObject *squeezed(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.data = PyArray_BYTES(a)};
    const int ndim = PyArray_NDIM(a), only = args[1] == Py_None ? ndim : read_axis(args[1], ndim);
    if (only < 0) return NULL;
    for (int d = 0; d < ndim; d++)
        if (PyArray_DIM(a, d) != 1 || (only < ndim && d != only)) w.shape[w.ndim] = PyArray_DIM(a, d), w.strides[w.ndim++] = PyArray_STRIDE(a, d);
    return make(a, &w);
}

static PyObject *diagonal(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.data = PyArray_BYTES(a)};
    const int ndim = PyArray_NDIM(a), rows = read_axis(args[2], ndim), columns = read_axis(args[3], ndim);
    if (rows < 0 || columns < 0 || rows == columns || !PyLong_CheckExact(args[1])) return NULL;
    const Py_ssize_t offset = PyLong_AsSsize_t(args[1]), n = PyArray_DIM(a, rows), m = PyArray_DIM(a, columns);
    if (offset <= -n || offset >= m || (offset == -1 && PyErr_Occurred())) return NULL; /* or without elements */
    for (int d = 0; d < ndim; d++)
        if (d != rows && d != columns) w.shape[w.ndim] = PyArray_DIM(a, d), w.strides[w.ndim++] = PyArray_STRIDE(a, d);
    const Py_ssize_t down = offset < 0 ? n + offset : n, across = offset > 0 ? m - offset : m;
    w.data += offset < 0 ? -offset * PyArray_STRIDE(a, rows) : offset * PyArray_STRIDE(a, columns);
    w.shape[w.ndim] = down < across ? down : across, w.strides[w.ndim++] = PyArray_STRIDE(a, rows) + PyArray_STRIDE(a, columns);
    return make(a, &w);
}

static PyObject *indexed(PyArrayObject *a, PyObject *const *args)
{
    struct window w;
    int last;
    PyObject *key = read_plain_key(a, args[1], &w, &last);
    if (!key) return NULL;
    Py_DECREF(key);
    return make(a, &w);
}

static PyObject *narrowed(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.ndim = PyArray_NDIM(a), .data = PyArray_BYTES(a)};
    const int dim = read_axis(args[1], w.ndim);
    if (dim < 0 || !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3])) return NULL;
    const Py_ssize_t start = PyLong_AsSsize_t(args[2]), length = PyLong_AsSsize_t(args[3]);
    if (start < 0 || length < 1 || length > PyArray_DIM(a, dim) - start || PyErr_Occurred()) return NULL;
    memcpy(w.shape, PyArray_DIMS(a), w.ndim * sizeof *w.shape);
    memcpy(w.strides, PyArray_STRIDES(a), w.ndim * sizeof *w.strides);
    w.shape[dim] = length, w.data += start * w.strides[dim];
    return make(a, &w);
}

static PyObject *unfolded(PyArrayObject *a, PyObject *const *args)
{
    struct window w = {.ndim = PyArray_NDIM(a) + 1, .data = PyArray_BYTES(a)};
    const int last = w.ndim - 1, dim = read_axis(args[1], last);
    if (dim < 0 || last == NPY_MAXDIMS || !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3])) return NULL;
    const Py_ssize_t length = PyArray_DIM(a, dim), size = PyLong_AsSsize_t(args[2]), step = PyLong_AsSsize_t(args[3]);
    if (size < 1 || size > length || step < 1 || PyErr_Occurred()) return NULL;
    memcpy(w.shape, PyArray_DIMS(a), last * sizeof *w.shape);
    memcpy(w.strides, PyArray_STRIDES(a), last * sizeof *w.strides);
    w.shape[last] = size, w.strides[last] = w.strides[dim];
    if (step > NPY_MAX_INTP / (llabs(w.strides[dim]) + 1)) return NULL;
    w.shape[dim] = (length - size) / step + 1, w.strides[dim] *= step;
    return make(a, &w);
}

static PyObject *as_pairs(PyArrayObject *a, PyObject *const *args)
{
    (void)args;
    const int ndim = PyArray_NDIM(a), type = PyArray_TYPE(a);
    struct window w = {.ndim = ndim + 1, .data = PyArray_BYTES(a)};
    if ((type != NPY_CFLOAT && type != NPY_CDOUBLE) || ndim == NPY_MAXDIMS) return NULL;
    for (int d = 0; d < ndim; d++) w.shape[d] = PyArray_DIM(a, d), w.strides[d] = PyArray_STRIDE(a, d);
    w.shape[ndim] = 2, w.strides[ndim] = PyArray_ITEMSIZE(a) / 2;
    return make_of(a, &w, PyArray_DescrFromType(type == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE));
}

static PyObject *of_pairs(PyArrayObject *a, PyObject *const *args)
{
    (void)args;
    const int ndim = PyArray_NDIM(a) - 1, type = PyArray_TYPE(a), width = (int)PyArray_ITEMSIZE(a);
    struct window w = {.ndim = ndim, .data = PyArray_BYTES(a)};
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || ndim < 0 || PyArray_DIM(a, ndim) != 2 || PyArray_STRIDE(a, ndim) != width) return NULL;
    for (int d = 0; d < ndim; d++) {
        w.shape[d] = PyArray_DIM(a, d), w.strides[d] = PyArray_STRIDE(a, d);
        if (w.strides[d] % (2 * width)) return NULL;
    }
    return make_of(a, &w, PyArray_DescrFromType(type == NPY_FLOAT ? NPY_CFLOAT : NPY_CDOUBLE));
}

view_forward view_forward_of(PyObject *op)
{
    static const struct { const char *name; view_forward forward; } known[] = {
        {"view", viewed}, {"reshape", viewed}, {"unsafe_view", viewed}, {"unsqueeze", unsqueezed}, {"expand", expanded}, {"permute", permuted}, {"transpose", transposed},
        {"t", matrix_transposed}, {"numpy_T", matrix_transposed}, {"squeeze", squeezed}, {"diagonal", diagonal},
        {"view_as_real", as_pairs}, {"conj", conjugated_view},
        {"basic_index", indexed}, {"narrow", narrowed}, {"unfold", unfolded}, {"view_as_complex", of_pairs},
    };
    PyObject *name = PyObject_GetAttrString(op, "name");
    view_forward found = NULL;
    for (size_t i = 0; name && PyUnicode_Check(name) && i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) found = known[i].forward;
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

PyObject *view_of(const Operation *self, const struct call *c)
{
    PyObject *found = is_everyday(c->raw[0]) ? self->early((PyArrayObject *)c->raw[0], c->raw) : NULL;
    if (!found && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear(); /* an interrupt stays */
    return found;
}

/* address(array): where its first element lies in memory. */
static PyObject *address(PyObject *module, PyObject *array)
{
    (void)module;
    if (!PyArray_Check(array)) return PyErr_Format(PyExc_TypeError, "address() takes an array");
    return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

PyMethodDef views_methods[] = {
    {"address", address, METH_O, "address(array): where its first element lies in memory."},
    {"window", (PyCFunction)(void (*)(void))window, METH_FASTCALL, "window(array, key): the view array[key]."},
    {"getitem", (PyCFunction)(void (*)(void))getitem, METH_FASTCALL, "getitem(tensor, key): tensor[key], a view."},
    {"setitem", (PyCFunction)(void (*)(void))setitem, METH_FASTCALL, "setitem(tensor, key, value): whether tensor[key] = value was done."},
    {"places", (PyCFunction)(void (*)(void))places, METH_FASTCALL, "places(mask): where it is true, an array for each axis."},
    {NULL, NULL, 0, NULL},
};
