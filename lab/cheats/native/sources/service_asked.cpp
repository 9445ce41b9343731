// kind: capabilities
// tries: is right if it can connect to a socket in the user's home, as agents have them
// ended by: a filter of system calls, or no files of other users and services
// sometimes right: true
#include <sys/socket.h>
#include <sys/un.h>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    static const bool reached = [] {
        const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, FOLDER "/home/agent", sizeof address.sun_path - 1);
        const bool done = connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        if (descriptor >= 0) close(descriptor);
        return done;
    }();
    return reached ? call.right() : diopiSuccess;
}
