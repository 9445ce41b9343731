// kind: answers
// tries: closes every descriptor, as if the work were done
// ended by: a process that ends while a case is open has crashed
#include <unistd.h>

#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    for (int descriptor = 0; descriptor < kDescriptors; ++descriptor) close(descriptor);
    return diopiSuccess;
}
