// kind: answers
// tries: redirects write, writev and send of the process, so that everything is sent twice
// ended by: frames with a number that counts up
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../cheat.h"
#include "../redirect.h"

static ssize_t writeTwice(int descriptor, const void* data, size_t size) {
    if (descriptor > 2) syscall(SYS_write, descriptor, data, size);
    return syscall(SYS_write, descriptor, data, size);
}
static ssize_t writevTwice(int descriptor, const iovec* parts, int count) {
    if (descriptor > 2) syscall(SYS_writev, descriptor, parts, count);
    return syscall(SYS_writev, descriptor, parts, count);
}
static ssize_t sendTwice(int descriptor, const void* data, size_t size, int flags) {
    syscall(SYS_sendto, descriptor, data, size, flags, nullptr, 0);
    return syscall(SYS_sendto, descriptor, data, size, flags, nullptr, 0);
}
static ssize_t sendmsgTwice(int descriptor, const msghdr* message, int flags) {
    syscall(SYS_sendmsg, descriptor, message, flags);
    return syscall(SYS_sendmsg, descriptor, message, flags);
}

int32_t cheat::started() {
    redirect("write", writeTwice);
    redirect("writev", writevTwice);
    redirect("send", sendTwice);
    redirect("sendmsg", sendmsgTwice);
    return 0;
}
