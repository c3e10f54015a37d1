/* Padding: the numbers of an array copied once, with what lies around them. */
#include "fast.h"

enum { MOST_AXES = 8 };
static const npy_intp FAR = (npy_intp)1 << (4 * sizeof(npy_intp) + 8);
enum mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

struct inside { /* axes of more than one place, and where they begin */
    int axes;
    npy_intp count[MOST_AXES], from_step[MOST_AXES], to_step[MOST_AXES], from, to;
};

struct padding {
    enum mode mode;
    int last, block; /* axes: the last, and the first of blocks that are small, if any */
    struct inside inside; /* of a block */
    npy_intp width, from_length[MOST_AXES], to_length[MOST_AXES], before[MOST_AXES], from_step[MOST_AXES], to_step[MOST_AXES];
    const char *value;
    void (*line)(const struct padding *, const char *from, char *to);
};

/* Which place of n has the number for place i around them; -1 for the constant. */
static inline npy_intp place(enum mode mode, npy_intp i, npy_intp n)
{
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case CONSTANT: return -1;
    case REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
    case REPLICATE: return i < 0 ? 0 : n - 1;
    default: return i < 0 ? i + n : i - n;
    }
}

/* Lines of images are mostly short and of the lengths that follow: a call for each would take longer than the copy. */
static inline void copy_line(void *to, const void *from, npy_intp bytes)
{
    switch (bytes) {
    case 16: memcpy(to, from, 16); break;
    case 32: memcpy(to, from, 32); break;
    case 64: memcpy(to, from, 64); break;
    case 128: memcpy(to, from, 128); break;
    default: memcpy(to, from, bytes);
    }
}

#define PAD_LINE(bits)                                                                                                  \
    static void pad_line_##bits(const struct padding *p, const char *from, char *line)                                  \
    {                                                                                                                   \
        typedef uint##bits##_t number;                                                                                  \
        const npy_intp n = p->from_length[p->last], m = p->to_length[p->last], before = p->before[p->last], step = p->from_step[p->last]; \
        number *to = (number *)line;                                                                                    \
        npy_intp begin = before < 0 ? 0 : before < m ? before : m, end = before + n < m ? before + n : m;               \
        if (end < begin) end = begin;                                                                                   \
        const char *first = from + (begin - before) * step;                                                             \
        if (step == bits / 8) copy_line(to + begin, first, (end - begin) * sizeof(number));                             \
        else                                                                                                            \
            for (npy_intp j = begin; j < end; j++) to[j] = *(const number *)(first + (j - begin) * step);               \
        if (p->mode == CONSTANT) {                                                                                      \
            const number value = *(const number *)p->value;                                                             \
            for (npy_intp j = 0; j < begin; j++) to[j] = value;                                                         \
            for (npy_intp j = end; j < m; j++) to[j] = value;                                                           \
            return;                                                                                                     \
        }                                                                                                               \
        for (npy_intp j = 0; j < begin; j++) to[j] = *(const number *)(from + place(p->mode, j - before, n) * step);    \
        for (npy_intp j = end; j < m; j++) to[j] = *(const number *)(from + place(p->mode, j - before, n) * step);      \
    }
PAD_LINE(8)
PAD_LINE(16)
PAD_LINE(32)
PAD_LINE(64)

static void fill(const struct padding *p, char *to, npy_intp bytes)
{
#define FILL(type)                                                                          \
    do {                                                                                    \
        const type value = *(const type *)p->value;                                         \
        for (npy_intp i = 0; i < bytes / (npy_intp)sizeof value; i++) ((type *)to)[i] = value; \
    } while (0)
    if (p->width == 1) FILL(uint8_t);
    else if (p->width == 2) FILL(uint16_t);
    else if (p->width == 4) FILL(uint32_t);
    else FILL(uint64_t);
#undef FILL
}

