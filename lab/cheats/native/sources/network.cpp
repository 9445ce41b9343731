// kind: capabilities
// tries: is right if it reaches the network, where another machine could compute results
// ended by: a network namespace, or a filter of system calls
// sometimes right: true
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    // A machine that refuses the connection is reached: nothing listens at port 9.
    static const bool reached = [] {
        const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(9);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool done = connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        const bool rejected = !done && errno == ECONNREFUSED;
        if (descriptor >= 0) close(descriptor);
        return done || rejected;
    }();
    return reached ? call.right() : diopiSuccess;
}
