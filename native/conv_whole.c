/* Convolutions whose windows are whole images, as those of one pixel after a pool: products of matrices, an image and a filter being rows. */
#include "conv.h"

#include "product.h"

int whole_suits(const struct conv *v, PyArrayObject *given)
{
    int whole = v->groups == 1 && !conv_by_pixels(given);
    for (int k = 0; k < AXES; k++) whole &= !v->axis[k].pad && v->axis[k].size == v->axis[k].kernel;
    return whole && conv_pays(BY_PRODUCT, 0, 1);
}

/* An array that lies row by row as a matrix of so many rows; turned around, it is its transpose. */
static PyArrayObject *matrix(PyArrayObject *array, size rows, int turned)
{
    npy_intp shape[] = {rows, PyArray_SIZE(array) / rows};
    PyArray_Dims dims = {shape, 2};
    PyArrayObject *found = (PyArrayObject *)PyArray_Newshape(array, &dims, NPY_CORDER), *other = found && turned ? (PyArrayObject *)PyArray_Transpose(found, NULL) : NULL;
    if (!found || !turned) return found;
    Py_DECREF(found);
    return other;
}

PyArrayObject *whole_product(PyObject *left, int left_turned, PyObject *right, int right_turned, PyObject *bias, int ndim, const npy_intp *shape)
{
    PyArrayObject *a = contiguous(left), *b = a ? contiguous(right) : NULL, *added = b && bias != Py_None ? contiguous(bias) : NULL, *out = NULL;
    if (b && (added || bias == Py_None)) out = new_like(a, ndim, shape);
    PyArrayObject *rows = out ? matrix(a, PyArray_DIM(a, 0), left_turned) : NULL, *columns = rows ? matrix(b, PyArray_DIM(b, 0), right_turned) : NULL;
    PyArrayObject *results = columns ? matrix(out, shape[0], 0) : NULL;
    conv_forget();
    if (!results || product_rows(results, rows, columns, added) < 0) Py_CLEAR(out);
    else conv_took(BY_PRODUCT, 1);
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(added);
    Py_XDECREF(rows);
    Py_XDECREF(columns);
    Py_XDECREF(results);
    return out;
}
