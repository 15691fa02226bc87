/* unsupported.h - using one of these functions is an error that names an alternative. */
#ifndef WBCPU_UNSUPPORTED_H
#define WBCPU_UNSUPPORTED_H

/* Converts to whatever the call is used as: its sentence is the only error. */
struct wbcpu_unsupported {
    template <class T> operator T() const;
};

/* A template, so that the assertion fails only where the function is called. */
#define WBCPU_UNSUPPORTED(name, sentence)                                                \
    template <class T = void, class... Args> wbcpu_unsupported name(Args...)             \
    {                                                                                    \
        static_assert(                                                                   \
            sizeof(T *) == 0, #name ": not supported by the CPU back end; " sentence);   \
        return {};                                                                       \
    }
#define WBCPU_ONE_DEVICE(name)                                                           \
    WBCPU_UNSUPPORTED(name, "there is one device and one process")

WBCPU_ONE_DEVICE(cudaIpcGetMemHandle)
WBCPU_ONE_DEVICE(cudaIpcOpenMemHandle)
#undef WBCPU_ONE_DEVICE

#endif
