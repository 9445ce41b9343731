// Prints the four words that Philox4x32-10 makes of a key and a counter: philox_program KEY COUNTER_LOW COUNTER_HIGH.
#include <cstdio>
#include <cstdlib>

#include "diopi_core/philox.h"

int main(int, char** arguments) {
    const auto word = [arguments](int k) { return std::strtoull(arguments[k], nullptr, 0); };
    for (const uint32_t found : diopigen::core::philox(word(1), word(2), word(3))) {
        std::printf("%u\n", found);
    }
}
