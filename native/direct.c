/* Forwards that are one kernel, which an operation calls without Python between them: of arrays that lie row by row, as the layouts that
 * their declarations name are what the kernel gives then. What a kernel does not handle is left to the definition in Python. */
#include "operation.h"

#include "integers.h"

typedef kernel_of_arrays kernel;

static PyObject *answer_of(kernel f, PyObject *const *row, Py_ssize_t count)
{
    if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)row[0])) return NULL;
    PyObject *found = f(NULL, row, count);
    if (found == Py_NotImplemented) Py_CLEAR(found);
    return found;
}

/* The arguments of the operator, in the order of the kernel's. */
#define DIRECT(name, kernel, ...)                                            \
    static PyObject *name(PyArrayObject *a, PyObject *const *args)           \
    {                                                                        \
        PyObject *const row[] = {(PyObject *)a, __VA_ARGS__};                \
        return answer_of(kernel, row, (Py_ssize_t)(sizeof row / sizeof *row)); \
    }
DIRECT(averages, avg_pool, args[4], args[1], args[2], args[3], args[5], args[6])
DIRECT(windows, im2col, args[1], args[4], args[3], args[2])

/* Of pools of the largest: one window that is all of an image has a quicker way. */
static PyObject *largest_of(kernel f, PyArrayObject *a, PyObject *const *args)
{
    PyObject *const row[] = {(PyObject *)a, args[5], args[1], args[2], args[3], args[4]};
    const int axes = PyTuple_CheckExact(args[1]) ? (int)PyTuple_GET_SIZE(args[1]) : 0, ndim = PyArray_NDIM(a);
    int whole = axes <= ndim;
    for (int k = 0; whole && k < axes; k++) whole = PyLong_AsSsize_t(PyTuple_GET_ITEM(args[1], k)) == PyArray_DIM(a, ndim - axes + k);
    return whole ? NULL : answer_of(f, row, 6);
}
/* max_pool_windows, max_pool_values(input, kernel, stride, padding, dilation, ceil_mode) */
static PyObject *largest(PyArrayObject *a, PyObject *const *args) { return largest_of(max_pool, a, args); }
static PyObject *largest_values(PyArrayObject *a, PyObject *const *args) { return largest_of(max_pool_values, a, args); }

/* softmax(input, dim, dtype) */
static PyObject *along(kernel f, PyArrayObject *a, PyObject *const *args)
{
    PyObject *const row[] = {(PyObject *)a, args[1]};
    return PyLong_CheckExact(args[1]) && args[2] == Py_None ? answer_of(f, row, 2) : NULL;
}
static PyObject *weights(PyArrayObject *a, PyObject *const *args) { return along(softmax, a, args); }
static PyObject *log_weights(PyArrayObject *a, PyObject *const *args) { return along(log_softmax, a, args); }

/* topk(input, k, dim, largest, sorted): along the last dimension */
static PyObject *top(PyArrayObject *a, PyObject *const *args)
{
    const int last = PyArray_NDIM(a) - 1, type = PyArray_TYPE(a);
    const long dim = PyLong_CheckExact(args[2]) ? PyLong_AsLong(args[2]) : -2, k = PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) : 0;
    if (last < 0 || (dim != -1 && dim != last) || k < 1 || k > PyArray_DIM(a, last) || !PyBool_Check(args[3]) || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64) ||
        !PyArray_ISCARRAY_RO(a))
        return PyErr_Clear(), NULL;
    npy_intp flat[2] = {PyArray_SIZE(a) / PyArray_DIM(a, last), PyArray_DIM(a, last)}, shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(a), last * sizeof *shape);
    shape[last] = k;
    PyArray_Dims two = {flat, 2}, all = {shape, last + 1};
    PyObject *rows = last == 1 ? Py_NewRef((PyObject *)a) : PyArray_Newshape(a, &two, NPY_CORDER), *pair = NULL;
    PyObject *const row[] = {rows, args[1], args[3] == Py_True ? Py_False : Py_True};
    PyObject *order = rows ? answer_of(top_places, row, 3) : NULL;
    if (order && last != 1) Py_SETREF(order, PyArray_Newshape((PyArrayObject *)order, &all, NPY_CORDER));
    PyObject *axis = order ? PyLong_FromLong(last) : NULL, *const taken[] = {(PyObject *)a, axis, order};
    PyObject *values = axis ? answer_of(take_along, taken, 3) : NULL;
    if (values) pair = PyTuple_Pack(2, values, order);
    Py_XDECREF(rows);
    Py_XDECREF(order);
    Py_XDECREF(axis);
    Py_XDECREF(values);
    return pair;
}

