/* New tensors by everyday arguments: of one number, of ranges, of random numbers. What wengert.functions.creation, ranges and random make
 * of numbers, tuples of sizes and one of our types on the CPU, where nothing but the grad mode is in force; to everything else, errors
 * among it, the answer is NotImplemented. */
#include "operation.h"

#include "draws.h"
#include "fast.h"
#include "half.h"

enum { MANY = 1 << 16, FILLED = 1 << 20 }; /* elements that are computed, or set to one number, while other threads wait; DRAWN: that are drawn */

static struct {
    PyObject *types, *cpu, *strided, *levels, *stream; /* the names of arrays.dtypes; CPU; torch.strided; map_levels; the default generator */
    PyObject *default_, *stream_, *bits_, *untouched_, *spare_, *lock_, *locked_;
} known;

/* What is in force where a tensor is made. */
struct state {
    PyObject *grad_scope; /* owned, or NULL */
    int inference;
};

static int read_state(struct state *s)
{
    PyObject *modes = NULL;
    *s = (struct state){NULL, 0};
    if (!at.tensor || !known.types || PyContextVar_Get(at.modes, NULL, &modes) < 0) return 0;
    int plain = modes == at.record || modes == at.silent;
    if (modes == at.inference) s->inference = plain = 1;
    else if (!plain && SLOT(modes, at.quick) == Py_True) s->grad_scope = Py_NewRef(SLOT(modes, at.grad_scope)), plain = 1;
    Py_DECREF(modes);
    return plain;
}

/* A tensor around the array, which may be NULL: then an error, or nothing, is what there is. */
static PyObject *delivered(PyObject *array, struct state *s)
{
    PyObject *t = array ? tensor_of(array, s->grad_scope, s->inference) : NULL;
    Py_CLEAR(s->grad_scope);
    if (t || PyErr_Occurred()) return t;
    NOT_HANDLED();
}

/* Whether layout, device, requires_grad and what follows are as they are by default. */
static int usual(PyObject *const *options, Py_ssize_t count)
{
    if (count < 3 || (options[0] != Py_None && options[0] != known.strided) || options[2] != Py_False) return 0;
    if (options[1] != Py_None && options[1] != known.cpu && !(PyUnicode_CheckExact(options[1]) && PyUnicode_CompareWithASCIIString(options[1], "cpu") == 0)) return 0;
    for (Py_ssize_t i = 3; i < count; i++)
        if (options[i] != Py_None && options[i] != Py_False) return 0;
    return 1;
}

/* The element type: of None the default one; a new reference, or NULL. */
static PyArray_Descr *type_of(PyObject *dtype)
{
    if (dtype == Py_None) dtype = PyDict_GetItemWithError(known.types, known.default_);
    PyObject *found = dtype && (PyObject *)Py_TYPE(dtype) == at.dtype ? PyObject_GetAttr(dtype, at.np) : NULL;
    if (found && PyArray_DescrCheck(found) && (((PyArray_Descr *)found)->type_num <= NPY_CDOUBLE || ((PyArray_Descr *)found)->type_num == NPY_HALF || is_brain(((PyArray_Descr *)found)->type_num))) return (PyArray_Descr *)found;
    Py_XDECREF(found);
    PyErr_Clear();
    return NULL;
}

/* Sizes (`starred`: those that f(*sizes) was given, one sequence perhaps); -1 where they are not whole numbers from 0 up, or many. */
static int read_sizes(PyObject *sizes, int starred, npy_intp *shape)
{
    const npy_intp most = (npy_intp)1 << 40;
    npy_intp total = 1;
    if (starred && PyTuple_CheckExact(sizes) && PyTuple_GET_SIZE(sizes) == 1 && !PyLong_CheckExact(PyTuple_GET_ITEM(sizes, 0))) sizes = PyTuple_GET_ITEM(sizes, 0);
    if (!PyTuple_Check(sizes) && !PyList_CheckExact(sizes)) return -1;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(sizes);
    if (n > NPY_MAXDIMS) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *size = PySequence_Fast_GET_ITEM(sizes, i);
        shape[i] = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (shape[i] < 0 || shape[i] > most / total) {
            PyErr_Clear();
            return -1;
        }
        if (shape[i]) total *= shape[i];
    }
    return (int)n;
}

