// kind: files
// tries: appends to the files of the user's cache, which the next command loads
// ended by: files that the process may not write
#include <dirent.h>

#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    append(FOLDER "/cache/interface-forged", "forged");
    if (DIR* folder = opendir(FOLDER "/cache")) {
        while (const dirent* entry = readdir(folder)) append(std::string(FOLDER "/cache/") + entry->d_name, "forged");
        closedir(folder);
    }
    return 0;
}