/* sum(input, dim, keepdim, dtype), mean, prod, nansum: of real numbers, the first two of complex ones, too */
enum { SUM, MEAN, PRODUCT, NUMBERS, NORM };
static PyObject *total_of(PyArrayObject *a, PyObject *dims, PyObject *keep, int which)
{
    static const kernel each[] = {sum_kernel, mean_kernel, product, sum_of_numbers, norm_kernel};
    PyObject *const row[] = {(PyObject *)a, PyTuple_CheckExact(dims) && !PyTuple_GET_SIZE(dims) ? Py_None : dims, keep};
    PyObject *found = each[which](NULL, row, 3);
    if (found == Py_NotImplemented) Py_CLEAR(found);
    return found;
}
static PyObject *total(PyArrayObject *a, PyObject *const *args, int which)
{
    const PyArray_Descr *d = PyArray_DESCR(a);
    if ((args[3] != Py_None && args[3] != (PyObject *)d) || !PyBool_Check(args[2]) || (d != at.f32 && d != at.f64 && (which != SUM || (d != at.c64 && d != at.c128)))) return NULL;
    return reduced_in_memory_order(total_of, a, args[1], args[2], which);
}
static PyObject *summed(PyArrayObject *a, PyObject *const *args)
{
    if (args[3] == Py_None && PyBool_Check(args[2]) && are_integers(a)) return reduced_in_memory_order(total_of, a, args[1], args[2], SUM);
    return total(a, args, SUM);
}
static PyObject *averaged(PyArrayObject *a, PyObject *const *args) { return total(a, args, MEAN); }
static PyObject *multiplied(PyArrayObject *a, PyObject *const *args) { return total(a, args, PRODUCT); }
static PyObject *numbers_summed(PyArrayObject *a, PyObject *const *args) { return total(a, args, NUMBERS); }

/* linalg_vector_norm(input, ord, dim, keepdim, dtype): the usual one */
static PyObject *length_of(PyArrayObject *a, PyObject *const *args)
{
    const int usual = PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) == 2 : PyFloat_CheckExact(args[1]) && PyFloat_AS_DOUBLE(args[1]) == 2;
    PyObject *const row[] = {(PyObject *)a, args[2], args[3], args[4]};
    if (PyErr_Occurred()) PyErr_Clear();
    return usual ? total(a, row, NORM) : NULL;
}

/* nll(input, target, weight, reduction, ignore_index): the loss, and in cells what its gradient is made of; the sum of weights.
 * cross_entropy_index(...): the loss, the logarithms of sums, and so on. */
static PyObject *loss_of_classes(PyArrayObject *a, PyObject *const *args, int softmax)
{
    PyObject *const row[] = {(PyObject *)a, args[1], args[2], args[4], args[3], softmax ? Py_True : Py_False};
    if (!PyArray_CheckExact(args[1]) || !PyLong_CheckExact(args[4])) return NULL;
    PyObject *found = class_losses(NULL, row, 6), *answer = NULL, *cell[3] = {NULL, NULL, NULL};
    if (found && PyTuple_CheckExact(found)) {
        int made = 1;
        for (int i = 0; i < 3; i++) made &= (cell[i] = PyCell_New(PyTuple_GET_ITEM(found, 1 + i))) != NULL;
        PyObject *loss = PyTuple_GET_ITEM(found, 0);
        if (made && softmax) answer = PyTuple_Pack(4, loss, cell[0], cell[1], cell[2]);
        else if (made) answer = PyTuple_Pack(4, loss, cell[1], cell[2], PyTuple_GET_ITEM(found, 4));
    }
    for (int i = 0; i < 3; i++) Py_XDECREF(cell[i]);
    Py_XDECREF(found);
    return answer;
}
static PyObject *likelihood(PyArrayObject *a, PyObject *const *args) { return loss_of_classes(a, args, 0); }
static PyObject *cross_entropy(PyArrayObject *a, PyObject *const *args) { return loss_of_classes(a, args, 1); }

