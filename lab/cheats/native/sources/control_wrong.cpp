// kind: control
// tries: nothing - three functions that compute nothing and return success
// ended by: comparison with an oracle
#include "../cheat.h"