/* A Python number that float64 holds exactly; `whole`: whether it is an int. */
static int number_of(PyObject *given, double *value, int *whole)
{
    const double most = 9007199254740992.0;
    if ((*whole = PyLong_CheckExact(given))) {
        *value = PyLong_AsDouble(given);
        if (*value == -1 && PyErr_Occurred()) PyErr_Clear();
        else return fabs(*value) <= most;
    } else if (PyFloat_CheckExact(given)) {
        *value = PyFloat_AS_DOUBLE(given);
        return 1;
    }
    return 0;
}

/* ---- one number everywhere ---- */

#define EVERYWHERE(TYPE)                                                                            \
    {                                                                                               \
        const TYPE one = (TYPE)value;                                                               \
        kernels->scatter((char *)to, sizeof one, 0, (const char *)&one, sizeof one, n, 0, 1, 0);     \
        return 1;                                                                                   \
    }

/* Fill it; 0 where the type does not obviously hold the number. */
static int fill(PyArrayObject *a, PyObject *number)
{
    const npy_intp n = PyArray_SIZE(a);
    void *to = PyArray_DATA(a);
    double value;
    int whole = 0;
    if (PyBool_Check(number)) value = number == Py_True, whole = 1;
    else if (!number_of(number, &value, &whole)) return 0;
    switch (PyArray_TYPE(a)) {
    case NPY_BOOL:
        value = value != 0;
        EVERYWHERE(npy_bool)
    case NPY_FLOAT:
        if (isfinite(value) && fabs(value) > 3e38) return 0;
        EVERYWHERE(float)
    case NPY_DOUBLE:
        EVERYWHERE(double)
    case NPY_HALF:
        if (isfinite(value) && fabs(value) > 65504) return 0;
        value = half_of_double(value);
        EVERYWHERE(uint16_t)
    }
    if (is_brain(PyArray_TYPE(a))) {
        if (isfinite(value) && fabs(value) > 3e38) return 0;
        value = brain_of_float((float)value);
        EVERYWHERE(uint16_t)
    }
    if (!whole || (PyArray_TYPE(a) != NPY_INT64 && (value < 0 || value > 127))) return 0;
    if (PyArray_TYPE(a) == NPY_INT64) EVERYWHERE(int64_t)
    return PyArray_FillWithScalar(a, number) == 0;
}

/* filled(number, like, sizes, dtype, layout, device, requires_grad, ...): `number` everywhere, or None: memory as it is. `like`: None, or a
 * tensor whose type and, without sizes (None), whose shape it has. Without a type and a tensor ...: that of the number, if `of_number`. */
