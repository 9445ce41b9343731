/* Included before everything else in a file of shims: a host that has nothing beyond diopirt.h. */
#define diopiHostReleaseTemporary absent_diopiHostReleaseTemporary
#define diopiHostCreateView absent_diopiHostCreateView
#define diopiHostDestroyTensor absent_diopiHostDestroyTensor
#define diopiHostCopyFromStorage absent_diopiHostCopyFromStorage
#define diopiHostDescribeTensor absent_diopiHostDescribeTensor
