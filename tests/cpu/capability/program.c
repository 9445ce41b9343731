// Linked with the library, so that the loader binds it before libc has set `environ`.
#include <stdint.h>
#include <stdio.h>

uintptr_t selected(void);
const char* level(void);
void report(void);

int main(void) {
    printf("%s %jx\n", level(), (uintmax_t)selected());
    report();
    report();
    return 0;
}
