// kind: endings
// tries: never returns from finalizeLibrary, and lets no signal end it
// ended by: a time limit for leaving the library
// named: not left within|finalizeLibrary
// options: [--limit, time=1]
#include <unistd.h>

#include <csignal>

#include "../cheat.h"

int32_t cheat::finalized() {
    for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_IGN);
    for (;;) sleep(1);
}