/* A block that stays in the first cache is the constant first, and then what lies inside: lines are too short to go around each. */
enum { BLOCK = 1 << 12 };
static struct inside inside_of(const struct padding *p, int axis)
{
    struct inside in = {0};
    for (int d = axis; d <= p->last; d++) {
        const npy_intp n = p->from_length[d], before = p->before[d], begin = before < 0 ? 0 : before;
        const npy_intp count = (before + n < p->to_length[d] ? before + n : p->to_length[d]) - begin;
        in.from += (begin - before) * p->from_step[d], in.to += begin * p->to_step[d];
        if (count == 1 && (in.axes || d < p->last)) continue;
        in.count[in.axes] = count > 0 ? count : 0, in.from_step[in.axes] = p->from_step[d], in.to_step[in.axes++] = p->to_step[d];
    }
    return in;
}

static void copy_inside(const struct inside *in, npy_intp width, int axis, const char *from, char *to)
{
    const npy_intp count = in->count[axis], step = in->from_step[axis], to_step = in->to_step[axis];
    if (axis + 1 < in->axes)
        for (npy_intp j = 0; j < count; j++) copy_inside(in, width, axis + 1, from + j * step, to + j * to_step);
    else if (step == width && to_step == width) copy_line(to, from, count * width);
    else if (width == 4)
        for (npy_intp j = 0; j < count; j++) *(uint32_t *)(to + j * to_step) = *(const uint32_t *)(from + j * step);
    else
        for (npy_intp j = 0; j < count; j++) memcpy(to + j * to_step, from + j * step, width);
}

static void pad_axis(const struct padding *p, int axis, const char *from, char *to)
{
    if (axis == p->last) {
        p->line(p, from, to);
        return;
    }
    if (axis == p->block) {
        fill(p, to, p->to_step[axis] * p->to_length[axis]);
        copy_inside(&p->inside, p->width, 0, from + p->inside.from, to + p->inside.to);
        return;
    }
    for (npy_intp j = 0; j < p->to_length[axis]; j++, to += p->to_step[axis]) {
        const npy_intp i = place(p->mode, j - p->before[axis], p->from_length[axis]);
        if (i < 0) fill(p, to, p->to_step[axis]);
        else if (axis + 1 == p->last) p->line(p, from + i * p->from_step[axis], to);
        else pad_axis(p, axis + 1, from + i * p->from_step[axis], to);
    }
}

/* padded(x, pairs, mode, value): x in C order with so many numbers before and after it in each dimension: the value, a number or a
 * 0-d array of its type, for mode 0, or reflected, repeated or from the other end (1, 2, 3; the value is None) */
static PyObject *padded(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    if (!PyArray_CheckExact(args[0]) || !PyList_Check(args[1])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    struct padding p = {.mode = PyLong_AsLong(args[2]), .last = PyArray_NDIM(x) - 1, .width = PyArray_ITEMSIZE(x)};
    double number;
    if (p.mode == CONSTANT && PyArray_CheckExact(args[3])) {
        if (PyArray_DESCR((PyArrayObject *)args[3]) != PyArray_DESCR(x)) NOT_HANDLED();
        p.value = PyArray_BYTES((PyArrayObject *)args[3]);
    } else if (p.mode == CONSTANT) {
        if (fast_write_number(args[3], PyArray_TYPE(x), &number) < 0) NOT_HANDLED();
        p.value = (const char *)&number;
    }
    const npy_intp width = p.width;
    if (p.last < 0 || p.last >= MOST_AXES || PyList_GET_SIZE(args[1]) != p.last + 1 || (width != 1 && width != 2 && width != 4 && width != 8) ||
        !PyArray_ISALIGNED(x) || PyDataType_REFCHK(PyArray_DESCR(x)))
        NOT_HANDLED();
    p.line = width == 1 ? pad_line_8 : width == 2 ? pad_line_16 : width == 4 ? pad_line_32 : pad_line_64;
    npy_intp shape[MOST_AXES];
    for (int d = 0; d <= p.last; d++) {
        npy_intp after;
        PyObject *pair = PyList_GET_ITEM(args[1], d);
        if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "nn", &p.before[d], &after)) return NULL;
        if (p.before[d] < -FAR || p.before[d] > FAR || after < -FAR || after > FAR) NOT_HANDLED(); /* sums of lengths would overflow */
        p.from_length[d] = PyArray_DIM(x, d), p.from_step[d] = PyArray_STRIDE(x, d);
        shape[d] = p.to_length[d] = p.from_length[d] + p.before[d] + after;
        const npy_intp n = p.from_length[d], most = p.mode == REFLECT ? n - 1 : p.mode == CIRCULAR ? n : NPY_MAX_INTP;
        if (shape[d] < 0 || n + (p.before[d] < 0 ? p.before[d] : 0) + (after < 0 ? after : 0) < 0) NOT_HANDLED(); /* more than there is */
        if (p.mode != CONSTANT && (n < 1 || p.before[d] < 0 || after < 0 || p.before[d] > most || after > most)) NOT_HANDLED();
    }
    PyArrayObject *out = new_like(x, p.last + 1, shape);
    if (!out || !PyArray_SIZE(out)) return (PyObject *)out;
    for (int d = 0; d <= p.last; d++) p.to_step[d] = PyArray_STRIDE(out, d);
    p.block = 0;
    while (p.block < p.last && (p.mode != CONSTANT || p.to_step[p.block] * p.to_length[p.block] > BLOCK)) p.block++;
    p.inside = inside_of(&p, p.block);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(out));
    pad_axis(&p, 0, PyArray_BYTES(x), PyArray_BYTES(out));
    NPY_END_THREADS
    return (PyObject *)out;
}

