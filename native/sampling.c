/* Images sampled at the places of a grid, and the gradients of that. */
#include "wengert.h"

#include "pool.h"

struct sampling_job {
    struct sampling of;
    size image_step, grid_step; /* between two images, and between their grids */
    const char *image, *grid, *g;
    char *out, *grad_image, *grad_grid;
    int type;
};

static void sampling_task(void *context, size begin, size end, int chunk)
{
    const struct sampling_job *job = context;
    const struct sampling *v = &job->of;
    (void)chunk;
#define RUN(REAL, SUFFIX)                                                                                                   \
    for (size i = begin; i < end && !pool_stopped(); i++) {                                                                 \
        const REAL *image = (const REAL *)job->image + i * job->image_step;                                                   \
        const REAL *grid = (const REAL *)job->grid + i * job->grid_step;                                                    \
        const size samples = i * v->channels * v->count;                                                                    \
        if (job->out) kernels->sample_image_##SUFFIX(v, image, grid, (REAL *)job->out + samples);                           \
        else                                                                                                                \
            kernels->sample_image_grad_##SUFFIX(v, image, grid, (const REAL *)job->g + samples,                             \
                job->grad_image ? (REAL *)job->grad_image + i * v->channels * v->area : NULL,                               \
                job->grad_grid ? (REAL *)job->grad_grid + i * v->count * v->axes : NULL);                                   \
    }
    if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
}

/* image, grid, mode, padding, align at `args`; 0 on success */
static int read_sampling(struct sampling *v, PyObject *const *args)
{
    if (!is_real(args[0]) || !is_like(args[1], args[0])) return -1;
    PyArrayObject *image = (PyArrayObject *)args[0], *grid = (PyArrayObject *)args[1];
    v->axes = PyArray_NDIM(image) - 2;
    if (v->axes < 2 || v->axes > SAMPLING_AXES || PyArray_NDIM(grid) != v->axes + 2 || PyArray_DIM(grid, v->axes + 1) != v->axes ||
        PyArray_DIM(grid, 0) != PyArray_DIM(image, 0))
        return -1;
    v->channels = PyArray_DIM(image, 1), v->area = v->count = 1;
    for (int a = 0; a < v->axes; a++) {
        v->length[a] = PyArray_DIM(image, 2 + a);
        v->area *= v->length[a], v->count *= PyArray_DIM(grid, 1 + a);
    }
    const long mode = PyLong_AsLong(args[2]), padding = PyLong_AsLong(args[3]);
    v->align = PyObject_IsTrue(args[4]);
    if (PyErr_Occurred() || mode < 0 || mode > SAMPLING_CUBIC || padding < 0 || padding > SAMPLING_REFLECTION ||
        (mode == SAMPLING_CUBIC && v->axes > 2))
        return -1;
    v->mode = (int)mode, v->padding = (int)padding;
    return v->area > 0 && v->area < INT32_MAX ? 0 : -1;
}

/* The grid if its places lie evenly apart, whatever the order of its axes, or a copy by rows; the steps are noted. */
static PyArrayObject *evenly(struct sampling_job *job, PyArrayObject *grid)
{
    struct sampling *v = &job->of;
    const npy_intp width = PyArray_ITEMSIZE(grid), *strides = PyArray_STRIDES(grid);
    const int last = (int)v->axes;
    npy_intp step = strides[last];
    int even = PyArray_ISBEHAVED_RO(grid) && step > 0 && strides[0] >= 0 && strides[last + 1] > 0;
    for (int a = 0; a <= last + 1; a++) even &= strides[a] % width == 0;
    for (int a = last; a > 1; a--) step *= PyArray_DIM(grid, a), even &= strides[a - 1] == step;
    PyArrayObject *found = even ? (PyArrayObject *)Py_NewRef(grid) : contiguous((PyObject *)grid);
    if (!found) return NULL;
    v->place_step = even ? strides[last] / width : v->axes, v->axis_step = even ? strides[last + 1] / width : 1;
    job->grid_step = even ? strides[0] / width : v->count * v->axes;
    return found;
}

