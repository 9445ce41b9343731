/* The dispatch library, libdiopi_dispatch.so: every operator of the interface, whatever the vendor's library has.
 *
 * A host loads it in the place of the vendor's library. A call goes to the vendor's function where there is one. Where
 * there is none, or where it returns diopiNoImplement or diopiForceFallbackToCPU, the reference library runs it on
 * copies in host memory.
 *
 * It reads the variables of the environment once, when it is first used: generated/docs/environment.md lists them.
 * Expressions are ECMAScript and may match any part of a name. A switch that is off costs nothing: a call is one test
 * more than a direct one. A value that cannot be understood makes every call fail with a text that says so.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_DISPATCH_H_
#define DIOPIGEN_DISPATCH_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many calls of a function ran on the reference library; of all functions for null. 0 for an unknown name. */
uint64_t diopigenFallbackCount(const char* function);

/* How many calls of a function differed from the reference; of all functions for null. */
uint64_t diopigenDifferenceCount(const char* function);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_DISPATCH_H_ */