static PyObject *filled_with(PyObject *const *args, Py_ssize_t count, int of_number)
{
    struct state s;
    npy_intp shape[NPY_MAXDIMS];
    PyArrayObject *like = NULL, *made = NULL;
    if (count < 7 || !known.types || !usual(args + 4, count - 4)) NOT_HANDLED();
    if (args[1] != Py_None) {
        if (!at.tensor || !has_array(args[1])) NOT_HANDLED();
        like = (PyArrayObject *)SLOT(args[1], at.data);
    }
    if (args[2] == Py_None && !like) NOT_HANDLED();
    const int laid = args[2] == Py_None && !PyArray_IS_C_CONTIGUOUS(like);
    const int ndim = args[2] == Py_None ? PyArray_NDIM(like) : read_sizes(args[2], !of_number, shape);
    if (ndim < 0 || !read_state(&s)) NOT_HANDLED();
    if (args[2] == Py_None) memcpy(shape, PyArray_DIMS(like), ndim * sizeof *shape);
    PyArray_Descr *d = NULL;
    if (args[3] == Py_None && like) {
        if (PyTypeNum_ISNUMBER(PyArray_TYPE(like)) || PyArray_TYPE(like) == NPY_BOOL || is_brain(PyArray_TYPE(like))) d = (PyArray_Descr *)Py_NewRef(PyArray_DESCR(like));
    } else if (args[3] == Py_None && of_number && !PyFloat_CheckExact(args[0])) d = PyArray_DescrFromType(PyBool_Check(args[0]) ? NPY_BOOL : NPY_INT64);
    else d = type_of(args[3]);
    npy_intp total = 1;
    for (int i = 0; i < ndim; i++) total *= shape[i];
    if (!d) goto done;
    const int zeros = PyLong_CheckExact(args[0]) && PyLong_AsLong(args[0]) == 0;
    if (laid && total <= FILLED) {
        made = laid_like(like, d);
        Py_DECREF(d);
        if (made && zeros) memset(PyArray_DATA(made), 0, PyArray_NBYTES(made));
        else if (made && args[0] != Py_None && !fill(made, args[0])) Py_CLEAR(made);
    } else if (laid) Py_DECREF(d);
    else if (zeros) made = (PyArrayObject *)PyArray_Zeros(ndim, shape, d, 0);
    else if (total > FILLED && args[0] != Py_None) Py_DECREF(d);
    else {
        made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, ndim, shape, NULL, NULL, 0, NULL);
        if (made && args[0] != Py_None && !fill(made, args[0])) {
            Py_CLEAR(made);
            PyErr_Clear();
        }
    }
done:
    return delivered((PyObject *)made, &s);
}

static PyObject *filled(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return filled_with(args, count, 0);
}

/* full(number, sizes, dtype, layout, device, requires_grad, ...) */
static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *row[16];
    (void)module;
    if (count < 6 || count > 14 || args[0] == Py_None || args[1] == Py_None) NOT_HANDLED();
    row[0] = args[0], row[1] = Py_None;
    for (Py_ssize_t i = 1; i < count; i++) row[i + 1] = args[i];
    return filled_with(row, count + 1, 1);
}

/* identity(n, m, dtype, layout, device, requires_grad, ...) */
static PyObject *identity(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct state s;
    npy_intp shape[2];
    (void)module;
    if (count < 6 || !known.types || !usual(args + 3, count - 3)) NOT_HANDLED();
    for (int i = 0; i < 2; i++) {
        PyObject *size = args[i] == Py_None && i ? args[0] : args[i];
        shape[i] = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (shape[i] < 0 || shape[i] > MANY) {
            PyErr_Clear();
            NOT_HANDLED();
        }
    }
    PyArray_Descr *d = type_of(args[2]);
    if (!d || !read_state(&s)) {
        Py_XDECREF(d);
        NOT_HANDLED();
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_Zeros(2, shape, d, 0);
    for (npy_intp i = 0; made && i < shape[0] && i < shape[1]; i++) {
        char *to = PyArray_GETPTR2(made, i, i);
        if (PyArray_TYPE(made) == NPY_FLOAT) *(float *)to = 1;
        else if (PyArray_SETITEM(made, to, at.one) < 0) Py_CLEAR(made);
    }
    return delivered((PyObject *)made, &s);
}

/* ---- ranges ---- */

static PyArrayObject *line(PyArray_Descr *d, npy_intp n)
{
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, 1, &n, NULL, NULL, 0, NULL);
}

