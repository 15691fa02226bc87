/* openblas.cpp - loads OpenBLAS at run time, so that the build does not need it.
 *
 * The make variable OPENBLAS is the path of the library (from the Python package
 * scipy-openblas32). `make install` copies the library to a folder in which the installed
 * programs and libraries look first (their RUNPATH). The environment variable WB_BLAS (a
 * path, or "own") overrides both.
 *
 * OpenBLAS's threads are not used, because they would compete with the workers for the
 * cores: gemm_call.cpp splits each GEMM into tiles instead.
 */
#include "gemm.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#ifndef WBCPU_OPENBLAS
#define WBCPU_OPENBLAS ""
#endif
static const char installed[] = "warpbook_openblas.so";  // tools/install.sh

constexpr int COLUMN_MAJOR = 102, NO_TRANS = 111, TRANS = 112;  // values from cblas.h
typedef void cblas_sgemm_fn(
    int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
    const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
static cblas_sgemm_fn *cblas_sgemm;

static void openblas_sgemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    cblas_sgemm(
        COLUMN_MAJOR, transpose_a ? TRANS : NO_TRANS, transpose_b ? TRANS : NO_TRANS, m,
        n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* The Python package prefixes every symbol with scipy_; Debian's library does not. */
static void *symbol(void *library, const char *name)
{
    char prefixed[64];
    snprintf(prefixed, sizeof prefixed, "scipy_%s", name);
    void *found = dlsym(library, prefixed);
    return found ? found : dlsym(library, name);
}

static const char *open_library(const char *path)  // returns NULL or an error
{
    // OpenBLAS reads it while it loads; with 1 it starts no threads
    const char *before = getenv("OPENBLAS_NUM_THREADS");
    char *saved = before ? strdup(before) : NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (saved)
        setenv("OPENBLAS_NUM_THREADS", saved, 1);
    else
        unsetenv("OPENBLAS_NUM_THREADS");
    free(saved);
    if (!library) return dlerror();

    void (*set_threads)(int) = (void (*)(int))symbol(library, "openblas_set_num_threads");
    cblas_sgemm = (cblas_sgemm_fn *)symbol(library, "cblas_sgemm");
    if (!cblas_sgemm || !set_threads) return "it is not an OpenBLAS library";
    set_threads(1);
    return NULL;
}

static wbcpu_sgemm *of_the_build(void)
{
    if (!*WBCPU_OPENBLAS) return wbcpu_own_sgemm;
    if (!open_library(installed) || !open_library(WBCPU_OPENBLAS)) return openblas_sgemm;
    fprintf(
        stderr,
        "%s: cannot load OpenBLAS, which the build found there, so GEMMs are slower: set "
        "WB_BLAS to the path of libscipy_openblas.so; WB_BLAS=own hides this line\n",
        WBCPU_OPENBLAS);
    return wbcpu_own_sgemm;
}

static wbcpu_sgemm *choose(void)
{
    const char *path = getenv("WB_BLAS");
    if (!path || !*path) return of_the_build();
    if (strcmp(path, "own") == 0) return wbcpu_own_sgemm;
    const char *error = open_library(path);
    if (!error) return openblas_sgemm;
    fprintf(
        stderr,
        "WB_BLAS=%s: %s; give the path of libscipy_openblas.so or use WB_BLAS=own\n",
        path, error);
    return NULL;
}

wbcpu_sgemm *wbcpu_choose_sgemm(void)
{
    static wbcpu_sgemm *chosen = choose();
    return chosen;
}
