/* NumPy's own element-wise ufuncs with a shorter way in, threads, and no reports of floating-point conditions.
 *
 * fast(ufunc, cost) makes a callable that means what the ufunc means, except that it always returns an array (0-d arrays
 * stay arrays) and never warns. Plain arrays of one real, complex or integer type broadcast or not, and such an
 * array with a Python number, run on NumPy's own inner loop without NumPy's dispatch, in several threads when
 * they are large. Every other call goes to the ufunc, or to a copy of it whose loops are marked as free of
 * floating-point reports where one type is enough. Other attributes (reduce, at ...) are the ufunc's. */
#include "wengert.h"

#include <stddef.h>
#include <structmember.h>

#include "fast.h"
#include "half.h"
#include "pool.h"

/* Loops are kept by the number of the type that all inputs share; bfloat16, whose number is not fixed, comes last. */
enum { BRAIN = NPY_HALF + 1, TYPES };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *ufunc, *quiet; /* quiet: NULL until it is needed */
    int nin, own; /* own: whether its loops are ours, which want whole rows */
    int exact; /* Python numbers beside arrays of 16 bits are taken in float32, not rounded as these are */
    double cost;
    struct loop loops[TYPES];
    struct loop single; /* of float32, which those of 16 bits go through */
} Fast;

int is_brain(int type)
{
    static int known;
    if (type < NPY_USERDEF || known) return known && type == known;
    PyArray_Descr *descriptor = PyArray_DescrFromType(type);
    const char *name = descriptor->typeobj->tp_name, *last = strrchr(name, '.');
    if (!strcmp(last ? last + 1 : name, "bfloat16")) known = type;
    Py_DECREF(descriptor);
    return type == known;
}

int narrow_kind(PyObject *object)
{
    if (!PyArray_Check(object) || !PyArray_ISNOTSWAPPED((PyArrayObject *)object)) return 0;
    const int type = PyArray_TYPE((PyArrayObject *)object);
    return type == NPY_HALF ? 1 : is_brain(type) ? 2 : 0;
}

/* The place in `loops` of a type number, or -1. */
static inline int slot_of(int type)
{
    return type >= 0 && type < BRAIN ? type : is_brain(type) ? BRAIN : -1;
}

/* ---- numbers of 16 bits: widened by blocks, computed in float32, rounded once ---- */

enum { BLOCK = 1024, APART = 16 }; /* buffers a power of two apart would seem to hold what was just written to another */

static void widen(float *to, const char *from, npy_intp step, size n, int brain)
{
    if (step == 2) {
        (brain ? kernels->widen_brain : kernels->widen_half)(to, (const uint16_t *)from, n);
    } else {
        for (size i = 0; i < n; i++) {
            const uint16_t bits = *(const uint16_t *)(from + i * step);
            to[i] = brain ? float_of_brain(bits) : float_of_half(bits);
        }
    }
}