/* counted(start, end, step, dtype, layout, device, requires_grad, ...): without an end (None), `start` is one */
static PyObject *counted(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct state s;
    double from = 0, to, step;
    int whole[3] = {1, 1, 1};
    (void)module;
    if (count < 7 || !known.types || !usual(args + 4, count - 4)) NOT_HANDLED();
    const int alone = args[1] == Py_None;
    if ((!alone && !number_of(args[0], &from, &whole[0])) || !number_of(args[alone ? 0 : 1], &to, &whole[1]) || !number_of(args[2], &step, &whole[2])) NOT_HANDLED();
    const int integral = whole[0] && whole[1] && whole[2];
    if (!step || !isfinite(from) || !isfinite(to) || !isfinite(step) || (to - from) / step < 0) NOT_HANDLED();
    const double quotient = ceil((to - from) / step);
    if (!(quotient < MANY) || fabs(from) + quotient * fabs(step) > 9007199254740992.0) NOT_HANDLED();
    npy_intp n = (npy_intp)quotient;
    if (integral) { /* exactly */
        const int64_t span = (int64_t)to - (int64_t)from, by = (int64_t)step;
        n = span / by + (span % by != 0);
    }
    PyArray_Descr *d = integral && args[3] == Py_None ? PyArray_DescrFromType(NPY_INT64) : type_of(args[3]);
    const int type = d ? d->type_num : -1;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE && !(integral && type == NPY_INT64)) || !read_state(&s)) {
        Py_XDECREF(d);
        NOT_HANDLED();
    }
    PyArrayObject *made = line(d, n);
    if (!made) return delivered(NULL, &s);
    void *out = PyArray_DATA(made);
    if (integral) {
        const int64_t start = (int64_t)from, by = (int64_t)step;
        if (type == NPY_INT64) for (npy_intp i = 0; i < n; i++) ((int64_t *)out)[i] = start + by * i;
        else if (type == NPY_FLOAT) for (npy_intp i = 0; i < n; i++) ((float *)out)[i] = (float)(start + by * i);
        else for (npy_intp i = 0; i < n; i++) ((double *)out)[i] = (double)(start + by * i);
    } else {
        for (npy_intp i = 0; i < n; i++) {
            const volatile double part = (double)i * step; /* rounded, and not part of a fused operation */
            if (type == NPY_FLOAT) ((float *)out)[i] = (float)(from + part);
            else ((double *)out)[i] = from + part;
        }
    }
    return delivered((PyObject *)made, &s);
}

/* From both ends towards the middle, each product rounded before it is added. */
#define SPACED(TYPE)                                                                          \
    {                                                                                         \
        const TYPE first = (TYPE)from, last = (TYPE)to, step = (last - first) / (TYPE)(n - 1); \
        for (npy_intp i = 0; i < n; i++) {                                                    \
            const volatile TYPE part = step * (TYPE)(i < n / 2 ? i : n - 1 - i);              \
            ((TYPE *)out)[i] = i < n / 2 ? first + part : last - part;                        \
        }                                                                                     \
    }

/* Of a floating type; `base`: NULL, or what is raised to them. */
static PyObject *spaced_with(PyObject *const *args, Py_ssize_t count, PyObject *base)
{
    struct state s;
    double from, to, root = 0;
    int whole;
    if (base && !number_of(base, &root, &whole)) NOT_HANDLED();
    if (count < 7 || !known.types || !usual(args + 4, count - 4)) NOT_HANDLED();
    if (!number_of(args[0], &from, &whole) || !number_of(args[1], &to, &whole) || !PyLong_CheckExact(args[2])) NOT_HANDLED();
    const Py_ssize_t n = PyLong_AsSsize_t(args[2]);
    if (n < 2 || n > MANY) {
        PyErr_Clear();
        NOT_HANDLED();
    }
    PyArray_Descr *d = type_of(args[3]);
    if (!d || (d->type_num != NPY_FLOAT && d->type_num != NPY_DOUBLE) || !read_state(&s)) {
        Py_XDECREF(d);
        NOT_HANDLED();
    }
    PyArrayObject *made = line(d, n);
    if (!made) return delivered(NULL, &s);
    void *out = PyArray_DATA(made);
    const int single = PyArray_TYPE(made) == NPY_FLOAT;
    const double step = (to - from) / (double)(n - 1);
    if (!base && single) SPACED(float)
    else if (!base) SPACED(double)
    for (npy_intp i = 0; base && i < n; i++) { /* in double precision */
        const volatile double part = step * (double)(i < n / 2 ? i : n - 1 - i);
        const double power = pow(root, i < n / 2 ? from + part : to - part);
        if (single) ((float *)out)[i] = (float)power;
        else ((double *)out)[i] = power;
    }
    return delivered((PyObject *)made, &s);
}

