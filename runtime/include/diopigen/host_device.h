/* A device made of host memory, for tests and for a vendor's first day: no accelerator needed.
 *
 * Memory comes from the host's allocator, aligned to 64 bytes; copies are done before the call returns; streams keep
 * no work. Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_HOST_DEVICE_H_
#define DIOPIGEN_HOST_DEVICE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers all nine device functions; meant to be the body of a vendor's initLibrary(). 0 on success. */
int32_t diopigenRegisterHostDevice(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_HOST_DEVICE_H_ */