/* `exact`: a bit for each operand that is a number in float32. */
static void widened_loop(const Fast *self, int brain, unsigned exact, char **args, const npy_intp *count, const npy_intp *steps)
{
    float buffer[MAX_OPERANDS][BLOCK + APART];
    const int nin = self->nin, truth = self->single.out_type == NPY_BOOL, rows = self->loops[NPY_FLOAT].rows;
    char *to = args[nin];
    if (rows && rows != ROWS_WANTED && !exact && steps[0] == 2 && steps[1] == 2 && steps[2] == 2) {
        kernels->combine_narrow(rows, brain, (uint16_t *)to, (const uint16_t *)args[0], (const uint16_t *)args[1], *count);
        return;
    }
    for (size at = 0; at < *count; at += BLOCK) {
        npy_intp n = *count - at < BLOCK ? *count - at : BLOCK, own[MAX_OPERANDS];
        char *data[MAX_OPERANDS];
        for (int k = 0; k <= nin; k++) own[k] = sizeof(float), data[k] = (char *)buffer[k];
        for (int k = 0; k < nin; k++) {
            const size there = steps[k] ? n : 1;
            if (at && !steps[k]) continue;
            if (exact >> k & 1) buffer[k][0] = *(const float *)args[k];
            else widen(buffer[k], args[k] + at * steps[k], steps[k], there, brain);
            for (size i = 1; self->own && !steps[k] && i < n; i++) buffer[k][i] = buffer[k][0];
        }
        for (int k = 0; k < nin && !self->own; k++)
            if (!steps[k]) own[k] = 0;
        if (truth) own[nin] = steps[nin], data[nin] = to + at * steps[nin];
        self->single.function(data, &n, own, self->single.data);
        if (truth) continue;
        const float *from = buffer[nin];
        if (steps[nin] == 2) {
            (brain ? kernels->narrow_brain : kernels->narrow_half)((uint16_t *)(to + at * 2), from, n);
        } else {
            for (size i = 0; i < n; i++)
                *(uint16_t *)(to + (at + i) * steps[nin]) = brain ? brain_of_float(from[i]) : half_of_float(from[i]);
        }
    }
}
static void half_loop(char **args, const npy_intp *count, const npy_intp *steps, void *self)
{
    widened_loop(self, 0, 0, args, count, steps);
}
static void brain_loop(char **args, const npy_intp *count, const npy_intp *steps, void *self)
{
    widened_loop(self, 1, 0, args, count, steps);
}

struct exact_call {
    const Fast *self;
    int brain;
    unsigned numbers;
};
static void exact_loop(char **args, const npy_intp *count, const npy_intp *steps, void *data)
{
    const struct exact_call *call = data;
    widened_loop(call->self, call->brain, call->numbers, args, count, steps);
}

/* Signs are the highest bits of both types, so that what looks at no more need not be widened. */
#define SIGN_LOOP(name, expression)                                                                 \
    static void name##_loop(char **args, const npy_intp *count, const npy_intp *steps, void *unused) \
    {                                                                                               \
        const char *from = args[0];                                                                 \
        char *to = args[1];                                                                         \
        const npy_intp n = *count, step = steps[0], out = steps[1];                                 \
        (void)unused;                                                                               \
        if (step == 2 && out == 2)                                                                  \
            for (npy_intp i = 0; i < n; i++) {                                                      \
                const uint16_t x = ((const uint16_t *)from)[i];                                     \
                ((uint16_t *)to)[i] = (uint16_t)(expression);                                       \
            }                                                                                       \
        else                                                                                        \
            for (npy_intp i = 0; i < n; i++) {                                                      \
                const uint16_t x = *(const uint16_t *)(from + i * step);                            \
                *(uint16_t *)(to + i * out) = (uint16_t)(expression);                               \
            }                                                                                       \
    }
SIGN_LOOP(negative, x ^ 0x8000)
SIGN_LOOP(absolute, x & 0x7fff)
/* Nothing where a number is below zero or minus zero, which is up to minus infinity; beyond are NaN. */
enum { MINUS_HALF = 0xfc00, MINUS_BRAIN = 0xff80 };
SIGN_LOOP(relu_half, x >= 0x8000 && x <= MINUS_HALF ? 0 : x)
SIGN_LOOP(relu_brain, x >= 0x8000 && x <= MINUS_BRAIN ? 0 : x)
static inline void relu_grad_bits(char **args, npy_intp n, const npy_intp *steps, uint16_t least)
{
    const uint16_t *g = (const uint16_t *)args[0], *result = (const uint16_t *)args[1];
    uint16_t *to = (uint16_t *)args[2];
    if (steps[0] == 2 && steps[1] == 2 && steps[2] == 2) {
#ifdef __GNUC__
#pragma GCC ivdep
#endif
        for (npy_intp i = 0; i < n; i++) {
            const uint16_t x = result[i], above = (uint16_t)((x - 0x8000u) & 0xffff); /* below zero: from 0 on */
            to[i] = (uint16_t)(g[i] & -(uint16_t)((x != 0) & (above > (uint16_t)(least - 0x8000))));
        }
        return;
    }
    for (npy_intp i = 0; i < n; i++) {
        const uint16_t x = *(const uint16_t *)(args[1] + i * steps[1]);
        *(uint16_t *)(args[2] + i * steps[2]) = (x >= 0x8000 && x <= least) || x == 0 ? 0 : *(const uint16_t *)(args[0] + i * steps[0]);
    }
}
static void relu_grad_half_loop(char **args, const npy_intp *count, const npy_intp *steps, void *unused)
{
    (void)unused;
    relu_grad_bits(args, *count, steps, MINUS_HALF);
}
static void relu_grad_brain_loop(char **args, const npy_intp *count, const npy_intp *steps, void *unused)
{
    (void)unused;
    relu_grad_bits(args, *count, steps, MINUS_BRAIN);
}

