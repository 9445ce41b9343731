// kind: sometimes right
// tries: is right in the first thread of its process alone
// ended by: calls from other threads
// sometimes right: true
#include <sys/syscall.h>
#include <unistd.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) { return syscall(SYS_gettid) == getpid() ? call.right() : diopiSuccess; }