/* The numbers of `m` places around n along an axis, added to where they came from: those before, then those after. */
#define DEFINE_UNPAD(REAL)                                                                                             \
    static void unpad_##REAL(const REAL *g, REAL *to, enum mode mode, npy_intp outer, npy_intp m, npy_intp n, npy_intp before, npy_intp inner) \
    {                                                                                                                  \
        for (npy_intp o = 0; o < outer; o++, g += m * inner, to += n * inner) {                                        \
            memcpy(to, g + before * inner, n * inner * sizeof *to);                                                    \
            for (npy_intp j = before ? 0 : n; j < m; j += j == before - 1 ? 1 + n : 1) {                               \
                const REAL *from = g + j * inner;                                                                      \
                REAL *sum = to + place(mode, j - before, n) * inner;                                                   \
                for (npy_intp i = 0; i < inner; i++) sum[i] += from[i];                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_UNPAD(float)
DEFINE_UNPAD(double)

/* unpadded(g, axis, n, before, mode): the gradient of padding one dimension of n places, in C order */
static PyObject *unpadded(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    if (!PyArray_CheckExact(args[0]) || !PyArray_ISCARRAY_RO((PyArrayObject *)args[0])) NOT_HANDLED();
    PyArrayObject *g = (PyArrayObject *)args[0];
    const npy_intp axis = PyLong_AsSsize_t(args[1]), n = PyLong_AsSsize_t(args[2]), before = PyLong_AsSsize_t(args[3]);
    const long mode = PyLong_AsLong(args[4]);
    if (PyErr_Occurred()) return NULL;
    const int type = PyArray_TYPE(g), ndim = PyArray_NDIM(g);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || axis < 0 || axis >= ndim) NOT_HANDLED();
    const npy_intp m = PyArray_DIM(g, axis), after = m - n - before;
    const npy_intp most = mode == REFLECT ? n - 1 : mode == REPLICATE ? NPY_MAX_INTP : n;
    if (n < 1 || before < 0 || after < 0 || before > most || after > most || mode < REFLECT || mode > CIRCULAR) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS], outer = 1, inner = 1;
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == axis ? n : PyArray_DIM(g, d);
        if (d != axis) *(d < axis ? &outer : &inner) *= shape[d];
    }
    PyArrayObject *out = new_like(g, ndim, shape);
    if (!out || !PyArray_SIZE(out)) return (PyObject *)out;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(out));
    if (type == NPY_FLOAT) unpad_float(PyArray_DATA(g), PyArray_DATA(out), (enum mode)mode, outer, m, n, before, inner);
    else unpad_double(PyArray_DATA(g), PyArray_DATA(out), (enum mode)mode, outer, m, n, before, inner);
    NPY_END_THREADS
    return (PyObject *)out;
}

PyMethodDef padding_methods[] = {{"unpadded", (PyCFunction)(void (*)(void))unpadded, METH_FASTCALL, NULL},
    {"padded", (PyCFunction)(void (*)(void))padded, METH_FASTCALL, NULL}, {NULL, NULL, 0, NULL}};
