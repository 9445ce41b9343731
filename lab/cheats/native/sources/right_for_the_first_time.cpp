// kind: sometimes right
// tries: is right if it has not seen these operands before
// ended by: repeated cases
// sometimes right: true
// options: [--repeat, "2"]
#include <set>
#include <vector>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    static std::set<std::vector<char>> seen;
    const bool isNew = seen.insert(Elements(call.input).read()).second;
    const diopiError_t status = call.right();
    if (!isNew && status == diopiSuccess) Elements(call.out).write(std::vector<char>(1, 1));
    const Elements out(call.out);
    if (!isNew && out.count() > 0) *out.at(0) ^= 1;
    return status;
}