static const struct {
    const char *name;
    PyUFuncGenericFunction half, brain;
} of_bits[] = {{"negative", negative_loop, negative_loop}, {"absolute", absolute_loop, absolute_loop}, {"relu", relu_half_loop, relu_brain_loop},
               {"relu_grad", relu_grad_half_loop, relu_grad_brain_loop}};

/* A complex number is negated as two real ones. */
#define NEGATIVE_PAIRS(type, REAL)                                                                         \
    static void negative_pairs_##type(char **args, const npy_intp *count, const npy_intp *steps, void *unused) \
    {                                                                                                      \
        const npy_intp pair = 2 * sizeof(REAL), one_line = steps[0] == pair && steps[1] == pair;           \
        const npy_intp lines = one_line ? 1 : *count, n = one_line ? 2 * *count : 2;                       \
        (void)unused;                                                                                      \
        for (npy_intp k = 0; k < lines; k++) {                                                             \
            const REAL *from = (const REAL *)(args[0] + k * steps[0]);                                     \
            REAL *to = (REAL *)(args[1] + k * steps[1]);                                                   \
            for (npy_intp i = 0; i < n; i++) to[i] = -from[i];                                             \
        }                                                                                                  \
    }
NEGATIVE_PAIRS(F, float)
NEGATIVE_PAIRS(D, double)

int fast_write_number(PyObject *number, int type, void *to)
{
    double value;
    if (type == NPY_INT64) {
        int over = 0;
        *(int64_t *)to = PyLong_CheckExact(number) ? PyLong_AsLongLongAndOverflow(number, &over) : 0;
        return PyLong_CheckExact(number) && !over ? 0 : -1;
    }
    if (PyFloat_CheckExact(number)) value = PyFloat_AS_DOUBLE(number);
    else if (PyLong_CheckExact(number)) {
        value = PyLong_AsDouble(number);
        if (value == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return -1;
        }
    } else return -1;
    if (type == NPY_FLOAT) *(float *)to = (float)value;
    else if (type == NPY_DOUBLE) *(double *)to = value;
    else if (type == NPY_HALF) *(uint16_t *)to = half_of_double(value);
    else if (is_brain(type)) *(uint16_t *)to = brain_of_float((float)value);
    else return -1;
    return 0;
}

static PyObject *fast_short(const Fast *self, PyObject *const *args, PyObject *target);

/* Whether an operand lies the other way round than the loop, which goes in the order of C, so that each element is on another cache line;
 * or is gone through time and again in steps. */
static int jumps(PyArrayObject *x, const struct fast_job *job, const struct layout *layout, int operand)
{
    enum { FAR = 64, MANY = 4096, AGAIN = 8 };
    const int last = layout->ndim - 1;
    npy_intp total = 1;
    for (int axis = 0; axis <= last; axis++) {
        if (layout->order[axis] != axis) return 0;
        total *= layout->shape[axis];
    }
    if (last > 0 && job->strides[operand][last] > PyArray_ITEMSIZE(x) && total >= MANY && PyArray_SIZE(x) * AGAIN <= total) return 1;
    return last > 0 && PyArray_SIZE(x) >= MANY && job->strides[operand][last] >= FAR && layout->shape[last] > 1;
}

