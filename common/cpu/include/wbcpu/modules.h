/* modules.h - the driver API's functions for GPU code in files: using one is an error. */
#ifndef WBCPU_MODULES_H
#define WBCPU_MODULES_H

#include "unsupported.h"

#define WBCPU_MODULE(name)                                                               \
    WBCPU_UNSUPPORTED(name, "compile the kernel with the program, launch it with <<<>>>")
WBCPU_MODULE(cuModuleLoad)
WBCPU_MODULE(cuModuleLoadData)
WBCPU_MODULE(cuModuleLoadDataEx)
WBCPU_MODULE(cuModuleLoadFatBinary)
WBCPU_MODULE(cuModuleUnload)
WBCPU_MODULE(cuModuleGetFunction)
WBCPU_MODULE(cuModuleGetGlobal)
WBCPU_MODULE(cuLibraryLoadData)
WBCPU_MODULE(cuLinkCreate)
WBCPU_MODULE(cuLaunchKernel)
#undef WBCPU_MODULE

#endif