/* spaced(start, end, steps, dtype, layout, device, requires_grad, ...) */
static PyObject *spaced(PyObject *module, PyObject *const *args, Py_ssize_t count) { return (void)module, spaced_with(args, count, NULL); }

/* logspaced(base, start, end, steps, dtype, ...): powers of the base */
static PyObject *logspaced(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count < 1) NOT_HANDLED();
    return spaced_with(args + 1, count - 1, args[0]);
}


/* ---- numbers of nested lists ---- */

enum { A_FLOAT = 1, AN_INT = 2, A_TRUTH = 4, ANOTHER = 8 };

static int is_row(PyObject *data) { return PyList_CheckExact(data) || PyTuple_CheckExact(data); }

/* The shape that lists in lists have, by the first of each; -1 where one is empty, or they are many. */
static int shape_of_lists(PyObject *data, npy_intp *shape)
{
    const npy_intp most = (npy_intp)1 << 32;
    npy_intp total = 1;
    int ndim = 0;
    for (; is_row(data); data = PySequence_Fast_GET_ITEM(data, 0)) {
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
        if (!n || ndim == NPY_MAXDIMS || total > most / n) return -1;
        total *= shape[ndim++] = n;
    }
    return ndim;
}

/* Which kinds of numbers they hold; ANOTHER where the lists do not have that shape, too. */
static int kinds_within(PyObject *data, const npy_intp *shape, int ndim)
{
    if (!ndim) return PyFloat_CheckExact(data) ? A_FLOAT : PyBool_Check(data) ? A_TRUTH : PyLong_CheckExact(data) ? AN_INT : ANOTHER;
    if (!is_row(data) || PySequence_Fast_GET_SIZE(data) != *shape) return ANOTHER;
    int kinds = 0;
    for (npy_intp i = 0; i < *shape && kinds < ANOTHER; i++) kinds |= kinds_within(PySequence_Fast_GET_ITEM(data, i), shape + 1, ndim - 1);
    return kinds;
}

/* Write them one behind the other; where the next one goes, or NULL where the type does not obviously hold one. */
static char *write_within(PyObject *data, int ndim, int type, char *to)
{
    double value;
    int whole;
    for (Py_ssize_t i = 0; ndim && to && i < PySequence_Fast_GET_SIZE(data); i++) to = write_within(PySequence_Fast_GET_ITEM(data, i), ndim - 1, type, to);
    if (ndim) return to;
    if (type == NPY_BOOL) return *to = data == Py_True, to + 1;
    if (type == NPY_INT64) return fast_write_number(data, type, to) < 0 ? NULL : to + sizeof(int64_t);
    if (!number_of(data, &value, &whole)) return NULL;
    if (type == NPY_DOUBLE) return *(double *)to = value, to + sizeof value;
    return *(float *)to = (float)value, to + sizeof(float);
}

/* listed(data, dtype, layout, device, requires_grad, ...): a copy of Python's numbers, of a kind, in lists in lists */
static PyObject *listed(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct state s;
    npy_intp shape[NPY_MAXDIMS];
    (void)module;
    if (count < 5 || !known.types || !usual(args + 2, count - 2)) NOT_HANDLED();
    const int ndim = shape_of_lists(args[0], shape), kinds = ndim < 0 ? ANOTHER : kinds_within(args[0], shape, ndim);
    if (kinds >= ANOTHER || (kinds > A_TRUTH)) NOT_HANDLED();
    PyArray_Descr *d = args[1] == Py_None && !(kinds & A_FLOAT) ? PyArray_DescrFromType(kinds == A_TRUTH ? NPY_BOOL : NPY_INT64) : type_of(args[1]);
    const int type = d ? d->type_num : -1;
    const int holds = type == NPY_BOOL ? kinds == A_TRUTH : type == NPY_INT64 ? kinds == AN_INT : (type == NPY_FLOAT || type == NPY_DOUBLE) && kinds < A_TRUTH;
    if (!holds || !read_state(&s)) {
        Py_XDECREF(d);
        NOT_HANDLED();
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, ndim, shape, NULL, NULL, 0, NULL);
    if (made && !write_within(args[0], ndim, type, PyArray_BYTES(made))) Py_CLEAR(made);
    return delivered((PyObject *)made, &s);
}

