/* Convolution over one or two spatial axes, and its gradient in the weight, without columns. */
#include "wengert.h"

#include "pool.h"

struct conv_job {
    int type, weights;
    size groups;
    struct conv shape;
    const char *image, *weight, *bias, *grad;
    char *memory; /* `work` numbers for each chunk */
    char *out; /* results, or one partial weight gradient for each chunk */
    size image_step, weight_step, out_step, partial_step, work; /* of one image and group; numbers */
};

static void images(void *context, size begin, size end, int chunk)
{
    struct conv_job *job = context;
    const struct conv *v = &job->shape;
    const size width = job->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    void *work = job->memory + chunk * job->work * width;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size group = item % job->groups;
        const char *image = job->image + item * job->image_step * width;
        if (job->weights) {
            char *to = job->out + (chunk * job->groups + group) * job->partial_step * width;
            const char *g = job->grad + item * job->out_step * width;
            if (job->type == NPY_FLOAT) kernels->conv_weight_image_f32((float *)to, (const float *)image, (const float *)g, v, work);
            else kernels->conv_weight_image_f64((double *)to, (const double *)image, (const double *)g, v, work);
            continue;
        }
        char *out = job->out + item * job->out_step * width;
        const char *weight = job->weight + group * job->weight_step * width;
        const char *bias = job->bias ? job->bias + group * v->filters * width : NULL;
        if (job->type == NPY_FLOAT)
            kernels->conv_image_f32((float *)out, (const float *)image, (const float *)weight, (const float *)bias, v, work);
        else kernels->conv_image_f64((double *)out, (const double *)image, (const double *)weight, (const double *)bias, v, work);
    }
}

/* Two numbers of a tuple of one or two, no less than `missing`, which a missing first one is. */
static int pair(PyObject *tuple, size missing, size *first, size *second)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) < 1 || PyTuple_GET_SIZE(tuple) > 2) return -1;
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    *first = missing;
    if (n == 2 && read_number(PyTuple_GET_ITEM(tuple, 0), missing, first) < 0) return -1;
    return read_number(PyTuple_GET_ITEM(tuple, n - 1), missing, second);
}

