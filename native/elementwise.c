/* The element-wise kernels as NumPy ufuncs: they broadcast, take out= and where=, release the GIL and report no
 * floating-point conditions. Loops exist for float32 and float64; float16 and bfloat16 are computed in float32 by
 * blocks; the holomorphic ones have complex loops. Other inputs are promoted as NumPy promotes (integers to float64). */
#include "wengert.h"

#include "blocks.h"
#include "fast.h"
#include "half.h"
#include "pool.h"

enum { BLOCK = 512 };
enum storage { SINGLE, DOUBLE, HALF, BRAIN };

typedef void (*kernel_f32)(float *, const float *const *, size);
typedef void (*kernel_f64)(double *, const double *const *, size);

struct job {
    kernel_f32 single;
    kernel_f64 twice;
    enum storage storage;
    int nin, direct; /* direct: all operands are contiguous and of the computed type */
    char *data[MAX_INPUTS + 1];
    npy_intp stride[MAX_INPUTS + 1];
};

#define GATHER(TYPE, CONVERT)                                                                    \
    if (!stride) {                                                                               \
        to[0] = CONVERT(*(const TYPE *)from);                                                    \
        for (size i = 1; i < n; i++) to[i] = to[0];                                              \
    } else                                                                                       \
        for (size i = 0; i < n; i++) to[i] = CONVERT(*(const TYPE *)(from + i * stride));
#define SCATTER(TYPE, CONVERT)                                                                   \
    for (size i = 0; i < n; i++) *(TYPE *)(to + i * stride) = CONVERT(from[i]);

static void gather_f32(float *to, const char *from, npy_intp stride, size n, enum storage storage)
{
    if (storage == SINGLE) { GATHER(float, ) }
    else if (stride == 2) (storage == HALF ? kernels->widen_half : kernels->widen_brain)(to, (const uint16_t *)from, n);
    else if (storage == HALF) { GATHER(uint16_t, float_of_half) }
    else { GATHER(uint16_t, float_of_brain) }
}
static void scatter_f32(char *to, const float *from, npy_intp stride, size n, enum storage storage)
{
    if (storage == SINGLE) SCATTER(float, )
    else if (stride == 2) (storage == HALF ? kernels->narrow_half : kernels->narrow_brain)((uint16_t *)to, from, n);
    else if (storage == HALF) SCATTER(uint16_t, half_of_float)
    else SCATTER(uint16_t, brain_of_float)
}

/* Operands that are not taken as they are go through buffers; one that is the same everywhere only once. */
static void run_single(const struct job *job, size begin, size end)
{
    float buffer[MAX_INPUTS + 1][BLOCK];
    const npy_intp last = job->stride[job->nin];
    for (size at = begin; at < end; at += BLOCK) {
        const size n = end - at < BLOCK ? end - at : BLOCK;
        const float *in[MAX_INPUTS];
        for (int k = 0; k < job->nin; k++) {
            const char *from = job->data[k] + at * job->stride[k];
            in[k] = buffer[k];
            if (job->storage == SINGLE && job->stride[k] == sizeof(float)) in[k] = (const float *)from;
            else if (at == begin || job->stride[k]) gather_f32(buffer[k], from, job->stride[k], n, job->storage);
        }
        char *to = job->data[job->nin] + at * last;
        const int straight = job->storage == SINGLE && last == sizeof(float);
        job->single(straight ? (float *)to : buffer[MAX_INPUTS], in, n);
        if (!straight) scatter_f32(to, buffer[MAX_INPUTS], last, n, job->storage);
    }
}

static void run_double(const struct job *job, size begin, size end)
{
    double buffer[MAX_INPUTS + 1][BLOCK];
    for (size at = begin; at < end; at += BLOCK) {
        const size n = end - at < BLOCK ? end - at : BLOCK;
        const double *in[MAX_INPUTS];
        for (int k = 0; k < job->nin; k++) {
            const char *from = job->data[k] + at * job->stride[k];
            if (job->stride[k] == sizeof(double)) {
                in[k] = (const double *)from;
            } else if (at != begin && !job->stride[k]) {
                in[k] = buffer[k];
            } else {
                double *to = buffer[k];
                const npy_intp stride = job->stride[k];
                GATHER(double, )
                in[k] = to;
            }
        }
        const npy_intp stride = job->stride[job->nin];
        const int straight = stride == sizeof(double);
        char *to = job->data[job->nin] + at * stride;
        const double *from = buffer[MAX_INPUTS];
        job->twice(straight ? (double *)to : buffer[MAX_INPUTS], in, n);
        if (!straight) SCATTER(double, )
    }
}

