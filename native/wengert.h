/* What every file of the extension includes: Python and NumPy, and the parts that module.c puts together. */
#ifndef WENGERT_H
#define WENGERT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL wengert_array_api
#define PY_UFUNC_UNIQUE_SYMBOL wengert_ufunc_api
#ifndef WENGERT_MODULE
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#include <math.h>
#include <string.h>

#include "kernels.h"

int composed_init(PyObject *module);
int elementwise_init(PyObject *module);
int fast_init(PyObject *module);
int memory_init(PyObject *module);
int node_init(PyObject *module);
int tape_init(PyObject *module);
int hidden_init(PyObject *module);
extern PyMethodDef rows_methods[], channels_methods[], windows_methods[], shortcuts_methods[], optimizers_methods[];
extern PyMethodDef padding_methods[];
extern PyMethodDef casts_methods[], layout_methods[], lines_methods[], pools_methods[], random_methods[], attention_methods[], conv_methods[];
extern PyMethodDef matrices_methods[], sampling_methods[], frames_methods[], recurrent_methods[], product_methods[], folds_methods[], context_methods[];
extern PyMethodDef alignments_methods[], logsumexp_methods[], extremes_methods[], bessel_methods[], ranks_methods[], brain_methods[], views_methods[], writes_methods[], brain_conv_methods[], fourier_methods[], sums_methods[], lapack_methods[], factories_methods[];
extern PyMethodDef sorting_methods[], distances_methods[], groups_methods[], adaptive_methods[], margins_methods[], lazy_methods[];

PyObject *cast_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count); /* casts.c */

PyObject *layout_rows(PyObject *array); /* a new array in C order; layout.c */
int layout_into(PyArrayObject *x, char *to); /* the same to memory for it; 0 with nothing done where NumPy has to, -1 with an error */

/* Images whose channels, axis 1, are innermost in memory: whether they are, without gaps; a new array of such; and a new reference to the
 * array, if it is one, or to a copy. */
int lies_innermost(PyArrayObject *x);
PyArrayObject *new_innermost(int type, int ndim, const npy_intp *shape);
PyArrayObject *innermost_of(PyObject *array);
/* Copies x to `to` in C order, where it holds images with their channels innermost, or is such images of planes transposed: 1 if that
 * is done, 0 if x is not of this kind, -1 with an error. */
int turn_in_order(PyArrayObject *x, char *to);

/* The axes from the longest step to the shortest, of an array without gaps; 0 where it has some, or where what is left without those that
 * are `gone` would come in another order. sums.c */
int memory_order(PyArrayObject *x, const char *gone, int *order);

/* The largest or least float32 or float64 over the axes that are `gone`, to `out`; 0 where they do not lie side by side in memory. folds.c */
int extremes_between(PyArrayObject *x, PyArrayObject *out, const char *gone, int least);

/* Whether the in-place form that runs is about to write there, so that a kernel may leave its result there: writes.c. */
int may_write_to(PyArrayObject *a);

/* Changes of context variables: context.c. */
PyObject *context_set(PyObject *variable, PyObject *value);
int context_reset(PyObject *variable, PyObject *token);

/* The functions of these tables take positional arguments and return NotImplemented for what they do not handle
 * (other dtypes, mixed dtypes): the caller then uses the plain definition. */
#define NOT_HANDLED()                                         \
    do {                                                      \
        Py_INCREF(Py_NotImplemented);                         \
        return Py_NotImplemented;                             \
    } while (0)

static inline int is_real(PyObject *object)
{
    if (!PyArray_Check(object)) return 0;
    const int type = PyArray_TYPE((PyArrayObject *)object);
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_ISNOTSWAPPED((PyArrayObject *)object);
}
static inline int is_like(PyObject *object, PyObject *model)
{
    return is_real(object) && PyArray_TYPE((PyArrayObject *)object) == PyArray_TYPE((PyArrayObject *)model);
}
/* 1 for an array of float16, 2 for one of bfloat16, else 0; fast.h knows them by number. */
int narrow_kind(PyObject *object);
/* The kernels for rows of n numbers of that many bytes. Of short rows, and where a quarter of the 128 bytes of partial results is left
 * over, those of shorter vectors: with vectors of 64 bytes partial results are written in halves and read as a whole, which waits. The
 * results are the same. */
extern const struct kernels *short_kernels;
static inline const struct kernels *row_kernels(size n, size width)
{
    return n * width < 1024 && (n * width < 128 || n * width % 128 >= 32) ? short_kernels : kernels;
}
/* A new reference to the array itself, or to a contiguous and aligned copy. */
static inline PyArrayObject *contiguous(PyObject *array)
{
    PyArrayObject *a = (PyArrayObject *)array;
    if (PyArray_CheckExact(array) && !PyArray_IS_C_CONTIGUOUS(a) && PyArray_ISBEHAVED_RO(a)) return (PyArrayObject *)layout_rows(array);
    return (PyArrayObject *)PyArray_FROM_OF(array, NPY_ARRAY_CARRAY_RO);
}
/* A number of the geometry of windows: from `least` up to MOST, so that the product of two, and sums of such products, fit. */
enum { MOST = INT32_MAX };
static inline int read_number(PyObject *object, size least, size *to)
{
    const Py_ssize_t value = PyLong_AsSsize_t(object);
    if (value == -1 && PyErr_Occurred()) PyErr_Clear();
    else if (value >= least && value <= MOST) {
        *to = value;
        return 0;
    }
    return -1;
}
/* Whether memory for as many elements as the product of all numbers could be asked for; none of them is negative. */
static inline int is_countable(const size *numbers, int count)
{
    double product = 1;
    for (int k = 0; k < count; k++) product *= (double)numbers[k];
    return product < 1e17;
}
/* Memory for a kernel to work in, as an array: NumPy's allocator gives the same block again and again. Needs the GIL. It begins where a
 * line of the cache does: vectors that lie across two take twice as long to read. */
static inline PyArrayObject *scratch(size count, size width)
{
    npy_intp bytes = count * width + 64;
    if ((double)count * (double)width > 1e18 || count < 0) return (PyArrayObject *)PyErr_NoMemory();
    return (PyArrayObject *)PyArray_SimpleNew(1, &bytes, NPY_UINT8);
}
static inline char *aligned(PyArrayObject *memory)
{
    return (char *)(((uintptr_t)PyArray_BYTES(memory) + 63) / 64 * 64);
}
static inline PyArrayObject *new_like(PyArrayObject *model, int ndim, const npy_intp *shape)
{
    return (PyArrayObject *)PyArray_SimpleNew(ndim, shape, PyArray_TYPE(model));
}

#endif