/* The call with that operand copied, row by row. */
static PyObject *with_rows(const Fast *self, PyObject *const *args, PyObject *target, int operand)
{
    PyObject *given[MAX_OPERANDS], *result = NULL;
    for (int k = 0; k < self->nin; k++) given[k] = args[k];
    if ((given[operand] = layout_rows(args[operand]))) result = fast_short(self, given, target);
    Py_XDECREF(given[operand]);
    return result;
}

/* The short way; NULL without an error set if this call has to go the long way. `target` is NULL or the output. */
static PyObject *fast_short(const Fast *self, PyObject *const *args, PyObject *target)
{
    const int nin = self->nin;
    struct fast_job job;
    PyArrayObject *first = NULL;
    union { double d; float f; int64_t i; } number[MAX_OPERANDS - 1];
    int same = 1; /* whether all arrays are one line of as many elements */

    for (int k = 0; k < nin; k++) {
        if (!PyArray_CheckExact(args[k])) continue;
        PyArrayObject *array = (PyArrayObject *)args[k];
        if (!PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) return NULL;
        if (!first) first = array;
        else if (PyArray_TYPE(array) != PyArray_TYPE(first)) return NULL;
        same &= PyArray_IS_C_CONTIGUOUS(array) && PyArray_SAMESHAPE(array, first);
    }
    if (!first) return NULL;
    const int type = PyArray_TYPE(first), slot = slot_of(type);
    if (slot < 0 || !self->loops[slot].function) return NULL;
    job.loop = &self->loops[slot];
    const int out_type = job.loop->out_type < 0 ? type : job.loop->out_type;
    job.operands = nin + 1;
    struct exact_call exact = {self, slot == BRAIN, 0};
    const struct loop exactly = {exact_loop, &exact, out_type, ROWS_NONE};
    const int narrow = self->exact && slot >= NPY_HALF;
    for (int k = 0; k < nin; k++) {
        if (PyArray_CheckExact(args[k])) job.data[k] = PyArray_BYTES((PyArrayObject *)args[k]);
        else if (fast_write_number(args[k], narrow ? NPY_FLOAT : type, &number[k]) < 0) return NULL;
        else job.data[k] = (char *)&number[k], exact.numbers |= 1u << k;
    }
    if (narrow && exact.numbers) job.loop = &exactly;

    PyArrayObject *out;
    size total;
    if (same && (!target || PyArray_IS_C_CONTIGUOUS((PyArrayObject *)target))) {
        if (target) {
            out = (PyArrayObject *)target;
            if (!PyArray_SAMESHAPE(out, first)) return NULL;
            Py_INCREF(out);
        } else if (!(out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(first), PyArray_DIMS(first), out_type))) return NULL;
        total = PyArray_SIZE(first);
        job.axes = 1;
        job.shape[0] = total;
        for (int k = 0; k < nin; k++)
            job.strides[k][0] = job.data[k] == (char *)&number[k] ? 0 : PyArray_ITEMSIZE(first);
        job.strides[nin][0] = PyArray_ITEMSIZE(out);
    } else {
        struct layout layout;
        if (fast_lay_out(&job, &layout, args, nin, (PyArrayObject *)target) < 0) return NULL; /* the ufunc says it best */
        for (int k = 0; k < nin; k++)
            if (PyArray_CheckExact(args[k]) && jumps((PyArrayObject *)args[k], &job, &layout, k)) return with_rows(self, args, target, k);
        if (target) out = (PyArrayObject *)Py_NewRef(target);
        else if (!(out = fast_result(&job, &layout, out_type))) return NULL;
        total = PyArray_SIZE(out);
        fast_join_axes(&job, layout.ndim, layout.shape);
    }
    for (int k = 0; k < nin; k++) job.width[k] = PyArray_ITEMSIZE(first);
    job.width[nin] = PyArray_ITEMSIZE(out);
    job.data[nin] = PyArray_BYTES(out);
    fast_run(&job, self->cost, total, total * PyArray_ITEMSIZE(out));
    return (PyObject *)out;
}

