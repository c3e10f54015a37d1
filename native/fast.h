/* Running a loop over operands that broadcast: what fast.c and shortcuts.c share. */
#ifndef WENGERT_FAST_H
#define WENGERT_FAST_H

#include "wengert.h"

enum { MAX_OPERANDS = 6, MAX_AXES = 8 };

/* A loop as NumPy writes them: pointers, count, steps, data. */
struct loop {
    PyUFuncGenericFunction function;
    void *data;
    int out_type;
    int rows; /* what the kernels do with many rows at a time, ROWS_NONE, or ROWS_WANTED: one number takes longer than a row of it */
};

/* Put our own loops of float32 and float64 in the place of NumPy's, where we have any for the function of this name. */
void arithmetic_replace(const char *name, struct loop *single, struct loop *twice);

/* The same of the logical functions: truths.c */
void truths_replace(const char *name, struct loop *single, struct loop *twice);

/* The same of what wider vectors are quicker for, by the number of the type: lanes.c */
void lanes_replace(const char *name, struct loop *loops);

/* The same of complex64 and complex128. */
void arithmetic_replace_complex(const char *name, struct loop *single, struct loop *twice);

/* The loops of one of our own ufuncs (elementwise.c) and what an element costs; 0 if it is none. */
int elementwise_loops(PyObject *ufunc, double *cost, struct loop *single, struct loop *twice, struct loop *narrow);

/* Whether a type number is ml_dtypes' bfloat16. */
int is_brain(int type);

/* One run of a loop; the output is the last operand. */
struct fast_job {
    const struct loop *loop;
    int operands, axes;
    npy_intp shape[MAX_AXES];
    char *data[MAX_OPERANDS];
    npy_intp strides[MAX_OPERANDS][MAX_AXES], width[MAX_OPERANDS]; /* width: bytes of an element */
    int split_inner; /* whether chunks are parts of the last axis, there being no other */
    int streamed;    /* whether the result goes past the caches */
};

/* What operands broadcast to: its shape, in the order in which its axes lie in memory; order[0] is the number of the outermost. */
struct layout {
    int ndim, order[MAX_AXES];
    npy_intp shape[MAX_AXES];
};

/* Fill in layout and strides of arrays, numbers (for which `args` has something else) and the output, if it is given; -1 where they do
 * not broadcast, or a stride is negative. */
int fast_lay_out(struct fast_job *job, struct layout *layout, PyObject *const *args, int inputs, PyArrayObject *target);

/* A new output, dense in that layout, and its strides. */
PyArrayObject *fast_result(struct fast_job *job, const struct layout *layout, int type);

/* The memory from the first to behind the last byte of an array; nothing of one that is empty. */
void fast_extent(PyArrayObject *a, const char **begin, const char **end);

/* Take `shape` and the strides, which cover `ndim` axes, and leave them in the job with axes of length one dropped and
 * neighbours joined that lie in memory like one axis for all operands. */
void fast_join_axes(struct fast_job *job, int ndim, const npy_intp *shape);

/* Run over all `total` elements; `bytes` (of the result) decides whether the GIL is released. */
void fast_run(struct fast_job *job, double cost, size total, size bytes);

/* Copy an array of at most MAX_AXES axes to where `to` is, with those steps; its elements have 1, 2, 4, 8 or 16 bytes. */
void fast_copy(PyArrayObject *x, char *to, const npy_intp *strides);

/* Whether there is a loop that turns numbers of one type into those of another, and `n` of them turned. casts.c */
int casts_memory(int from, int to);
void cast_memory(void *to, int to_type, size to_width, const void *from, int from_type, size from_width, size n);

/* A Python number as an element of `type` (floating, real, or int64, which only a whole number is); -1 if it is something else. */
int fast_write_number(PyObject *number, int type, void *to);

#endif
