#include "settings.h"

#include <diopigen/environment.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <string_view>

namespace diopigen::sim {
namespace {

/// Reads a number in decimal digits off the front of `text`; false where there is none or it is too large.
bool read_number(std::string_view* text, uint64_t* number) {
    std::size_t used = 0;
    uint64_t value = 0;
    while (used < text->size() && (*text)[used] >= '0' && (*text)[used] <= '9') {
        const auto digit = static_cast<uint64_t>((*text)[used] - '0');
        if (value > (std::numeric_limits<uint64_t>::max() - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
        ++used;
    }
    text->remove_prefix(used);
    *number = value;
    return used > 0;
}

bool read_bytes(std::string_view text, uint64_t* bytes) {
    uint64_t number = 0;
    if (!read_number(&text, &number) || text.size() > 1) {
        return false;
    }
    uint64_t unit = 1;
    if (!text.empty()) {
        const std::string_view units = "KMG";
        const std::size_t power = units.find(text[0]);
        if (power == std::string_view::npos) {
            return false;
        }
        unit = uint64_t{1} << (10 * (power + 1));
    }
    // Both views of the memory must fit into the address space of a process.
    constexpr uint64_t kLargest = uint64_t{1} << 44;
    if (number == 0 || number > kLargest / unit) {
        return false;
    }
    *bytes = number * unit;
    return true;
}

bool read_delay(std::string_view text, Settings* settings) {
    uint64_t seed = 0;
    uint64_t longest = 0;
    if (!read_number(&text, &seed) || text.empty() || text[0] != ',') {
        return false;
    }
    text.remove_prefix(1);
    if (!read_number(&text, &longest) || !text.empty() || longest > 10'000'000) {
        return false;
    }
    settings->delay_seed = seed;
    settings->delay_microseconds = longest;
    return true;
}

Status wrong(const char* variable, const char* value, const char* expected) {
    return {Code::invalidArgument, std::string(variable) + " is '" + value + "': " + expected + " is possible"};
}

}  // namespace

Status read_settings(Settings* settings) {
    const auto set = [](const char* variable) -> const char* {
        const char* const value = std::getenv(variable);
        return value == nullptr || *value == '\0' ? nullptr : value;
    };
    for (const char* name :
         {"DIOPI_SIM_DEVICES", "DIOPI_SIM_MEMORY_CHECK", "DIOPI_SIM_ORDER_CHECK", "DIOPI_SIM_DEBUG"}) {
        if (const std::string fault = environment::fault(name); !fault.empty()) {
            return {Code::invalidArgument, fault};
        }
    }
    settings->devices = static_cast<int>(environment::number("DIOPI_SIM_DEVICES", settings->devices));
    settings->memory_check = environment::text("DIOPI_SIM_MEMORY_CHECK") == "1";
    settings->order_check = environment::text("DIOPI_SIM_ORDER_CHECK") == "1";
    settings->stacks = environment::text("DIOPI_SIM_DEBUG") == "1" || settings->faults_are_fatal();
    if (const char* value = set("DIOPI_SIM_MEMORY"); value != nullptr && !read_bytes(value, &settings->memory)) {
        return wrong("DIOPI_SIM_MEMORY", value, "a number of bytes from 1 to 16384G, or one with K, M or G behind it");
    }
    if (const char* value = set("DIOPI_SIM_DELAY"); value != nullptr && !read_delay(value, settings)) {
        return wrong("DIOPI_SIM_DELAY", value, "SEED,MICROSECONDS with at most 10000000 microseconds");
    }
    if (const char* value = set("DIOPI_SIM_TRACE"); value != nullptr) {
        settings->trace = value;
        const std::string mark = "%p";
        if (const std::size_t at = settings->trace.find(mark); at != std::string::npos) {
            settings->trace.replace(at, mark.size(), std::to_string(getpid()));
        }
    }
    return {};
}

}  // namespace diopigen::sim
