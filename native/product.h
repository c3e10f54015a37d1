/* Products of two matrices of one real type, by BLAS or by the kernels here. */
#ifndef WENGERT_PRODUCT_H
#define WENGERT_PRODUCT_H

#include "wengert.h"

/* A function of the OpenBLAS that NumPy loaded; NULL where it has none of this name, or another library. */
void *blas_routine(const char *name);

/* out = a b, if that is not better left to BLAS: whether it was done, or -1 with an error. */
int product_into(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b);

/* out = a b, and a bias that lies in one piece added to every row, if given: -1 with an error. Rows of out lie so, too. */
int product_rows(PyArrayObject *out, PyArrayObject *a, PyArrayObject *b, PyArrayObject *bias);

/* a b as a new array. */
PyObject *product_of(PyArrayObject *a, PyArrayObject *b);

/* Stacks of matrices that meet one by one: leading axes, and the steps of both operands along them in bytes, none where one matrix meets
 * several. */
struct stack {
    int axes;
    npy_intp length[NPY_MAXDIMS], a_step[NPY_MAXDIMS], b_step[NPY_MAXDIMS];
};
/* Whether two stacks meet, and how. */
int describe_stack(struct stack *stack, PyArrayObject *a, PyArrayObject *b);

/* Where the operands of an item of the stack begin. */
static inline void stack_offsets(const struct stack *stack, size item, size *a, size *b)
{
    *a = *b = 0;
    for (int k = stack->axes - 1; k >= 0; item /= stack->length[k], k--)
        *a += item % stack->length[k] * stack->a_step[k], *b += item % stack->length[k] * stack->b_step[k];
}

#endif
