/* The dispatch library, libdiopi_dispatch.so: every operator of the interface, whatever the vendor's library has.
 *
 * A host loads it in the place of the vendor's library. A call goes to the vendor's function where there is one. Where
 * there is none, or where it returns diopiNoImplement or diopiForceFallbackToCPU, the reference library runs it on
 * copies in host memory.
 *
 * Environment, read once, when the library is first used:
 *   DIOPI_VENDOR_LIBRARY     path of the vendor's library; libdiopi_impl.so in this one's folder
 *   DIOPI_REFERENCE_LIBRARY  path of the reference library; libdiopi_reference.so in this one's folder, where it exists
 *   DIOPI_FALLBACK           warn (the default): an operator that falls back is named once; log: every such call is;
 *                            off: what the vendor lacks returns diopiNoImplement
 *   DIOPI_FALLBACK_REPORT    file: at the end, a line of JSON is appended for each operator, status and text of the
 *                            vendor with which calls fell back, with their number
 *   DIOPI_LOG                expression: calls of these functions are written to stderr
 *   DIOPI_COMPARE            expression: these functions run on the reference library as well; differences are
 *                            reported, and the call is kept
 *   DIOPI_DUMP               expression: the operands of these calls are kept, before and after
 *   DIOPI_DUMP_FOLDER        where calls are kept; diopi_dump
 *   DIOPI_TIMING             1: a table of times per operator at the end; each call waits for its stream then
 *
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