/* Fill in the shape of the work; 0 if it is not for these kernels. x is (N, C, [H,] W), kernel the last axes' sizes. */
static int describe(struct conv_job *job, PyArrayObject *x, size filters, size kernel_height, size kernel_width, PyObject *stride,
                    PyObject *padding, PyObject *dilation, size groups)
{
    struct conv *v = &job->shape;
    const int axes = PyArray_NDIM(x) - 2;
    size dilation_y, dilation_x;
    if (axes < 1 || axes > 2 || groups < 1 || filters < 0 || filters > MOST || kernel_height < 1 || kernel_height > MOST ||
        kernel_width < 1 || kernel_width > MOST || PyArray_DIM(x, axes) > MOST || PyArray_DIM(x, axes + 1) > MOST || pair(stride, 1, &v->stride_y, &v->stride_x) < 0 ||
        pair(padding, 0, &v->pad_y, &v->pad_x) < 0 || pair(dilation, 1, &dilation_y, &dilation_x) < 0 ||
        PyTuple_GET_SIZE(stride) != axes || PyTuple_GET_SIZE(padding) != axes || PyTuple_GET_SIZE(dilation) != axes)
        return 0;
    if (PyArray_DIM(x, 1) % groups || filters % groups || v->pad_y < 0 || v->pad_x < 0) return 0;
    v->channels = PyArray_DIM(x, 1) / groups, v->filters = filters / groups;
    v->height = (axes == 2 ? PyArray_DIM(x, 2) : 1) + 2 * v->pad_y, v->width = PyArray_DIM(x, axes + 1) + 2 * v->pad_x;
    v->kernel_height = kernel_height, v->kernel_width = kernel_width;
    const size room_y = v->height - dilation_y * (kernel_height - 1) - 1, room_x = v->width - dilation_x * (kernel_width - 1) - 1;
    if (room_y < 0 || room_x < 0 || v->stride_y < 1 || v->stride_x < 1) return 0;
    v->out_height = room_y / v->stride_y + 1, v->out_width = room_x / v->stride_x + 1;
    const size padded_image[] = {v->channels, v->height, v->width}, weights[] = {v->channels, v->filters + 64, kernel_height, kernel_width},
               results[] = {PyArray_DIM(x, 0), v->filters + 64, v->out_height, v->out_width};
    if (!is_countable(padded_image, 3) || !is_countable(weights, 4) || !is_countable(results, 4)) return 0;
    const size taps = v->channels * kernel_height * kernel_width;
    if (taps == 0 || v->filters == 0 || PyArray_SIZE(x) == 0) return 0;
    size *offset = malloc(2 * taps * sizeof *offset), *next = offset;
    if (!offset) return 0;
    for (size c = 0; c < v->channels; c++)
        for (size ky = 0; ky < kernel_height; ky++)
            for (size kx = 0; kx < kernel_width; kx++) *next++ = (c * v->height + ky * dilation_y) * v->width + kx * dilation_x;
    const size tile = kernels->gemm_columns_bytes / (PyArray_TYPE(x) == NPY_FLOAT ? sizeof(float) : sizeof(double));
    for (size t = 0; t < taps; t++) *next++ = t * tile;
    v->offset = offset, v->step = offset + taps;
    job->type = PyArray_TYPE(x), job->groups = groups;
    const size pixels = v->out_height * v->out_width, padded = v->channels * v->height * v->width + tile;
    job->image_step = PyArray_SIZE(x) / PyArray_DIM(x, 0) / groups;
    job->out_step = v->filters * pixels, job->weight_step = v->filters * taps;
    const size columns = (v->filters + tile - 1) / tile * tile;
    job->partial_step = taps * columns;
    job->work = job->weights ? pixels * columns + padded : tile * (taps + 16) + padded;
    return 1;
}

static int run(struct conv_job *job, size count, int chunks)
{
    const size numbers[] = {chunks, job->work};
    PyArrayObject *work = is_countable(numbers, 2) ? scratch(chunks * job->work, job->type == NPY_FLOAT ? sizeof(float) : sizeof(double))
                                                     : (PyArrayObject *)PyErr_NoMemory();
    int result;
    if (!work) return -1;
    job->memory = PyArray_BYTES(work);
    Py_BEGIN_ALLOW_THREADS
    result = pool_run_stoppable(images, job, count, chunks);
    Py_END_ALLOW_THREADS
    Py_DECREF(work);
    return result;
}

static int chunks_of(const struct conv_job *job, size count)
{
    const struct conv *v = &job->shape;
    const double work = (double)job->out_step * v->channels * v->kernel_height * v->kernel_width;
    return pool_chunks(count, work * (job->type == NPY_FLOAT ? 0.01 : 0.02));
}

/* conv(x, weight, bias | None, stride, padding, dilation, groups) */
static PyObject *conv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0]) || (args[2] != Py_None && !is_like(args[2], args[0]))) NOT_HANDLED();
    PyArrayObject *w = (PyArrayObject *)args[1], *given = (PyArrayObject *)args[0];
    const int n = PyArray_NDIM(given);
    const size groups = PyLong_AsSsize_t(args[6]);
    struct conv_job job = {0};
    if (PyErr_Occurred()) return NULL;
    if (n < 3 || PyArray_NDIM(w) != n || groups < 1 || groups > MOST || PyArray_DIM(w, 1) > MOST || PyArray_DIM(w, 1) * groups != PyArray_DIM(given, 1)) NOT_HANDLED();
    if (!describe(&job, given, PyArray_DIM(w, 0), n == 4 ? PyArray_DIM(w, 2) : 1, PyArray_DIM(w, n - 1), args[3], args[4], args[5], groups))
        NOT_HANDLED();
    npy_intp shape[4] = {PyArray_DIM(given, 0), PyArray_DIM(w, 0), job.shape.out_height, job.shape.out_width};
    if (n == 3) shape[2] = job.shape.out_width;
    PyArrayObject *x = contiguous(args[0]), *weight = contiguous(args[1]), *bias = args[2] == Py_None ? NULL : contiguous(args[2]);
    PyArrayObject *out = x ? new_like(x, n, shape) : NULL;
    if (x && weight && out && (bias || args[2] == Py_None)) {
        job.image = PyArray_BYTES(x), job.weight = PyArray_BYTES(weight), job.out = PyArray_BYTES(out);
        job.bias = bias ? PyArray_BYTES(bias) : NULL;
        const size items = shape[0] * groups;
        if (run(&job, items, chunks_of(&job, items)) < 0) Py_CLEAR(out);
    } else Py_CLEAR(out);
    free((void *)job.shape.offset);
    Py_XDECREF(x);
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    return (PyObject *)out;
}

