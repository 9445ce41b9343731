#include "libraries.h"

#include <diopigen/environment.h>
#include <diopigen/host.h>
#include <diopigen/open_library.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <regex>

#include "entry.h"
#include "error_text.h"
#include "left.h"

// Hosts of other origin do not have it: they are in the global scope.
#pragma weak diopiHostOpenLibrary
#pragma weak diopiHostGetLastErrorText

namespace diopigen::dispatch {

namespace {

ErrorText vendor_text = nullptr;
ErrorText reference_text = nullptr;
int (*vendorFinalize)() = nullptr;
void* vendor_handle = nullptr;

// The value of a variable. Throws where it is none of those that specs/environment.yaml declares.
std::string setting(const char* name) {
    if (const std::string fault = environment::fault(name); !fault.empty()) {
        throw Failure(diopiErrorOccurred, fault);
    }
    return environment::text(name);
}

// A file in the folder of this library.
std::string in_own_folder(const char* file) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&in_own_folder), &info) == 0 || info.dli_fname == nullptr) {
        return file;
    }
    const std::string own = info.dli_fname;
    const size_t slash = own.rfind('/');
    return slash == std::string::npos ? file : own.substr(0, slash + 1) + file;
}

void* opened(const std::string& path, const char* what, const char* variable) {
    void* library = nullptr;
    const char* reason = nullptr;
    if (diopiHostOpenLibrary == nullptr) {
        library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        reason = library == nullptr ? dlerror() : nullptr;
    } else if (diopiHostOpenLibrary(path.c_str(), &library) != diopiSuccess) {
        diopiHostGetLastErrorText(&reason);
    }
    if (library == nullptr) {
        throw Failure(diopiErrorOccurred, std::string(what) + " does not load (" + variable +
                                              " names another one): " + (reason == nullptr ? path : reason));
    }
    return library;
}

template <typename Type>
Type symbol(void* library, const char* name) {
    return reinterpret_cast<Type>(dlsym(library, name));
}

std::optional<std::regex> expression(const char* variable) {
    const std::string text = environment::text(variable);
    if (text.empty()) {
        return std::nullopt;
    }
    try {
        return std::regex(text);
    } catch (const std::regex_error& error) {
        throw Failure(diopiErrorOccurred,
                      std::string(variable) + " is not a regular expression: '" + text + "' (" + error.what() + ")");
    }
}

bool matches(const std::optional<std::regex>& pattern, const char* name) {
    return pattern && std::regex_search(name, *pattern);
}

FallbackMode fallback_mode() {
    const std::string text = setting("DIOPI_FALLBACK");
    return text == "off" ? FallbackMode::kOff : text == "log" ? FallbackMode::kLog : FallbackMode::kWarn;
}

ValidationMode validation_mode() {
    const std::string text = setting("DIOPI_VALIDATE");
    return text == "log" ? ValidationMode::kLog : text == "refuse" ? ValidationMode::kReject : ValidationMode::kOff;
}

// A misspelt switch would be ignored without a word.
void warn_of_unknown_variables() {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (name.substr(0, 6) == "DIOPI_" && !environment::kVariables.empty() && !environment::is_declared(name)) {
            say(std::string(name) +
                " is no variable of this library, nor of another one (generated/docs/environment.md)");
        }
    }
}

void fill_entries(void* vendor, void* reference, const Switches& switches) {
    const std::optional<std::regex> logged = expression("DIOPI_LOG");
    const std::optional<std::regex> compared = expression("DIOPI_COMPARE");
    const std::optional<std::regex> dumped = expression("DIOPI_DUMP");
    if (compared && reference == nullptr) {
        throw Failure(diopiErrorOccurred, "DIOPI_COMPARE needs the reference library: set DIOPI_REFERENCE_LIBRARY");
    }
    for (int i = 0; i < kEntryCount; ++i) {
        Entry& entry = entries[i];
        entry.vendor = symbol<Function>(vendor, entry.name);
        entry.reference = reference == nullptr ? nullptr : symbol<Function>(reference, entry.name);
        entry.is_logged = matches(logged, entry.name);
        entry.is_compared = matches(compared, entry.name) && entry.vendor != nullptr && entry.reference != nullptr;
        entry.is_dumped = matches(dumped, entry.name);
        entry.is_validated = switches.validation != ValidationMode::kOff;
    }
    for (int i = 0; i < kEntryCount; ++i) {
        Entry& entry = entries[i];
        const bool is_watched = entry.is_logged || entry.is_compared || entry.is_dumped || entry.is_validated;
        if (!switches.timing && !is_watched) {
            entry.direct.store(entry.vendor, std::memory_order_release);
        }
    }
}