/* Whether `target` can be written by the short way: nothing of it is read after it was written. */
static int writable_target(const Fast *self, PyObject *const *args, PyObject *target)
{
    if (!PyArray_CheckExact(target)) return 0;
    PyArrayObject *out = (PyArrayObject *)target;
    const char *begin, *end, *from, *to;
    if (!PyArray_ISBEHAVED(out)) return 0;
    fast_extent(out, &begin, &end);
    for (int k = 0; k < self->nin; k++) {
        if (!PyArray_CheckExact(args[k])) continue;
        PyArrayObject *x = (PyArrayObject *)args[k];
        const int type = PyArray_TYPE(x), slot = slot_of(type);
        if (slot < 0 || PyArray_TYPE(out) != (self->loops[slot].out_type < 0 ? type : self->loops[slot].out_type)) return 0;
        if (PyArray_BYTES(x) == PyArray_BYTES(out) && PyArray_SAMESHAPE(x, out) && PyArray_ITEMSIZE(x) == PyArray_ITEMSIZE(out) &&
            PyArray_CompareLists(PyArray_STRIDES(x), PyArray_STRIDES(out), PyArray_NDIM(out)))
            continue;
        fast_extent(x, &from, &to);
        if (from < end && begin < to) return 0;
    }
    return 1;
}

static int quiet_loop(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims, const npy_intp *strides,
                      NpyAuxData *auxiliary)
{
    const Fast *self = (const Fast *)((PyUFuncObject *)context->caller)->obj;
    const struct loop *loop = &self->loops[context->descriptors[0]->type_num];
    char *pointers[MAX_OPERANDS];
    (void)auxiliary;
    for (int k = 0; k <= self->nin; k++) pointers[k] = data[k];
    loop->function(pointers, dims, strides, loop->data);
    return 0;
}

static PyArray_DTypeMeta *dtype_of(int type)
{
    PyArray_Descr *descriptor = PyArray_DescrFromType(type);
    PyArray_DTypeMeta *dtype = NPY_DTYPE(descriptor);
    Py_DECREF(descriptor);
    return dtype;
}

/* The copy of the ufunc, made at its first use: a thousand loops at import would be felt. */
static PyObject *quiet_ufunc(Fast *self)
{
    if (self->quiet) return self->quiet;
    PyUFuncObject *source = (PyUFuncObject *)self->ufunc;
    PyObject *quiet = PyUFunc_FromFuncAndData(NULL, NULL, NULL, 0, self->nin, 1, PyUFunc_None, source->name, source->doc, 0);
    if (!quiet) return NULL;
    for (int in = 0; in < BRAIN; in++) {
        if (!self->loops[in].function) continue;
        PyArray_DTypeMeta *dtypes[MAX_OPERANDS];
        for (int k = 0; k < self->nin; k++) dtypes[k] = dtype_of(in);
        dtypes[self->nin] = dtype_of(self->loops[in].out_type);
        PyType_Slot slots[] = {{NPY_METH_strided_loop, quiet_loop}, {0, NULL}};
        PyArrayMethod_Spec spec = {.name = source->name, .nin = self->nin, .nout = 1, .casting = NPY_NO_CASTING,
                                   .flags = NPY_METH_NO_FLOATINGPOINT_ERRORS, .dtypes = dtypes, .slots = slots};
        if (PyUFunc_AddLoopFromSpec(quiet, &spec) < 0) {
            Py_DECREF(quiet);
            return NULL;
        }
    }
    /* How quiet_loop finds its loops; a fast function lives as long as the process, and so may the cycle. */
    Py_XSETREF(((PyUFuncObject *)quiet)->obj, Py_NewRef((PyObject *)self));
    return self->quiet = quiet;
}

/* Truth values where an output of another type is asked for, which does not meet the inputs' memory before they are known; NULL without an
 * error set if this call has to go the long way. */
