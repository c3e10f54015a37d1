/* Products of two matrices of one real type, by BLAS or by the kernels here. */
#ifndef WENGERT_PRODUCT_H
#define WENGERT_PRODUCT_H

#include "wengert.h"

/* out = a b, if that is not better left to BLAS: whether it was done, or -1 with an error. */
int product_into(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b);

/* a b as a new array. */
PyObject *product_of(PyArrayObject *a, PyArrayObject *b);

#endif