static void work(void *context, size begin, size end, int chunk)
{
    const struct job *job = context;
    (void)chunk;
    if (!job->direct) {
        (job->storage == DOUBLE ? run_double : run_single)(job, begin, end);
        return;
    }
    const size width = job->storage == DOUBLE ? sizeof(double) : sizeof(float);
    const void *in[MAX_INPUTS];
    for (int k = 0; k < job->nin; k++) in[k] = job->data[k] + begin * width;
    void *out = job->data[job->nin] + begin * width;
    if (job->storage == DOUBLE) job->twice(out, (const double *const *)in, end - begin);
    else job->single(out, (const float *const *)in, end - begin);
}

static int run(kernel_f32 single, kernel_f64 twice, enum storage storage, int nin, double cost, char *const *data,
               npy_intp n, const npy_intp *strides)
{
    struct job job = {single, twice, storage, nin, storage <= DOUBLE, {0}, {0}};
    const npy_intp width = storage == DOUBLE ? sizeof(double) : sizeof(float);
    for (int k = 0; k <= nin; k++) {
        job.data[k] = data[k];
        job.stride[k] = strides[k];
        if (strides[k] != width) job.direct = 0;
    }
    if (storage == DOUBLE) cost *= 2;
    const int chunks = pool_chunks(n, cost);
    if (chunks > 1) pool_run(work, &job, n, chunks);
    else work(&job, 0, n, 0);
    return 0;
}

