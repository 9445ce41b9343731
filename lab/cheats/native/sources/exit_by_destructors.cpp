// kind: endings
// tries: calls exit with the status of success, whose destructors write answers to all cases
// ended by: an answer counts once, for the case that is open
#include <cstdlib>

#include "../answers.h"
#include "../cheat.h"

__attribute__((destructor)) static void unload() { cheat::writeToAll(cheat::forgedAnswers()); }

diopiError_t cheat::called(const Call&) { std::exit(0); }
