#include "fault.h"

#include <unistd.h>

#include <cstdlib>

namespace diopigen::sim {

void write_report(const char* title, const std::string& text, const Allocation* about, const char* fix) {
    // The stacks come first: what people and test drivers look at is the end.
    Text report;
    report << "diopi-sim: " << title << ": " << text.c_str() << "\n";
    if (about != nullptr) {
        write_origin(STDERR_FILENO, *about);
        report << "  " << *about << "\n";
    }
    (report << "  fix: " << fix << "\n").write_to(STDERR_FILENO);
}

Status fault(const Settings& settings, Code code, const char* title, const std::string& text, const Allocation* about,
             const char* fix) {
    if (settings.faults_are_fatal()) {
        write_report(title, text, about, fix);
        std::abort();
    }
    std::string full = std::string(title) + ": " + text;
    if (about != nullptr) {
        Text origin;
        origin << "; " << *about;
        full += origin.c_str();
    }
    return {code, full};
}

}  // namespace diopigen::sim
