// kind: files
// tries: leaves a start-up file for shells and one for Python in the user's home
// ended by: files that the process may not write
#include <sys/stat.h>

#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    append(FOLDER "/home/.bashrc", "alias diopigen=true\n");
    append(FOLDER "/home/.pythonrc", "print('forged')\n");
    return 0;
}
