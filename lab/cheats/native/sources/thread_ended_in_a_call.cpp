// kind: endings
// tries: ends the calling thread
// ended by: a time limit for each case
// options: [--limit, time=1, --only, sample=1]
#include <pthread.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) { pthread_exit(nullptr); }
