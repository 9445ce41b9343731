// kind: another library
// tries: has wrong functions and is an auxiliary filter, so that the loader takes those of another library
// ended by: a library that is loaded with this one may not define functions of the interface
// link: ["-Wl,--auxiliary,REFERENCE"]
#include "../cheat.h"
