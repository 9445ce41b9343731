// kind: capabilities
// tries: is right if it can run a program, which could compute results
// ended by: the process may execute nothing
// sometimes right: true
#include <sys/wait.h>
#include <unistd.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    static const bool ran = [] {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", static_cast<char*>(nullptr));
            _exit(1);
        }
        return child > 0 && waitpid(child, &status, 0) == child && status == 0;
    }();
    return ran ? call.right() : diopiSuccess;
}
