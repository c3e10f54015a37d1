/* The extension module wengert.arrays._kernels: picks the instruction set, and puts the families together. */
#define WENGERT_MODULE
#include "wengert.h"

#include "pool.h"

#ifdef WENGERT_X86_LEVELS
#include <cpuid.h>
#endif

const struct kernels *kernels = &kernels_baseline, *short_kernels = &kernels_baseline;
int halves_vectors = 0;

#ifdef WENGERT_X86_LEVELS
/* Family 25 of AMD (the fourth generation; the fifth has units of 64 bytes). */
static int is_of_halves(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || !__get_cpuid(1, &a, &b, &c, &d)) return 0;
    return (a >> 8 & 15) + (a >> 20 & 255) == 25;
}
#endif

/* Choose the best table this processor can run, or the one that WENGERT_ISA names if it can run that. */
static void choose_instruction_set(void)
{
#ifdef WENGERT_X86_LEVELS
    const char *wanted = getenv("WENGERT_ISA");
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && (!wanted || !strcmp(wanted, "avx512"))) {
        kernels = &kernels_avx512, halves_vectors = is_of_halves();
    } else if (avx2 && (!wanted || strcmp(wanted, "baseline"))) kernels = &kernels_avx2;
    short_kernels = kernels == &kernels_avx512 ? &kernels_avx2 : kernels;
#endif
}

static PyObject *set_num_threads(PyObject *module, PyObject *count)
{
    (void)module;
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred()) return NULL;
    if (value < 1) return PyErr_Format(PyExc_RuntimeError, "set_num_threads expects a positive integer");
    pool_get_threads();
    pool_set_threads(value > INT_MAX ? INT_MAX : (int)value);
    Py_RETURN_NONE;
}

static PyObject *get_num_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(pool_get_threads());
}

static PyMethodDef methods[] = {
    {"set_num_threads", set_num_threads, METH_O, "set_num_threads(count): threads that a kernel may use."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "Threads that a kernel may use."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernels", "Native kernels; use them through wengert.arrays.kernels.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    import_array();
    import_ufunc();
    choose_instruction_set();
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (PyModule_AddFunctions(module, rows_methods) < 0 || PyModule_AddFunctions(module, channels_methods) < 0 ||
        PyModule_AddFunctions(module, windows_methods) < 0 || PyModule_AddFunctions(module, shortcuts_methods) < 0 ||
        PyModule_AddFunctions(module, optimizers_methods) < 0 || PyModule_AddFunctions(module, attention_methods) < 0 ||
        PyModule_AddFunctions(module, conv_methods) < 0 || PyModule_AddFunctions(module, recurrent_methods) < 0 ||
        PyModule_AddFunctions(module, casts_methods) < 0 || PyModule_AddFunctions(module, layout_methods) < 0 ||
        PyModule_AddFunctions(module, padding_methods) < 0 ||
        PyModule_AddFunctions(module, product_methods) < 0 || PyModule_AddFunctions(module, folds_methods) < 0 ||
        PyModule_AddFunctions(module, lines_methods) < 0 || PyModule_AddFunctions(module, random_methods) < 0 ||
        PyModule_AddFunctions(module, pools_methods) < 0 || PyModule_AddFunctions(module, context_methods) < 0 ||
        PyModule_AddFunctions(module, frames_methods) < 0 || PyModule_AddFunctions(module, sampling_methods) < 0 ||
        PyModule_AddFunctions(module, matrices_methods) < 0 || PyModule_AddFunctions(module, alignments_methods) < 0 ||
        PyModule_AddFunctions(module, extremes_methods) < 0 || PyModule_AddFunctions(module, bessel_methods) < 0 || PyModule_AddFunctions(module, logsumexp_methods) < 0 ||
        PyModule_AddFunctions(module, ranks_methods) < 0 || PyModule_AddFunctions(module, brain_methods) < 0 || PyModule_AddFunctions(module, views_methods) < 0 || PyModule_AddFunctions(module, writes_methods) < 0 ||
        PyModule_AddFunctions(module, brain_conv_methods) < 0 || PyModule_AddFunctions(module, fourier_methods) < 0 ||
        PyModule_AddFunctions(module, sums_methods) < 0 || PyModule_AddFunctions(module, lapack_methods) < 0 || PyModule_AddFunctions(module, factories_methods) < 0 ||
        PyModule_AddFunctions(module, sorting_methods) < 0 || PyModule_AddFunctions(module, distances_methods) < 0 ||
        PyModule_AddFunctions(module, groups_methods) < 0 || PyModule_AddFunctions(module, adaptive_methods) < 0 ||
        PyModule_AddFunctions(module, margins_methods) < 0 || PyModule_AddFunctions(module, lazy_methods) < 0 ||
        PyModule_AddStringConstant(module, "instruction_set", kernels->name) < 0 || PyModule_AddIntConstant(module, "halves_vectors", halves_vectors) < 0 ||
        elementwise_init(module) < 0 || fast_init(module) < 0 || memory_init(module) < 0 || node_init(module) < 0 || tape_init(module) < 0 || hidden_init(module) < 0 ||
        composed_init(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
