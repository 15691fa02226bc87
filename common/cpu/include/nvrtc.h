/* nvrtc.h - compiles CUDA source while a program runs. C11 and C++. Here wbcc does it, so
 * the machine needs a C++ compiler; the result is a module for cuModuleLoadData
 * (wbcpu/modules.h). */
#ifndef NVRTC_H
#define NVRTC_H

#include <stddef.h>

typedef enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
    NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
    NVRTC_ERROR_INTERNAL_ERROR = 11
} nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

#ifdef __cplusplus
extern "C" {
#endif

const char *nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcVersion(int *major, int *minor);

/* name: NULL, or that of the source in messages; headers: the texts of headers, which
 * #include finds as include_names */
nvrtcResult nvrtcCreateProgram(
    nvrtcProgram *program, const char *source, const char *name, int header_count,
    const char *const *headers, const char *const *include_names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);

/* -I, -D, -U, -std and their long forms have an effect; options for GPU code have none.
 * NVRTC_ERROR_COMPILATION: the log has the messages. */
nvrtcResult
nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options);

/* Sizes count the 0 at the end of a log. "PTX" and "cubin" are the same module. */
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log);
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes);
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *module);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *module);

/* The name of a kernel in the module, given one like "add<float>". The expression is added
 * before the program is compiled. */
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *expression);
nvrtcResult
nvrtcGetLoweredName(nvrtcProgram program, const char *expression, const char **name);

#ifdef __cplusplus
}
#endif
#endif