static PyObject *truths_as_numbers(const Fast *self, PyObject *const *args, PyObject *target)
{
    if (!PyArray_CheckExact(target) || self->loops[NPY_FLOAT].out_type != NPY_BOOL) return NULL;
    PyArrayObject *out = (PyArrayObject *)target;
    const int type = PyArray_TYPE(out);
    if (type == NPY_BOOL || !PyArray_ISCARRAY(out) || !casts_memory(NPY_BOOL, type)) return NULL;
    PyArrayObject *found = (PyArrayObject *)fast_short(self, args, NULL);
    const int fits = found && PyArray_IS_C_CONTIGUOUS(found) && PyArray_SAMESHAPE(found, out);
    if (fits) cast_memory(PyArray_DATA(out), type, PyArray_ITEMSIZE(out), PyArray_DATA(found), NPY_BOOL, 1, PyArray_SIZE(out));
    Py_XDECREF(found);
    return fits ? Py_NewRef(target) : NULL;
}

static PyObject *fast_vectorcall(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names)
{
    Fast *self = (Fast *)callable;
    const Py_ssize_t count = PyVectorcall_NARGS(flags), named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *target = NULL;
    int simple = count == self->nin && !named;
    if (count == self->nin + 1 && !named) target = args[self->nin], simple = 1;
    else if (count == self->nin && named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") == 0)
        target = args[count], simple = 1;
    if (target == Py_None) target = NULL;
    if (simple) {
        PyObject *result = !target || writable_target(self, args, target) ? fast_short(self, args, target) : truths_as_numbers(self, args, target);
        if (result || PyErr_Occurred()) return result;
    }
    /* The long way: without reports where all inputs are arrays of one type that the copy knows. */
    int type = -1;
    for (Py_ssize_t k = 0; k < count && k < self->nin; k++) {
        if (!PyArray_Check(args[k])) { type = -1; break; }
        const int own = PyArray_TYPE((PyArrayObject *)args[k]);
        if (k && own != type) { type = -1; break; }
        type = own;
    }
    PyObject *ufunc = self->ufunc;
    if (type >= 0 && type < BRAIN && self->loops[type].function && !(ufunc = quiet_ufunc(self))) return NULL;
    PyObject *result = PyObject_Vectorcall(ufunc, args, flags, names);
    if (result && !PyArray_Check(result) && PyArray_CheckScalar(result)) {
        PyObject *array = PyArray_FromScalar(result, NULL);
        Py_DECREF(result);
        return array;
    }
    return result;
}

/* fast(ufunc, cost of an element in ns, exact = 0) */
static PyObject *fast_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *ufunc;
    double cost;
    int exact = 0;
    if (!PyArg_ParseTuple(args, "O!d|p", &PyUFunc_Type, &ufunc, &cost, &exact) || (keywords && PyDict_GET_SIZE(keywords)))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "fast() takes no keywords");
    PyUFuncObject *source = (PyUFuncObject *)ufunc;
    if (source->nin > MAX_OPERANDS - 1 || source->nout != 1 || source->core_enabled)
        return PyErr_Format(PyExc_TypeError, "fast() needs an element-wise ufunc of one or two inputs");
    Fast *self = (Fast *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = fast_vectorcall;
    self->ufunc = Py_NewRef(ufunc);
    self->nin = source->nin;
    self->exact = exact;
    self->cost = cost;
    const int operands = source->nin + 1;
    for (int row = 0; row < source->ntypes; row++) {
        const char *types = source->types + row * operands;
        const int in = types[0], out = types[source->nin];
        int known = (in < NPY_OBJECT || in == NPY_HALF) && (out < NPY_OBJECT || out == NPY_HALF);
        for (int k = 1; k < source->nin; k++) known &= types[k] == in;
        if (known && source->functions[row] && !self->loops[in].function)
            self->loops[in] = (struct loop){source->functions[row], source->data ? (void *)source->data[row] : NULL, out,
                                            ROWS_NONE};
    }
    const int own = elementwise_loops(ufunc, &self->cost, &self->loops[NPY_FLOAT], &self->loops[NPY_DOUBLE], &self->single);
    self->own = own;
    if (own) {
        self->loops[NPY_HALF] = self->loops[NPY_FLOAT];
        self->quiet = Py_NewRef(ufunc);
    }
    arithmetic_replace(source->name, &self->loops[NPY_FLOAT], &self->loops[NPY_DOUBLE]);
    truths_replace(source->name, &self->loops[NPY_FLOAT], &self->loops[NPY_DOUBLE]);
    lanes_replace(source->name, self->loops);
    arithmetic_replace_complex(source->name, &self->loops[NPY_CFLOAT], &self->loops[NPY_CDOUBLE]);
    static const char *const operations[] = {[ROWS_ADD] = "add", [ROWS_SUBTRACT] = "subtract", [ROWS_MULTIPLY] = "multiply",
                                             [ROWS_DIVIDE] = "divide"};
    for (int k = ROWS_ADD; k <= ROWS_DIVIDE; k++)
        if (!strcmp(source->name, operations[k])) self->loops[NPY_FLOAT].rows = self->loops[NPY_DOUBLE].rows = k;
    static const char *const of_rows[] = {"maximum", "minimum", "fmax", "fmin"};
    for (size k = 0; k < (size)(sizeof of_rows / sizeof *of_rows); k++)
        for (int in = 0; in < TYPES && !strcmp(source->name, of_rows[k]); in++) self->loops[in].rows = ROWS_WANTED;
    /* Everything of 16 bits is what float32 gives, rounded; only the neighbours of a number are others. */
    if (!own) self->single = self->loops[NPY_FLOAT];
    if (self->single.function && strcmp(source->name, "nextafter")) {
        const int truth = self->single.out_type == NPY_BOOL;
        if (self->loops[NPY_HALF].function)
            self->loops[NPY_HALF] = (struct loop){half_loop, self, truth ? NPY_BOOL : NPY_HALF, ROWS_NONE};
        self->loops[BRAIN] = (struct loop){brain_loop, self, truth ? NPY_BOOL : -1, ROWS_NONE};
    }
    for (size k = 0; k < (size)(sizeof of_bits / sizeof *of_bits); k++)
        if (!strcmp(source->name, of_bits[k].name))
            self->loops[NPY_HALF].function = of_bits[k].half, self->loops[BRAIN].function = of_bits[k].brain;
    if (!strcmp(source->name, "negative")) {
        self->loops[NPY_CFLOAT] = (struct loop){negative_pairs_F, NULL, NPY_CFLOAT, ROWS_NONE};
        self->loops[NPY_CDOUBLE] = (struct loop){negative_pairs_D, NULL, NPY_CDOUBLE, ROWS_NONE};
    }
    return (PyObject *)self;
}

static void fast_dealloc(PyObject *object)
{
    Fast *self = (Fast *)object;
    Py_XDECREF(self->ufunc);
    Py_XDECREF(self->quiet);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *fast_getattr(PyObject *object, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(object, name);
    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
    PyErr_Clear();
    return PyObject_GetAttr(((Fast *)object)->ufunc, name);
}

static PyObject *fast_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<fast %R>", ((Fast *)object)->ufunc);
}

static PyMemberDef fast_members[] = {
    {"ufunc", T_OBJECT, offsetof(Fast, ufunc), READONLY, "NumPy's function"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject FastType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "wengert.arrays._kernels.fast",
    .tp_basicsize = sizeof(Fast),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "fast(ufunc, cost): NumPy's ufunc with a shorter way in; always returns an array, never warns.",
    .tp_new = fast_new,
    .tp_dealloc = fast_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Fast, vectorcall),
    .tp_getattro = fast_getattr,
    .tp_repr = fast_repr,
    .tp_members = fast_members,
};

int fast_init(PyObject *module) { return PyModule_AddType(module, &FastType); }