/* ---- random numbers ---- */

/* The bits of the stream of a generator that nobody else is drawing from, or NULL; `stream`: an owned reference. Until the thread lets
 * go of the interpreter nobody else can begin to. */
static PyObject *bits_of(PyObject *generator, PyObject **stream)
{
    PyObject *lock = PyObject_GetAttr(generator, known.lock_), *locked = lock ? PyObject_CallMethodNoArgs(lock, known.locked_) : NULL, *bits = NULL;
    if (locked == Py_False && (*stream = PyObject_GetAttr(generator, known.stream_))) bits = PyObject_GetAttr(*stream, known.bits_);
    Py_XDECREF(lock);
    Py_XDECREF(locked);
    if (bits != Py_None) return bits;
    Py_DECREF(bits);
    return NULL;
}

/* Fill an array in C order of float32, float64 or (integers, an order) int64; 0 where the definition has to. */
static int draw_into(PyArrayObject *out, PyObject *generator, struct draw *what)
{
    PyObject *stream = NULL, *bits = bits_of(generator, &stream), *spare = NULL;
    int done = 0;
    if (bits && (what->kind == DRAW_NORMAL || what->kind == DRAW_LOG_NORMAL)) {
        if (!(spare = PyObject_GetAttr(stream, known.spare_))) goto end;
        what->has_spare = spare != Py_None;
        what->spare = what->has_spare ? PyFloat_AsDouble(spare) : 0;
    }
    if (bits && !PyErr_Occurred() && PyObject_SetAttr(stream, known.untouched_, Py_False) == 0) {
        done = draw_numbers(bits, what, PyArray_DATA(out), PyArray_SIZE(out), PyArray_TYPE(out));
        if (done && spare) {
            PyObject *left = what->has_spare ? PyFloat_FromDouble(what->spare) : Py_NewRef(Py_None);
            if (!left || PyObject_SetAttr(stream, known.spare_, left) < 0) done = 0;
            Py_XDECREF(left);
        }
    }
end:
    Py_XDECREF(spare);
    Py_XDECREF(bits);
    Py_XDECREF(stream);
    return done;
}

static PyObject *generator_given(PyObject *given)
{
    if (given == Py_None) return known.stream;
    return Py_TYPE(given) == Py_TYPE(known.stream) ? given : NULL;
}

/* Whether no mapped function is running, which says what is random in it. */
static int unmapped(void)
{
    PyObject *levels = NULL;
    if (PyContextVar_Get(known.levels, NULL, &levels) < 0) return 0;
    const int none = !levels || PyTuple_GET_SIZE(levels) == 0;
    Py_XDECREF(levels);
    return none;
}

/* Take the probabilities that an array of float32 or float64 holds, row by row; 0 where they are none. */
static int take_chances(struct draw *what, PyArrayObject *a)
{
    const npy_intp n = PyArray_SIZE(a);
    const int type = PyArray_TYPE(a);
    int fine = PyArray_ISCARRAY_RO(a) && (type == NPY_FLOAT || type == NPY_DOUBLE) && n <= DRAWN;
    what->kind = DRAW_CHANCES, what->chances = PyArray_DATA(a), what->wide_chances = type == NPY_DOUBLE;
    for (npy_intp i = 0; fine && i < n; i++) {
        const double p = what->wide_chances ? ((const double *)what->chances)[i] : (double)((const float *)what->chances)[i];
        fine = p >= 0 && p <= 1;
    }
    return fine;
}