/* The images if each lies by rows, however far apart they are (one image may be all of them), or a copy by rows; the step is noted. */
static PyArrayObject *each_by_rows(struct sampling_job *job, PyArrayObject *image)
{
    const npy_intp width = PyArray_ITEMSIZE(image), *strides = PyArray_STRIDES(image);
    npy_intp step = width;
    int even = PyArray_ISBEHAVED_RO(image) && strides[0] >= 0 && strides[0] % width == 0;
    for (int d = PyArray_NDIM(image) - 1; d > 0; d--) {
        even &= strides[d] == step || PyArray_DIM(image, d) == 1;
        step *= PyArray_DIM(image, d);
    }
    job->image_step = even ? strides[0] / width : step / width;
    return even ? (PyArrayObject *)Py_NewRef(image) : contiguous((PyObject *)image);
}

static int run_sampling(struct sampling_job *job, size images)
{
    const int chunks = pool_chunks(images, job->of.count * (10.0 + 4.0 * job->of.channels));
    int failed = 0;
    if (chunks > 1 || images * job->of.count > 50000) failed = pool_run_stoppable(sampling_task, job, images, chunks);
    else sampling_task(job, 0, images, 0);
    return failed;
}

/* grid_sample(image, grid, mode, padding, align) */
static PyObject *grid_sample(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct sampling_job job = {0};
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    if (read_sampling(&job.of, args) < 0) {
        if (PyErr_Occurred()) return NULL;
        NOT_HANDLED();
    }
    PyArrayObject *image = each_by_rows(&job, (PyArrayObject *)args[0]), *grid = evenly(&job, (PyArrayObject *)args[1]), *out = NULL;
    if (image && grid) {
        npy_intp shape[2 + SAMPLING_AXES] = {PyArray_DIM(image, 0), PyArray_DIM(image, 1)};
        for (int a = 0; a < job.of.axes; a++) shape[2 + a] = PyArray_DIM(grid, 1 + a);
        out = new_like(image, PyArray_NDIM(image), shape);
    }
    if (out) {
        job.image = PyArray_BYTES(image), job.grid = PyArray_BYTES(grid), job.out = PyArray_BYTES(out), job.type = PyArray_TYPE(image);
        if (run_sampling(&job, PyArray_DIM(image, 0)) < 0) Py_CLEAR(out);
    }
    Py_XDECREF(image);
    Py_XDECREF(grid);
    return (PyObject *)out;
}

/* grid_sample_grad(image, grid, mode, padding, align, g, of_image, of_grid) -> both gradients, or None for one */
static PyObject *grid_sample_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct sampling_job job = {0};
    if (count != 8) return PyErr_Format(PyExc_TypeError, "expected 8 arguments");
    if (read_sampling(&job.of, args) < 0 || !is_like(args[5], args[0])) {
        if (PyErr_Occurred()) return NULL;
        NOT_HANDLED();
    }
    PyArrayObject *image = each_by_rows(&job, (PyArrayObject *)args[0]), *grid = evenly(&job, (PyArrayObject *)args[1]);
    PyArrayObject *g = contiguous(args[5]), *out[2] = {NULL, NULL};
    int failed = !image || !grid || !g;
    if (!failed && PyArray_SIZE(g) != PyArray_DIM(image, 0) * job.of.channels * job.of.count)
        failed = 1, PyErr_SetString(PyExc_ValueError, "grid_sample_grad: shapes do not fit");
    for (int k = 0; k < 2 && !failed; k++)
        if (args[6 + k] == Py_True) {
            PyArrayObject *model = k ? grid : image;
            out[k] = (PyArrayObject *)PyArray_ZEROS(PyArray_NDIM(model), PyArray_DIMS(model), PyArray_TYPE(model), 0);
            failed = !out[k];
        }
    if (!failed) {
        job.image = PyArray_BYTES(image), job.grid = PyArray_BYTES(grid), job.g = PyArray_BYTES(g), job.type = PyArray_TYPE(image);
        job.grad_image = out[0] ? PyArray_BYTES(out[0]) : NULL, job.grad_grid = out[1] ? PyArray_BYTES(out[1]) : NULL;
        failed = run_sampling(&job, PyArray_DIM(image, 0)) < 0;
    }
    Py_XDECREF(image);
    Py_XDECREF(grid);
    Py_XDECREF(g);
    if (failed) {
        Py_XDECREF(out[0]);
        Py_XDECREF(out[1]);
        return NULL;
    }
    for (int k = 0; k < 2; k++)
        if (!out[k]) out[k] = (PyArrayObject *)Py_NewRef(Py_None);
    return Py_BuildValue("NN", out[0], out[1]);
}

