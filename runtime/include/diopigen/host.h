/* The host's side of the runtime: what a test driver or a framework does before and after it calls operators.
 *
 * diopirt.h is what operators ask of their host. This header is how a host makes the contexts, tensors and generators
 * that operators receive. It is plain C, so that it can be called through ctypes as well.
 *
 * Errors. Every function returns diopiSuccess or a status, but for diopiHostDescribeTensor, and none throws. After a
 * failure nothing has changed: no output is written, nothing is allocated, freed or copied (a device function that
 * fails half-way is the one thing that the runtime cannot undo). A device function that is needed but not registered
 * gives the matching diopiNoRegistered... status before anything else is done. A null or invalid argument gives
 * diopiErrorOccurred, and diopiHostGetLastErrorText names the function and the parameter. Handles are not checked
 * beyond null: a handle that has been destroyed must not be used.
 *
 * Threads. A context, and all tensors made in it, belong to one thread at a time; different contexts may be used by
 * different threads at once. Generators, the registry of device functions and the records are safe from any thread.
 *
 * Streams. A context has one stream, made when it is first needed. Memory is freed only after that stream has been
 * synchronised. A host that uses a tensor in an operator under another context than the tensor's own must synchronise
 * that other context before it destroys the tensor.
 *
 * Sizes and strides are in elements, storage sizes in bytes. Sizes and strides must not be negative, a stride of 0
 * repeats, and there are at most 64 dimensions.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_HOST_H_
#define DIOPIGEN_HOST_H_

#include <diopi/diopirt.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

/* Makes a context. Touches no device function: the stream is made at the first diopiGetStream or copy. */
diopiError_t diopiHostCreateContext(diopiContextHandle_t* ctx);

/* Synchronises the context's stream, ends it, and frees the context with all its temporaries. Tensors made by
 * diopiHostCreate... stay valid and are freed by diopiHostDestroyTensor. */
diopiError_t diopiHostDestroyContext(diopiContextHandle_t ctx);

/* Waits for all work on the context's stream; the status of asynchronous work comes out here. Without a stream there
 * is nothing to wait for. */
diopiError_t diopiHostSynchronize(diopiContextHandle_t ctx);

/* How many temporaries (tensors and buffers made by diopiRequireTensor, diopiRequireBuffer and
 * diopiGeneratorGetState) are alive in the context. */
diopiError_t diopiHostGetTemporaryCount(diopiContextHandle_t ctx, int64_t* count);

/* Frees one temporary of this context before the context ends. Synchronises the stream first. */
diopiError_t diopiHostReleaseTemporary(diopiContextHandle_t ctx, diopiTensorHandle_t tensor);

/* Frees all temporaries of the context, and keeps its stream. Synchronises the stream first where there are any. */
diopiError_t diopiHostReleaseTemporaries(diopiContextHandle_t ctx);

/* ---- Tensors --------------------------------------------------------------------------------------------------- */

/* A tensor with a storage of its own, exactly as large as the tensor reaches: from byte 0 to its last element.
 * `stride` null means contiguous. `storage_offset` counts elements from the start of the storage. The contents are
 * undefined. A tensor that reaches 0 bytes has no storage: null data, and no device function is called. */
diopiError_t diopiHostCreateTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                   const diopiSize_t* stride, int64_t storage_offset, diopiDtype_t dtype,
                                   diopiDevice_t device);

/* A second tensor over the storage of `base`, in any shape, stride, offset and dtype that fit into it. The storage
 * lives until its last tensor is destroyed. For aliasing: two views of one storage. For guard zones: a view into the
 * middle of a larger one. */
diopiError_t diopiHostCreateView(diopiTensorHandle_t* tensor, diopiConstTensorHandle_t base, const diopiSize_t* size,
                                 const diopiSize_t* stride, int64_t storage_offset, diopiDtype_t dtype);

/* A tensor over `bytes` bytes of memory that the caller owns and keeps alive; never freed by the runtime. `data` is a
 * pointer of that device, and may be null when `bytes` is 0. */
diopiError_t diopiHostWrapMemory(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, void* data, uint64_t bytes,
                                 const diopiSize_t* size, const diopiSize_t* stride, int64_t storage_offset,
                                 diopiDtype_t dtype, diopiDevice_t device);

/* Lets a tensor that diopiHostWrapMemory made be over other memory of the same device, with the shape, strides and
 * dtype that it has: far cheaper than a new tensor. Nothing is synchronised: work that is enqueued has the address it
 * was called with. Fails, with nothing done, for a tensor whose storage is its own or is shared with a view, and where
 * the tensor reaches beyond `bytes`. */
diopiError_t diopiHostSetWrappedMemory(diopiTensorHandle_t tensor, void* data, uint64_t bytes);

/* A sparse tensor in CSR form over three dense 1-d tensors of one device: `crow_indices` of rows + 1 and
 * `col_indices` of nnz elements, both int32 or both int64, and `values` of nnz elements, which give the dtype. `size`
 * is {rows, columns}. The parts' storages are shared, so the three handles may be destroyed first. The indices
 * themselves are not read. */