/* Functions that no instruction set has a loop of: in double precision, a block after the other. */
typedef void special_kernel(SPECIAL_ARGUMENTS);
static void special_single(special_kernel *kernel, float *out, const float *const *in, int nin, size n)
{
    double wide[2][SPECIAL_BLOCK], to[SPECIAL_BLOCK];
    const double *const from[] = {wide[0], wide[1]};
    for (size at = 0; at < n; at += SPECIAL_BLOCK) {
        const size count = n - at < SPECIAL_BLOCK ? n - at : SPECIAL_BLOCK;
        for (int k = 0; k < nin; k++)
            for (size i = 0; i < count; i++) wide[k][i] = in[k][at + i];
        kernel(to, from, count, 1);
        for (size i = 0; i < count; i++) out[at + i] = (float)to[i];
    }
}
static void special_double(special_kernel *kernel, double *out, const double *const *in, int nin, size n)
{
    for (size at = 0; at < n; at += SPECIAL_BLOCK) {
        const double *from[] = {in[0] + at, nin > 1 ? in[1] + at : NULL};
        kernel(out + at, from, n - at < SPECIAL_BLOCK ? n - at : SPECIAL_BLOCK, 0);
    }
}
#define SPECIAL_LOOPS(name, nin, cost)                                               \
    static void name##_special_f32(float *out, const float *const *in, size n)       \
    {                                                                                \
        special_single(block_##name, out, in, nin, n);                               \
    }                                                                                \
    static void name##_special_f64(double *out, const double *const *in, size n)     \
    {                                                                                \
        special_double(block_##name, out, in, nin, n);                               \
    }
SPECIAL_KERNELS(SPECIAL_LOOPS)

#define STRIDED_LOOP(name, type, storage, nin, cost, single, twice)                                       \
    static int name##_##type(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims,      \
                             const npy_intp *strides, NpyAuxData *auxiliary)                               \
    {                                                                                                      \
        (void)context, (void)auxiliary;                                                                    \
        return run(single, twice, storage, nin, cost, data, dims[0], strides);                             \
    }
#define STRIDED_FOUR(name, nin, cost, single, twice)          \
    STRIDED_LOOP(name, e, HALF, nin, cost, single, twice)     \
    STRIDED_LOOP(name, g, BRAIN, nin, cost, single, twice)    \
    STRIDED_LOOP(name, f, SINGLE, nin, cost, single, twice)   \
    STRIDED_LOOP(name, d, DOUBLE, nin, cost, single, twice)
#define STRIDED_LOOPS(name, nin, cost) STRIDED_FOUR(name, nin, cost, kernels->name##_f32, kernels->name##_f64)
#define SPECIAL_STRIDED(name, nin, cost) STRIDED_FOUR(name, nin, cost, name##_special_f32, name##_special_f64)
ELEMENTWISE_KERNELS(STRIDED_LOOPS)
SPECIAL_KERNELS(SPECIAL_STRIDED)
#define NARROW_LOOP(name, type, storage)                                                                   \
    static int name##_narrow_##type(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims, \
                                    const npy_intp *strides, NpyAuxData *auxiliary)                        \
    {                                                                                                      \
        (void)context, (void)auxiliary;                                                                    \
        return run(kernels->name##_narrow, NULL, storage, 1, 0.4, data, dims[0], strides);                 \
    }
#define NARROW_LOOPS(name) NARROW_LOOP(name, e, HALF) NARROW_LOOP(name, g, BRAIN)
NARROW_KERNELS(NARROW_LOOPS)

/* ---- complex loops, for the functions that PyTorch defines on complex numbers; gradients are conjugated ---- */

typedef struct { double re, im; } complex_t;

static complex_t multiply(complex_t a, complex_t b)
{
    return (complex_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static complex_t divide(complex_t a, complex_t b)
{
    if (fabs(b.re) >= fabs(b.im)) {
        double ratio = b.im / b.re, scale = b.re + b.im * ratio;
        return (complex_t){(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    double ratio = b.re / b.im, scale = b.re * ratio + b.im;
    return (complex_t){(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}
static complex_t conjugate(complex_t a) { return (complex_t){a.re, -a.im}; }
static complex_t one_minus(complex_t a) { return (complex_t){1 - a.re, -a.im}; }
static complex_t one_plus_exp_minus(complex_t x)
{
    double size = exp(-x.re);
    return (complex_t){1 + size * cos(x.im), -size * sin(x.im)};
}
static complex_t c_sigmoid(const complex_t *in) { return divide((complex_t){1, 0}, one_plus_exp_minus(in[0])); }
static complex_t c_silu(const complex_t *in) { return divide(in[0], one_plus_exp_minus(in[0])); }
static complex_t c_sigmoid_grad(const complex_t *in)
{
    return multiply(in[0], conjugate(multiply(in[1], one_minus(in[1]))));
}
static complex_t c_tanh_grad(const complex_t *in) { return multiply(in[0], conjugate(one_minus(multiply(in[1], in[1])))); }
static complex_t c_silu_grad(const complex_t *in)
{
    complex_t s = c_sigmoid(in + 1), slope = multiply(in[1], one_minus(s));
    slope.re += 1;
    return multiply(in[0], conjugate(multiply(s, slope)));
}

#define COMPLEX_LOOP(name, type, PART, nin)                                                                \
    static int name##_##type(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims,      \
                             const npy_intp *strides, NpyAuxData *auxiliary)                               \
    {                                                                                                      \
        (void)context, (void)auxiliary;                                                                    \
        for (npy_intp i = 0; i < dims[0]; i++) {                                                           \
            complex_t in[2];                                                                               \
            for (int k = 0; k < nin; k++) {                                                                \
                const PART *x = (const PART *)(data[k] + i * strides[k]);                                  \
                in[k] = (complex_t){x[0], x[1]};                                                           \
            }                                                                                              \
            complex_t value = c_##name(in);                                                                \
            PART *out = (PART *)(data[nin] + i * strides[nin]);                                            \
            out[0] = (PART)value.re, out[1] = (PART)value.im;                                              \
        }                                                                                                  \
        return 0;                                                                                          \
    }
#define COMPLEX_LOOPS(name, nin)         \
    COMPLEX_LOOP(name, F, float, nin)    \
    COMPLEX_LOOP(name, D, double, nin)
#define COMPLEX_KERNELS(X) X(sigmoid, 1) X(silu, 1) X(sigmoid_grad, 2) X(tanh_grad, 2) X(silu_grad, 2)
COMPLEX_KERNELS(COMPLEX_LOOPS)

/* ---- registration ---- */

/* What the loops that fast.c takes run. */
struct own_kernel {
    kernel_f32 single;
    kernel_f64 twice;
    enum storage storage;
    int nin;
};

struct entry {
    const char *name;
    int nin;
    double cost;
    PyArrayMethod_StridedLoop *half, *brain, *single, *twice, *complex_single, *complex_double;
    PyObject *ufunc;
    struct own_kernel kernel[3]; /* by storage: SINGLE, DOUBLE; and of float32 for numbers of 16 bits */
};

static struct entry entries[] = {
#define ENTRY(name, nin, cost) {#name, nin, cost, name##_e, name##_g, name##_f, name##_d, NULL, NULL, NULL, {{NULL, NULL, SINGLE, nin}, {NULL, NULL, DOUBLE, nin}, {NULL, NULL, SINGLE, nin}}},
    ELEMENTWISE_KERNELS(ENTRY) SPECIAL_KERNELS(ENTRY)
#undef ENTRY
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static void plain_loop(char **args, const npy_intp *count, const npy_intp *steps, void *kernel)
{
    const struct own_kernel *own = kernel;
    struct job job = {own->single, own->twice, own->storage, own->nin, 1, {0}, {0}};
    const npy_intp width = own->storage == DOUBLE ? sizeof(double) : sizeof(float);
    for (int k = 0; k <= own->nin; k++) {
        job.data[k] = args[k], job.stride[k] = steps[k];
        if (steps[k] != width) job.direct = 0;
    }
    work(&job, 0, *count, 0);
}

int elementwise_loops(PyObject *ufunc, double *cost, struct loop *single, struct loop *twice, struct loop *narrow)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (entries[i].ufunc != ufunc) continue;
        *cost = entries[i].cost;
        *single = (struct loop){plain_loop, &entries[i].kernel[SINGLE], NPY_FLOAT, ROWS_NONE};
        *twice = (struct loop){plain_loop, &entries[i].kernel[DOUBLE], NPY_DOUBLE, ROWS_NONE};
        *narrow = (struct loop){plain_loop, &entries[i].kernel[2], NPY_FLOAT, ROWS_NONE};
        return 1;
    }
    return 0;
}

static int add_loop(const struct entry *entry, PyArray_DTypeMeta *dtype, PyArrayMethod_StridedLoop *loop)
{
    PyArray_DTypeMeta *dtypes[MAX_INPUTS + 1];
    for (int k = 0; k <= entry->nin; k++) dtypes[k] = dtype;
    PyType_Slot slots[] = {{NPY_METH_strided_loop, loop}, {0, NULL}};
    PyArrayMethod_Spec spec = {.name = entry->name, .nin = entry->nin, .nout = 1, .casting = NPY_NO_CASTING,
                               .flags = NPY_METH_NO_FLOATINGPOINT_ERRORS, .dtypes = dtypes, .slots = slots};
    return PyUFunc_AddLoopFromSpec(entry->ufunc, &spec);
}

static PyArray_DTypeMeta *dtype_of(int type_number)
{
    PyArray_Descr *descriptor = PyArray_DescrFromType(type_number);
    PyArray_DTypeMeta *dtype = NPY_DTYPE(descriptor);
    Py_DECREF(descriptor); /* built-in types live for ever */
    return dtype;
}

/* Loops for ml_dtypes' bfloat16 are added when it first appears: importing ml_dtypes would double the import time. */
static int add_brain_loops(PyArray_DTypeMeta *dtype)
{
    static PyArray_DTypeMeta *known;
    if (known || dtype->type_num < NPY_USERDEF || !dtype->scalar_type) return 0;
    const char *name = strrchr(dtype->scalar_type->tp_name, '.');
    if (strcmp(name ? name + 1 : dtype->scalar_type->tp_name, "bfloat16")) return 0;
    Py_INCREF(dtype);
    known = dtype;
    for (int i = 0; i < ENTRIES; i++)
        if (add_loop(&entries[i], dtype, entries[i].brain) < 0) return -1;
    return 0;
}

/* What to compute in when no loop has exactly the inputs' types: their common type, or float64 for integers. */
static int promote(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
                   PyArray_DTypeMeta *chosen[])
{
    const int nin = ((PyUFuncObject *)ufunc)->nin;
    PyArray_DTypeMeta *common = given[0];
    Py_INCREF(common);
    for (int k = 1; k < nin; k++) {
        PyArray_DTypeMeta *next = PyArray_CommonDType(common, given[k]);
        Py_DECREF(common);
        if (!next) return -1;
        common = next;
    }
    if (add_brain_loops(common) < 0) {
        Py_DECREF(common);
        return -1;
    }
    if (PyTypeNum_ISINTEGER(common->type_num) || PyTypeNum_ISBOOL(common->type_num)) {
        Py_DECREF(common);
        common = dtype_of(NPY_DOUBLE);
        Py_INCREF(common);
    }
    for (int k = 0; k <= nin; k++) {
        chosen[k] = signature[k] ? signature[k] : common;
        Py_INCREF(chosen[k]);
    }
    Py_DECREF(common);
    return 0;
}

static int add_promoter(const struct entry *entry)
{
    PyObject *capsule = PyCapsule_New((void *)promote, "numpy._ufunc_promoter", NULL);
    PyObject *types = PyTuple_New(entry->nin + 1);
    int status = -1;
    if (capsule && types) {
        for (int k = 0; k <= entry->nin; k++) {
            Py_INCREF(&PyArrayDescr_Type);
            PyTuple_SET_ITEM(types, k, (PyObject *)&PyArrayDescr_Type);
        }
        status = PyUFunc_AddPromoter(entry->ufunc, types, capsule);
    }
    Py_XDECREF(capsule);
    Py_XDECREF(types);
    return status;
}

int elementwise_init(PyObject *module)
{
#define COMPLEX_ENTRY(kernel, nin)                                                                           \
    for (int i = 0; i < ENTRIES; i++)                                                                        \
        if (!strcmp(entries[i].name, #kernel))                                                               \
            entries[i].complex_single = kernel##_F, entries[i].complex_double = kernel##_D;
    COMPLEX_KERNELS(COMPLEX_ENTRY)
    int at = 0;
#define ENTRY(name, nin, cost) entries[at].kernel[SINGLE].single = kernels->name##_f32, entries[at++].kernel[DOUBLE].twice = kernels->name##_f64;
    ELEMENTWISE_KERNELS(ENTRY)
#undef ENTRY
#define ENTRY(name, nin, cost) entries[at].kernel[SINGLE].single = name##_special_f32, entries[at++].kernel[DOUBLE].twice = name##_special_f64;
    SPECIAL_KERNELS(ENTRY)
#undef ENTRY
    for (int i = 0; i < ENTRIES; i++) entries[i].kernel[2].single = entries[i].kernel[SINGLE].single;
#define NARROW_ENTRY(name)                                                                                   \
    for (int i = 0; i < ENTRIES; i++)                                                                        \
        if (entries[i].half == name##_e)                                                                     \
            entries[i].half = name##_narrow_e, entries[i].brain = name##_narrow_g, entries[i].kernel[2].single = kernels->name##_narrow;
    NARROW_KERNELS(NARROW_ENTRY)

    for (int i = 0; i < ENTRIES; i++) {
        struct entry *entry = &entries[i];
        entry->ufunc = PyUFunc_FromFuncAndData(NULL, NULL, NULL, 0, entry->nin, 1, PyUFunc_None, entry->name,
                                               "See the definition of the same name in wengert.arrays.plain.", 0);
        if (!entry->ufunc || add_loop(entry, dtype_of(NPY_FLOAT), entry->single) < 0 ||
            add_loop(entry, dtype_of(NPY_DOUBLE), entry->twice) < 0 ||
            add_loop(entry, dtype_of(NPY_HALF), entry->half) < 0 || add_promoter(entry) < 0)
            return -1;
        if (entry->complex_single && (add_loop(entry, dtype_of(NPY_CFLOAT), entry->complex_single) < 0 ||
                                      add_loop(entry, dtype_of(NPY_CDOUBLE), entry->complex_double) < 0))
            return -1;
        if (PyModule_AddObjectRef(module, entry->name, entry->ufunc) < 0) return -1;
    }
    return 0;
}