struct resampling_job {
    struct resampling of;
    const char *x, *factors;
    char *out;
    int type;
};

static void resampling_task(void *context, size begin, size end, int chunk)
{
    const struct resampling_job *job = context;
    const struct resampling *v = &job->of;
    const size from = begin * v->size * v->inner, to = begin * v->out * v->inner;
    (void)chunk;
    if (job->type == NPY_FLOAT)
        kernels->resample_f32(v, (const float *)job->factors, (const float *)job->x + from, (float *)job->out + to, end - begin);
    else kernels->resample_f64(v, (const double *)job->factors, (const double *)job->x + from, (double *)job->out + to, end - begin);
}

/* resample(x, axis, places, factors): sums of elements along an axis, as plain/sampling.py defines them */
static PyObject *resample(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct resampling_job job = {0};
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    const long axis = PyLong_AsLong(args[1]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    PyArrayObject *x = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[2], *factors = (PyArrayObject *)args[3];
    if (!is_real(args[0]) || axis < 0 || axis >= PyArray_NDIM(x) || !PyArray_CheckExact(args[2]) || PyArray_TYPE(places) != NPY_INT32 ||
        !PyArray_ISCARRAY_RO(places) || PyArray_NDIM(places) != 2 || !is_like(args[3], args[0]) || !PyArray_ISCARRAY_RO(factors) ||
        !PyArray_SAMESHAPE(places, factors))
        NOT_HANDLED();
    job.of = (struct resampling){PyArray_DIM(x, axis), PyArray_DIM(places, 1), PyArray_DIM(places, 0), 1, 0, PyArray_DATA(places)};
    int32_t first = 0, last = -1;
    for (size i = 0; i < job.of.out * job.of.taps; i++) {
        const int32_t place = job.of.places[i];
        first = place < first ? place : first, last = place > last ? place : last;
    }
    job.of.holes = first < 0;
    if (last >= job.of.size) return PyErr_Format(PyExc_IndexError, "resample: place %d of %zd", (int)last, (Py_ssize_t)job.of.size);
    npy_intp shape[NPY_MAXDIMS];
    size planes = 1;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        shape[d] = d == axis ? job.of.out : PyArray_DIM(x, d);
        if (d < axis) planes *= shape[d];
        if (d > axis) job.of.inner *= shape[d];
    }
    if (!(x = contiguous(args[0]))) return NULL;
    PyArrayObject *out = new_like(x, PyArray_NDIM(x), shape);
    if (out) {
        job.x = PyArray_BYTES(x), job.factors = PyArray_BYTES(factors), job.out = PyArray_BYTES(out), job.type = PyArray_TYPE(x);
        const int chunks = pool_chunks(planes, 0.3 * job.of.out * job.of.taps * job.of.inner);
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(planes * job.of.out * job.of.inner);
        if (chunks > 1) pool_run(resampling_task, &job, planes, chunks);
        else resampling_task(&job, 0, planes, 0);
        NPY_END_THREADS
    }
    Py_DECREF(x);
    return (PyObject *)out;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef sampling_methods[] = {METHOD(grid_sample), METHOD(grid_sample_grad), METHOD(resample), {NULL, NULL, 0, NULL}};