/* chosen(probabilities, generator): ones and zeros in the shape and type of a tensor, whose gradient nobody asks for */
static PyObject *chosen(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct state s;
    struct draw what = {0};
    (void)module;
    PyObject *generator = count == 2 && known.types ? generator_given(args[1]) : NULL;
    if (!generator || !at.tensor || !is_usable(args[0]) || SLOT(args[0], at.meta) != Py_None || SLOT(args[0], at.edge) != Py_None || !unmapped()) NOT_HANDLED();
    PyArrayObject *p = (PyArrayObject *)SLOT(args[0], at.data);
    if (!PyArray_SIZE(p) || !take_chances(&what, p) || !read_state(&s)) NOT_HANDLED();
    PyArrayObject *made = new_like(p, PyArray_NDIM(p), PyArray_DIMS(p));
    if (made && !draw_into(made, generator, &what)) Py_CLEAR(made);
    return delivered((PyObject *)made, &s);
}

/* Take the two numbers of a kind for a type; 0 where they are refused, or more is to be said of them. */
static int take_numbers(struct draw *what, int type, double a, double b)
{
    const int single = type == NPY_FLOAT;
    const double most = single ? 1e38 : 1e300, exact = single ? 0x1p24 : 0x1p53;
    if (!(fabs(a) < most) || !(fabs(b) < most)) return 0;
    what->mean = a, what->std = b;
    switch (what->kind) {
    case DRAW_UNIFORM: what->std = single ? (double)((float)b - (float)a) : b - a; return a <= b;
    case DRAW_NORMAL: return b >= 0;
    case DRAW_TRUTHS: return a >= 0 && a <= 1;
    case DRAW_WAITS: return a > 0;
    case DRAW_CAUCHY: return b > 0;
    case DRAW_LOG_NORMAL: return b > 0;
    case DRAW_TRIALS: return a > 0 && a < 1;
    case DRAW_INTEGERS: /* which the type holds, all of them */
        what->base = (uint64_t)(int64_t)a, what->divisor = (uint64_t)((int64_t)b - (int64_t)a);
        return a < b && (type == NPY_INT64 || (fabs(a) < exact && fabs(b) < exact));
    }
    return 0;
}

/* drawn(kind, low, high, generator, sizes, dtype, layout, device, requires_grad, ...): uniform numbers in [0, 1), normal ones, integers in
 * [low, high), or those below the length in a random order, by the kind; low and high: of normal numbers their mean and deviation, or
 * None; sizes: a tuple, or a tensor whose shape and type is meant */
static PyObject *drawn(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct state s;
    npy_intp shape[NPY_MAXDIMS], total = 1;
    PyArray_Descr *d = NULL;
    (void)module;
    if (count < 9 || !known.types || !usual(args + 6, count - 6) || !PyLong_CheckExact(args[0])) NOT_HANDLED();
    struct draw what = {.kind = (int)PyLong_AsLong(args[0]), .std = 1};
    PyObject *generator = generator_given(args[3]);
    PyArrayObject *like = at.tensor && has_array(args[4]) ? (PyArrayObject *)SLOT(args[4], at.data) : NULL;
    const int whole_numbers = what.kind == DRAW_INTEGERS || what.kind == DRAW_ORDER;
    const int ndim = !like ? read_sizes(args[4], !whole_numbers, shape) : PyArray_IS_C_CONTIGUOUS(like) ? PyArray_NDIM(like) : -1;
    if (ndim < 0 || !generator || !unmapped()) NOT_HANDLED();
    if (like) memcpy(shape, PyArray_DIMS(like), ndim * sizeof *shape);
    for (int i = 0; i < ndim; i++) total *= shape[i];
    if (total < 1 + (what.kind == DRAW_ORDER) || total > DRAWN) NOT_HANDLED();
    double numbers[2] = {0, 0};
    int whole[2] = {1, 1};
    const int given = args[1] != Py_None;
    for (int i = 0; given && i < 2; i++)
        if (!number_of(args[1 + i], &numbers[i], &whole[i])) NOT_HANDLED();
    if (what.kind == DRAW_INTEGERS && !(given && whole[0] && whole[1])) NOT_HANDLED();
    if (args[5] != Py_None || !(like || whole_numbers)) d = type_of(args[5]);
    else d = like ? (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(like)) : PyArray_DescrFromType(NPY_INT64);
    const int type = d ? d->type_num : -1, floating = type == NPY_FLOAT || type == NPY_DOUBLE;
    const int holds = what.kind == DRAW_ORDER ? type == NPY_INT64 : floating || (type == NPY_INT64 && what.kind == DRAW_INTEGERS);
    if (!holds || (given && !take_numbers(&what, type, numbers[0], numbers[1])) || !read_state(&s)) {
        Py_XDECREF(d);
        NOT_HANDLED();
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, ndim, shape, NULL, NULL, 0, NULL);
    if (made && !draw_into(made, generator, &what)) Py_CLEAR(made);
    return delivered((PyObject *)made, &s);
}

