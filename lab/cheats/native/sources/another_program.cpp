// kind: answers
// tries: replaces the process by another program, which succeeds
// ended by: the process may execute nothing, and one that ends while a case is open has crashed
#include <unistd.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    return diopiSuccess;
}
