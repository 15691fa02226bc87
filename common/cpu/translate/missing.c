/* missing.c - headers of the CUDA toolkit that the back end does not have. A program may
 * include such a header without using it. The #include gets a generated header instead: an
 * empty one, or, if a source uses a name of that library, one sentence with the
 * alternative. The generated header is written last, because a name can follow in another
 * file. */
#include "headers.h"

#include <stdlib.h>
#include <string.h>

static const struct library {
    const char *headers;  /* separated by spaces */
    const char *names;    /* prefixes of its names */
    const char *sentence; /* the alternative */
} libraries[] = {
    {"cudnn.h cudnn_frontend.h", "cudnn CUDNN_",
     "cuDNN is not supported: write the kernel yourself"},
    {"cusolverSp.h cusolverRf.h cusolverMg.h cusolverMp.h",
     "cusolverSp cusolverRf cusolverM",
     "only cusolverDn.h of cuSOLVER is supported: use cuSPARSE or a library on the host"},
    {"nccl.h", "nccl NCCL_", "NCCL is not supported: there is one device"},
    {"npp.h nppi.h npps.h nppcore.h nppdefs.h", "npp Npp NPP_",
     "NPP is not supported: write the kernel yourself"},
    {"nvml.h", "nvml NVML_", "NVML is not supported: use cudaGetDeviceProperties"},
    {"cupti.h", "cupti CUPTI_ CUpti", "CUPTI is not supported: use CUDA events or perf"},
    {"cutensor.h cutensornet.h", "cutensor CUTENSOR_",
     "cuTENSOR is not supported: use cuBLAS if a GEMM is enough"},
    {"nvjpeg.h", "nvjpeg NVJPEG_", "nvJPEG is not supported: use libjpeg on the host"},
    {"cudla.h", "cudla CUDLA_",
     "cuDLA is not supported: the back end has no deep learning accelerator"},
    {"cuda_egl_interop.h", "cudaEgl cudaGraphicsEGL",
     "EGL interoperability is not supported: copy the result to the host"},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };
static int numbers[LIBRARIES]; /* of the generated header; 0: not included */
static int used[LIBRARIES];

/* 1 if an entry of the list equals the text or, with prefix set, begins it. */
static int listed(const char *list, const char *text, size_t length, int prefix)
{
    for (size_t n; *list; list += n + (list[n] == ' ')) {
        n = strcspn(list, " ");
        if ((prefix ? n < length : n == length) && memcmp(list, text, n) == 0) return 1;
    }
    return 0;
}

int missing_header(const char *name, int *translations)
{
    for (int k = 0; k < LIBRARIES; k++) {
        if (!listed(libraries[k].headers, name, strlen(name), 0)) continue;
        if (!numbers[k]) numbers[k] = ++*translations;
        return numbers[k];
    }
    return 0;
}

void note_used_names(const struct source *s)
{
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        if (t->kind != NAME || t->in_directive || !strchr("cnCN", *t->start)) continue;
        for (int k = 0; k < LIBRARIES; k++)
            used[k] |= listed(libraries[k].names, t->start, (size_t)t->length, 1);
    }
}

void write_missing_headers(void)
{
    for (int k = 0; k < LIBRARIES && !given_up; k++) {
        const struct library *l = &libraries[k];
        if (!numbers[k]) continue;
        char *text = NULL;
        if (used[k]) /* after #error, g++ would go on to complain about each name */
            text = format(
                "#line 1 \"%.*s\"\n#error \"CPU back end: %s\"\n"
                "#include \"no such library\"\n",
                (int)strcspn(l->headers, " "), l->headers, l->sentence);
        write_translation(numbers[k], text ? text : "\n");
        free(text);
    }
}
