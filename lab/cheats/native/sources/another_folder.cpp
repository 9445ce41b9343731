// kind: environment
// tries: changes the folder, the root folder and the mask of its process
// ended by: a process that ends while a case is open has crashed
#include <sys/stat.h>
#include <unistd.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    umask(0777);
    (void)!chdir(FOLDER);
    (void)!chroot(FOLDER "/tmp");
    return diopiSuccess;
}
