/* What the files share that have decompositions by LAPACK: its routines, and stacks of matrices as it wants them. */
#ifndef WENGERT_LAPACK_H
#define WENGERT_LAPACK_H

#include "product.h"

typedef int64_t whole; /* the integers of routines whose names end in 64_ */

/* Numbers are given by address, so that a routine looks alike in both precisions; behind them are the lengths of the texts. */
typedef void getrf_routine(const whole *m, const whole *n, void *a, const whole *lda, whole *pivots, whole *info);
typedef void getrs_routine(const char *turn, const whole *n, const whole *k, const void *a, const whole *lda, const whole *pivots, void *b,
                           const whole *ldb, whole *info, size_t);
typedef void geqrf_routine(const whole *m, const whole *n, void *a, const whole *lda, void *tau, void *work, const whole *size, whole *info);
typedef void orgqr_routine(const whole *m, const whole *n, const whole *k, void *a, const whole *lda, const void *tau, void *work,
                           const whole *size, whole *info);
typedef void potrf_routine(const char *part, const whole *n, void *a, const whole *lda, whole *info, size_t);
typedef void trsm_routine(const char *side, const char *part, const char *turn, const char *unit, const whole *n, const whole *k,
                          const void *factor, const void *a, const whole *lda, void *b, const whole *ldb, size_t, size_t, size_t, size_t);
typedef void gesdd_routine(const char *job, const whole *m, const whole *n, void *a, const whole *lda, void *s, void *u, const whole *ldu,
                           void *v, const whole *ldv, void *work, const whole *size, whole *places, whole *info, size_t);
typedef void syevd_routine(const char *job, const char *part, const whole *n, void *a, const whole *lda, void *w, void *work,
                           const whole *size, whole *places, const whole *count, whole *info, size_t, size_t);
typedef void geev_routine(const char *left, const char *right, const whole *n, void *a, const whole *lda, void *real, void *imaginary,
                          void *vl, const whole *ldvl, void *vr, const whole *ldvr, void *work, const whole *size, whole *info, size_t, size_t);
typedef void gelsy_routine(const whole *m, const whole *n, const whole *k, void *a, const whole *lda, void *b, const whole *ldb,
                           whole *places, const void *rcond, whole *rank, void *work, const whole *size, whole *info);

/* The same of complex numbers, which want room for real ones, too. */
typedef void gesdd_complex_routine(const char *job, const whole *m, const whole *n, void *a, const whole *lda, void *s, void *u, const whole *ldu,
                                   void *v, const whole *ldv, void *work, const whole *size, void *reals, whole *places, whole *info, size_t);
typedef void heevd_routine(const char *job, const char *part, const whole *n, void *a, const whole *lda, void *w, void *work, const whole *size,
                           void *reals, const whole *real_size, whole *places, const whole *count, whole *info, size_t, size_t);
typedef void geev_complex_routine(const char *left, const char *right, const whole *n, void *a, const whole *lda, void *w, void *vl, const whole *ldvl,
                                  void *vr, const whole *ldvr, void *work, const whole *size, void *reals, whole *info, size_t, size_t);
typedef void gelsy_complex_routine(const whole *m, const whole *n, const whole *k, void *a, const whole *lda, void *b, const whole *ldb, whole *places,
                                   const void *rcond, whole *rank, void *work, const whole *size, void *reals, whole *info);

enum { GETRF, GETRS, GEQRF, ORGQR, POTRF, TRSM, GESDD, SYEVD, GEEV, GELSY, ROUTINES };
enum { DOUBLE = 1, COMPLEX = 2, KINDS = 4 }; /* bits of a kind of numbers */
extern void *lapack_routines[KINDS][ROUTINES];
#define CALL(kind, NAME, type) ((type##_routine *)lapack_routines[kind][NAME])

/* A stack of matrices; `count` of them, each `rows` by `columns`. */
struct matrices {
    PyArrayObject *array;
    int kind, batches;
    size item, real, count; /* item: bytes of a number, real: of its real part */
    whole rows, columns;
};

/* Whether an array is one, and LAPACK is there. */
int describe_matrices(PyObject *object, struct matrices *m);

/* A new stack beside `like`: its leading axes, then `rows` by `columns`, or `rows` alone where `columns` is negative; each matrix column
 * by column. Of this type, of the same, and of its real parts. */
PyArrayObject *make_stack(const struct matrices *like, int type, whole rows, whole columns);
PyArrayObject *make_like(const struct matrices *like, whole rows, whole columns);
PyArrayObject *make_real(const struct matrices *like, whole rows, whole columns);

/* The matrix number `at` of the stack, to columns of `height` numbers. */
void take_matrix(const struct matrices *m, size at, void *to, size height);

static inline void *place(PyArrayObject *stack, size at, size numbers)
{
    return PyArray_BYTES(stack) + at * numbers * PyArray_ITEMSIZE(stack);
}
/* The real part of a number, and a real number put in its place. */
static inline double number(const void *at, int kind) { return kind & DOUBLE ? *(const double *)at : *(const float *)at; }
static inline void put_real(void *at, int kind, double value)
{
    if (kind & DOUBLE) *(double *)at = value;
    else *(float *)at = (float)value;
}
static inline void put(void *at, int kind, double value)
{
    put_real(at, kind, value);
    if (kind & COMPLEX) put_real((char *)at + (kind & DOUBLE ? 8 : 4), kind, 0);
}
static inline whole least(whole a, whole b) { return a < b ? a : b; }

int all_finite(const struct matrices *like, const void *numbers, size count);
int same_stacks(const struct matrices *a, const struct matrices *b);

/* Zeros below the diagonal of a matrix that lies column by column, or above it. */
void clear_triangle(char *a, size item, whole rows, whole columns, int below);

/* Room for `count` numbers and as many whole ones. */
static inline PyArrayObject *room_for(size numbers, size item, size wholes) { return scratch(wholes * (size)sizeof(whole) + numbers * item, 1); }

/* A tuple of new arrays, or NULL with an error; NotImplemented where `refused`. */
PyObject *results_of(int refused, int count, PyArrayObject **arrays);

#define EXPECT(number)                                                                          \
    (void)module;                                                                               \
    if (count != number) return PyErr_Format(PyExc_TypeError, "expected " #number " arguments")

/* In spectra.c. */
PyObject *orthogonal(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *singular(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *symmetric(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *eigen(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *least_squares(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