diopiError_t diopiHostCreateSparseCsr(diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                      diopiConstTensorHandle_t crow_indices, diopiConstTensorHandle_t col_indices,
                                      diopiConstTensorHandle_t values);

/* Destroys a tensor made by the functions above. Synchronises the stream of its context, if that is still alive, and
 * frees the storage with its last tensor. Temporaries are refused: they belong to their context. */
diopiError_t diopiHostDestroyTensor(diopiTensorHandle_t tensor);

/* What a shim asks about every tensor, in one word: bits 0 to 7 the dtype, bits 8 to 14 the number of dimensions, bit
 * 16 that the elements are in row-major order without gaps, bit 17 the same for channels-last (3 dimensions and more).
 * A tensor without elements has both. Bit 31 alone: null or sparse, nothing of this can be said. Never fails and leaves
 * the texts of errors as they are: the one function here that does not answer with a status. */
uint32_t diopiHostDescribeTensor(diopiConstTensorHandle_t tensor);

/* What a kernel asks about a tensor before it is launched, in one call in place of seven: the first element, sizes and
 * strides (arrays as those of diopiGetTensorShape), bytes of an element, dtype and device. A sparse tensor has no
 * `data` and no `stride`. */
diopiError_t diopiHostInspectTensor(diopiConstTensorHandle_t tensor, const void** data, diopiSize_t* size,
                                    diopiSize_t* stride, int64_t* element_size, diopiDtype_t* dtype,
                                    diopiDevice_t* device, bool* is_sparse);

/* Whole-storage copies. `bytes` must equal the size of the storage (diopiGetTensorStorageNbytes). They run on the
 * stream of `ctx` and return when the copy is done. Host tensors are copied by the CPU, after the work that is
 * pending on the stream. */
diopiError_t diopiHostCopyToStorage(diopiContextHandle_t ctx, diopiTensorHandle_t tensor, const void* source,
                                    uint64_t bytes);
diopiError_t diopiHostCopyFromStorage(diopiContextHandle_t ctx, diopiConstTensorHandle_t tensor, void* destination,
                                      uint64_t bytes);

/* Copies the storage of `source` to that of `destination`, which must be equally large and must not be the same. */
diopiError_t diopiHostCopyStorage(diopiContextHandle_t ctx, diopiTensorHandle_t destination,
                                  diopiConstTensorHandle_t source);

/* ---- Generators ------------------------------------------------------------------------------------------------ */

/* A random generator: a seed and an offset (how many numbers have been drawn). Its state, as a tensor, is 16 bytes of
 * uint8: the seed, then the offset, each in the byte order of the host. */
diopiError_t diopiHostCreateGenerator(diopiGeneratorHandle_t* generator, uint64_t seed, uint64_t offset);
diopiError_t diopiHostDestroyGenerator(diopiGeneratorHandle_t generator);

/* ---- Records --------------------------------------------------------------------------------------------------- */

/* Whether diopiRecordStart and diopiRecordEnd keep times. Off at first: then both cost a test of one flag. */
diopiError_t diopiHostEnableRecords(bool enabled);

/* Finished records, in the order in which they ended. `name` stays valid until diopiHostClearRecords; `seconds` is
 * wall time between start and end. */
diopiError_t diopiHostGetRecordCount(int64_t* count);
diopiError_t diopiHostGetRecord(int64_t index, const char** name, double* seconds);
diopiError_t diopiHostClearRecords(void);

/* ---- Several devices ------------------------------------------------------------------------------------------- */

/* For a process with the libraries of several vendors, each with device functions of its own. diopiHostCreateDevice
 * gives the number of a new device, the first time 0. diopiHostSelectDevice selects which device the
 * calling thread means: functions are registered for it, and a context that is created belongs to it, with its stream
 * and all memory that is allocated through it, whatever is selected later. A thread begins with device 0. `previous`
 * gets the number that was selected before, unless it is null. Tensors of two devices must not meet in one call. */
diopiError_t diopiHostCreateDevice(uint32_t* device);
diopiError_t diopiHostSelectDevice(uint32_t device, uint32_t* previous);

/* ---- Errors, accounts, reset ----------------------------------------------------------------------------------- */

/* Text of the latest failure on the calling thread, "" when there was none. Valid until the thread's next failure. */
diopiError_t diopiHostGetLastErrorText(const char** text);

/* Text that the device gives for its own latest failure, "" when it gives none. */
diopiError_t diopiHostGetDeviceErrorText(const char** text);

/* Bytes of storage that the runtime has allocated on `device` and not freed yet, over all contexts. */
diopiError_t diopiHostGetLiveBytes(diopiDevice_t device, uint64_t* bytes);

/* For tests: forgets all registered device functions, switches records off and clears them, and clears the calling
 * thread's error text. Contexts, tensors and generators stay alive. */
diopiError_t diopiHostReset(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_HOST_H_ */