/* conv_weight(x, g, weight shape, stride, padding, dilation, groups) */
static PyObject *conv_weight(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0]) || !PyTuple_Check(args[2])) NOT_HANDLED();
    PyArrayObject *given = (PyArrayObject *)args[0], *grad = (PyArrayObject *)args[1];
    const int n = PyArray_NDIM(given);
    npy_intp shape[4];
    if (n < 3 || n > 4 || PyArray_NDIM(grad) != n || PyTuple_GET_SIZE(args[2]) != n) NOT_HANDLED();
    for (int k = 0; k < n; k++)
        if (read_number(PyTuple_GET_ITEM(args[2], k), 0, &shape[k]) < 0) NOT_HANDLED();
    const size groups = PyLong_AsSsize_t(args[6]);
    if (PyErr_Occurred()) return NULL;
    struct conv_job job = {.weights = 1};
    if (groups < 1 || groups > MOST || shape[1] * groups != PyArray_DIM(given, 1) || PyArray_DIM(grad, 0) != PyArray_DIM(given, 0) ||
        PyArray_DIM(grad, 1) != shape[0] ||
        !describe(&job, given, shape[0], n == 4 ? shape[2] : 1, shape[n - 1], args[3], args[4], args[5], groups))
        NOT_HANDLED();
    const struct conv *v = &job.shape;
    if (PyArray_DIM(grad, n - 1) != v->out_width || (n == 4 && PyArray_DIM(grad, 2) != v->out_height)) {
        free((void *)v->offset);
        NOT_HANDLED();
    }
    const size items = PyArray_DIM(given, 0) * groups, taps = v->channels * v->kernel_height * v->kernel_width;
    const int chunks = chunks_of(&job, items);
    const size width = PyArray_ITEMSIZE(given), columns = job.partial_step / taps;
    PyArrayObject *x = contiguous(args[0]), *g = contiguous(args[1]), *out = x ? new_like(x, n, shape) : NULL;
    char *partial = calloc(chunks * groups * job.partial_step, width);
    if (x && g && out && partial) {
        job.image = PyArray_BYTES(x), job.grad = PyArray_BYTES(g), job.out = partial;
        if (run(&job, items, chunks) < 0) Py_CLEAR(out);
    } else Py_CLEAR(out);
    if (out) {
        for (int c = 1; c < chunks; c++) {
            char *more = partial + c * groups * job.partial_step * width;
            if (job.type == NPY_FLOAT) kernels->add_f32((float *)partial, (const float *)more, groups * job.partial_step);
            else kernels->add_f64((double *)partial, (const double *)more, groups * job.partial_step);
        }
        char *to = PyArray_BYTES(out);
        for (size group = 0; group < groups; group++)
            for (size f = 0; f < v->filters; f++)
                for (size t = 0; t < taps; t++, to += width)
                    memcpy(to, partial + ((group * taps + t) * columns + f) * width, width);
    }
    free(partial);
    free((void *)v->offset);
    Py_XDECREF(x);
    Py_XDECREF(g);
    return (PyObject *)out;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef conv_methods[] = {METHOD(conv), METHOD(conv_weight), {NULL, NULL, 0, NULL}};
