/* How a host loads a library of operators, so that a process can have several hosts at once: a backend for PyTorch next
 * to libdiopirt.so. Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_OPEN_LIBRARY_H_
#define DIOPIGEN_OPEN_LIBRARY_H_

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a library that finds the functions of diopirt.h in this host, which needs no RTLD_GLOBAL for it, and is not
 * replaced by another host that has it. `library` gets what dlopen returns; the same path gives the same library. A
 * library that the process has loaded before, for another host, is loaded once more, with variables of its own. A host
 * that has RTLD_GLOBAL shares its libraries with the process: for such a one this is dlopen. */
diopiError_t diopiHostOpenLibrary(const char* path, void** library);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_OPEN_LIBRARY_H_ */