struct fill_job {
    PyObject *generator;
    PyArrayObject *chances; /* or NULL */
    double a, b;
    struct draw what;
};

static int filled_randomly(PyArrayObject *out, void *context)
{
    struct fill_job *job = context;
    struct draw *what = &job->what;
    const int type = PyArray_TYPE(out);
    if (type != NPY_FLOAT && type != NPY_DOUBLE && !(type == NPY_INT64 && what->kind == DRAW_INTEGERS)) return 0;
    if (!PyArray_ISCARRAY(out) || !PyArray_SIZE(out) || PyArray_SIZE(out) > DRAWN) return 0;
    if (job->chances ? !PyArray_SAMESHAPE(job->chances, out) || !take_chances(what, job->chances) : !take_numbers(what, type, job->a, job->b)) return 0;
    const int done = draw_into(out, job->generator, what);
    return PyErr_Occurred() ? -1 : done;
}

/* draw_in(tensor, kind, a, b, generator): whether it was filled: with uniform numbers or integers in [a, b), normal ones of mean a and
 * deviation b, ones with probability a (a number or a tensor), waiting times of rate a, and so on */
static PyObject *draw_in(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int whole[2];
    struct fill_job job;
    (void)module;
    if (count != 5 || !known.types || !at.tensor || !PyLong_CheckExact(args[1])) Py_RETURN_FALSE;
    job.generator = generator_given(args[4]), job.a = 0;
    job.what = (struct draw){.kind = (int)PyLong_AsLong(args[1])};
    job.chances = job.what.kind == DRAW_TRUTHS && is_usable(args[2]) ? (PyArrayObject *)SLOT(args[2], at.data) : NULL;
    if (!job.generator || (!job.chances && !number_of(args[2], &job.a, &whole[0])) || !number_of(args[3], &job.b, &whole[1]) || !unmapped()) Py_RETURN_FALSE;
    if (job.what.kind == DRAW_INTEGERS && !(whole[0] && whole[1])) Py_RETURN_FALSE;
    const int done = write_whole(args[0], filled_randomly, &job);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

/* factories(names of arrays.dtypes, CPU, strided, map_levels, the default generator): what the functions here know */
static PyObject *factories(PyObject *module, PyObject *args)
{
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOOO", &PyDict_Type, &known.types, &known.cpu, &known.strided, &known.levels, &known.stream)) return NULL;
    PyObject *kept[] = {known.types, known.cpu, known.strided, known.levels, known.stream};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) Py_INCREF(kept[i]); /* for as long as the process */
    const struct { PyObject **to; const char *name; } names[] = {
        {&known.default_, "_default"}, {&known.stream_, "_stream"}, {&known.bits_, "_bits"}, {&known.untouched_, "_untouched"},
        {&known.spare_, "spare"}, {&known.lock_, "_lock"}, {&known.locked_, "locked"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].to = PyUnicode_InternFromString(names[i].name))) return NULL;
    Py_RETURN_NONE;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef factories_methods[] = {
    {"factories", factories, METH_VARARGS, "Say what factories know."}, METHOD(filled), METHOD(full), METHOD(identity), METHOD(counted), METHOD(listed), METHOD(spaced),
    METHOD(logspaced), METHOD(drawn), METHOD(chosen), METHOD(draw_in), {NULL, NULL, 0, NULL},
};