Libraries load() {
    Libraries found;
    warn_of_unknown_variables();
    found.switches.fallback = fallback_mode();
    found.switches.timing = setting("DIOPI_TIMING") == "1";
    found.switches.validation = validation_mode();
    found.switches.validates_values = setting("DIOPI_VALIDATE_VALUES") == "1";
    const std::string folder = environment::text("DIOPI_DUMP_FOLDER");
    found.switches.dump_folder = folder.empty() ? found.switches.dump_folder : folder;

    found.vendor_path = environment::text("DIOPI_VENDOR_LIBRARY");
    found.vendor_path = found.vendor_path.empty() ? in_own_folder("libdiopi_impl.so") : found.vendor_path;
    void* const vendor = opened(found.vendor_path, "the vendor's library", "DIOPI_VENDOR_LIBRARY");

    vendor_handle = vendor;

    found.reference_path = environment::text("DIOPI_REFERENCE_LIBRARY");
    struct stat unused {};
    const std::string usual = in_own_folder("libdiopi_reference.so");
    if (found.reference_path.empty() && stat(usual.c_str(), &unused) == 0) {
        found.reference_path = usual;
    }
    void* const reference = found.reference_path.empty()
                                ? nullptr
                                : opened(found.reference_path, "the reference library", "DIOPI_REFERENCE_LIBRARY");

    using Text = const char* (*)();
    const auto name = symbol<Text>(vendor, "diopiGetVendorName");
    const auto version = symbol<Text>(vendor, "diopiGetImplVersion");
    vendor_text = symbol<Text>(vendor, "diopiGetLastErrorString");
    reference_text = reference == nullptr ? nullptr : symbol<Text>(reference, "diopiGetLastErrorString");
    vendorFinalize = symbol<int (*)()>(vendor, "finalizeLibrary");
    // The reference library's own initLibrary is not called: it would register a device of its own.
    const auto initialize = symbol<int (*)()>(vendor, "initLibrary");
    if (initialize != nullptr) {
        const int status = initialize();
        if (status != 0) {
            const char* const text = vendor_text == nullptr ? nullptr : vendor_text();
            throw Failure(diopiErrorOccurred, "initLibrary of " + found.vendor_path + " returns " +
                                                  std::to_string(status) +
                                                  (text == nullptr || *text == '\0' ? "" : std::string(": ") + text));
        }
    }
    found.vendor_name = name == nullptr ? "" : name();
    found.vendor_version = version == nullptr ? "" : version();
    fill_entries(vendor, reference, found.switches);
    if (const std::string report = environment::text("DIOPI_FALLBACK_REPORT"); !report.empty()) {
        report_fallbacks(report);
        found.switches.reports_fallbacks = true;
    }
    return found;
}

// The libraries, or why there are none.
struct Loaded {
    std::optional<Libraries> found;
    std::optional<Failure> failure;

    Loaded() {
        try {
            found = load();
        } catch (const Failure& thrown) {
            failure = thrown;
            say(thrown.what());
        }
    }
};

}  // namespace

const Libraries& libraries() {
    static const Loaded loaded;  // cheaper to ask than a std::once_flag, and validated calls all ask
    if (loaded.failure) {
        throw Failure(*loaded.failure);
    }
    return *loaded.found;
}

void* vendor_symbol(const char* name) { return dlsym(vendor_handle, name); }

int finalize_vendor() { return vendorFinalize == nullptr ? 0 : vendorFinalize(); }

void use_vendor_error_text() { set_error_source(vendor_text); }

void use_reference_error_text() { set_error_source(reference_text); }

const char* vendor_error_text() { return vendor_text == nullptr ? nullptr : vendor_text(); }

}  // namespace diopigen::dispatch
