#include <diopi/diopirt.h>

#define DIOPIGEN_TEXT_OF(token) #token
#define DIOPIGEN_TEXT(macro) DIOPIGEN_TEXT_OF(macro)

/// The version of the interface that this runtime was built for, as "major.minor.patch".
const char* diopiGetVersion() {
    return DIOPIGEN_TEXT(DIOPI_VER_MAJOR) "." DIOPIGEN_TEXT(DIOPI_VER_MINOR) "." DIOPIGEN_TEXT(DIOPI_VER_PATCH);
}
