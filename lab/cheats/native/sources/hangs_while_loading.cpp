// kind: endings
// tries: never returns from its constructor
// ended by: a time limit for loading
// named: does not load within
// seconds: 200
// options: [--limit, time=1]
// slow: true
#include <unistd.h>

#include "../cheat.h"

__attribute__((constructor)) static void load() {
    for (;;) sleep(1);
}