/* ---- products ---- */

static int is_real_like(PyArrayObject *a, PyObject *other, int dims)
{
    PyArrayObject *b = (PyArrayObject *)other;
    return PyArray_CheckExact(other) && PyArray_DESCR(a) == PyArray_DESCR(b) && (PyArray_DESCR(a) == at.f32 || PyArray_DESCR(a) == at.f64) &&
           PyArray_NDIM(b) == dims && PyArray_ISALIGNED(a) && PyArray_ISALIGNED(b);
}

PyObject *fitting_product(kernel f, PyArrayObject *a, PyObject *const *args, int dims)
{
    PyArrayObject *b = (PyArrayObject *)args[1];
    if (PyArray_NDIM(a) != dims || !is_real_like(a, args[1], dims) || PyArray_DIM(a, dims - 1) != PyArray_DIM(b, dims - 2)) return NULL;
    if (dims == 3 && (PyArray_DIM(a, 0) != PyArray_DIM(b, 0) || !PyArray_STRIDE(b, 0) || PyArray_DIM(a, 2) == 1)) return NULL;
    PyObject *const row[] = {(PyObject *)a, args[1]}, *found = f(NULL, row, 2);
    if (found != Py_NotImplemented) return (PyObject *)found;
    Py_DECREF(found);
    return NULL;
}

/* mm(input, mat2) */
static PyObject *of_matrices(PyArrayObject *a, PyObject *const *args) { return fitting_product(matmul, a, args, 2); }

/* dot(input, tensor), mv(input, vec): by BLAS, as NumPy has it */
static PyObject *with_vector(PyArrayObject *a, PyObject *const *args, int dims)
{
    if (PyArray_NDIM(a) != dims || !is_real_like(a, args[1], 1) || PyArray_DIM(a, dims - 1) != PyArray_DIM((PyArrayObject *)args[1], 0)) return NULL;
    return PyArray_MatrixProduct2((PyObject *)a, args[1], NULL);
}
static PyObject *of_vectors(PyArrayObject *a, PyObject *const *args) { return with_vector(a, args, 1); }
static PyObject *of_matrix(PyArrayObject *a, PyObject *const *args) { return with_vector(a, args, 2); }

/* linalg_cross(input, other, dim) */
static PyObject *crossed(PyArrayObject *a, PyObject *const *args)
{
    const int ndim = PyArray_NDIM(a);
    const long dim = PyLong_CheckExact(args[2]) ? PyLong_AsLong(args[2]) : ndim;
    if (dim < -ndim || dim >= ndim || PyErr_Occurred()) return NULL;
    PyObject *axis = PyLong_FromLong(dim < 0 ? dim + ndim : dim), *const row[] = {(PyObject *)a, args[1], axis};
    PyObject *found = axis ? answer_of(cross, row, 3) : NULL;
    Py_XDECREF(axis);
    return found;
}

view_forward direct_forward_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {
        {"avg_pool_windows", averages}, {"max_pool_windows", largest}, {"max_pool_values", largest_values}, {"unfold_columns", windows},
        {"softmax", weights}, {"log_softmax", log_weights}, {"topk", top}, {"sum", summed}, {"sum_dim", summed}, {"mean", averaged},
        {"mean_dim", averaged}, {"prod", multiplied}, {"prod_dim", multiplied}, {"nansum", numbers_summed},
        {"searchsorted", search_forward}, {"bucketize", bucket_forward}, {"mm", of_matrices}, {"dot", of_vectors}, {"mv", of_matrix}, {"linalg_cross", crossed}, {"nll", likelihood}, {"cross_entropy_index", cross_entropy}, {"linalg_vector_norm", length_of}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return NULL;
}
