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

ErrorText vendorText = nullptr;
ErrorText referenceText = nullptr;
int (*vendorFinalize)() = nullptr;
void* vendorHandle = nullptr;

// The value of a variable. Throws where it is none of those that specs/environment.yaml declares.
std::string setting(const char* name) {
    if (const std::string fault = environment::fault(name); !fault.empty()) {
        throw Failure(diopiErrorOccurred, fault);
    }
    return environment::text(name);
}

// A file in the folder of this library.
std::string inOwnFolder(const char* file) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&inOwnFolder), &info) == 0 || info.dli_fname == nullptr) {
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

FallbackMode fallbackMode() {
    const std::string text = setting("DIOPI_FALLBACK");
    return text == "off" ? FallbackMode::off : text == "log" ? FallbackMode::log : FallbackMode::warn;
}

ValidationMode validationMode() {
    const std::string text = setting("DIOPI_VALIDATE");
    return text == "log" ? ValidationMode::log : text == "refuse" ? ValidationMode::reject : ValidationMode::off;
}

// A misspelt switch would be ignored without a word.
void warnOfUnknownVariables() {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (name.substr(0, 6) == "DIOPI_" && !environment::kVariables.empty() && !environment::isDeclared(name)) {
            say(std::string(name) +
                " is no variable of this library, nor of another one (generated/docs/environment.md)");
        }
    }
}

void fillEntries(void* vendor, void* reference, const Switches& switches) {
    const std::optional<std::regex> logged = expression("DIOPI_LOG");
    const std::optional<std::regex> compared = expression("DIOPI_COMPARE");
    const std::optional<std::regex> dumped = expression("DIOPI_DUMP");
    if (compared && reference == nullptr) {
        throw Failure(diopiErrorOccurred, "DIOPI_COMPARE needs the reference library: set DIOPI_REFERENCE_LIBRARY");
    }
    for (int i = 0; i < entryCount; ++i) {
        Entry& entry = entries[i];
        entry.vendor = symbol<Function>(vendor, entry.name);
        entry.reference = reference == nullptr ? nullptr : symbol<Function>(reference, entry.name);
        entry.isLogged = matches(logged, entry.name);
        entry.isCompared = matches(compared, entry.name) && entry.vendor != nullptr && entry.reference != nullptr;
        entry.isDumped = matches(dumped, entry.name);
        entry.isValidated = switches.validation != ValidationMode::off;
    }
    for (int i = 0; i < entryCount; ++i) {
        Entry& entry = entries[i];
        const bool isWatched = entry.isLogged || entry.isCompared || entry.isDumped || entry.isValidated;
        if (!switches.timing && !isWatched) {
            entry.direct.store(entry.vendor, std::memory_order_release);
        }
    }
}

Libraries load() {
    Libraries found;
    warnOfUnknownVariables();
    found.switches.fallback = fallbackMode();
    found.switches.timing = setting("DIOPI_TIMING") == "1";
    found.switches.validation = validationMode();
    found.switches.validatesValues = setting("DIOPI_VALIDATE_VALUES") == "1";
    const std::string folder = environment::text("DIOPI_DUMP_FOLDER");
    found.switches.dumpFolder = folder.empty() ? found.switches.dumpFolder : folder;

    found.vendorPath = environment::text("DIOPI_VENDOR_LIBRARY");
    found.vendorPath = found.vendorPath.empty() ? inOwnFolder("libdiopi_impl.so") : found.vendorPath;
    void* const vendor = opened(found.vendorPath, "the vendor's library", "DIOPI_VENDOR_LIBRARY");

    vendorHandle = vendor;

    found.referencePath = environment::text("DIOPI_REFERENCE_LIBRARY");
    struct stat unused {};
    const std::string usual = inOwnFolder("libdiopi_reference.so");
    if (found.referencePath.empty() && stat(usual.c_str(), &unused) == 0) {
        found.referencePath = usual;
    }
    void* const reference = found.referencePath.empty()
                                ? nullptr
                                : opened(found.referencePath, "the reference library", "DIOPI_REFERENCE_LIBRARY");

    using Text = const char* (*)();
    const auto name = symbol<Text>(vendor, "diopiGetVendorName");
    const auto version = symbol<Text>(vendor, "diopiGetImplVersion");
    vendorText = symbol<Text>(vendor, "diopiGetLastErrorString");
    referenceText = reference == nullptr ? nullptr : symbol<Text>(reference, "diopiGetLastErrorString");
    vendorFinalize = symbol<int (*)()>(vendor, "finalizeLibrary");
    // The reference library's own initLibrary is not called: it would register a device of its own.
    const auto initialize = symbol<int (*)()>(vendor, "initLibrary");
    if (initialize != nullptr) {
        const int status = initialize();
        if (status != 0) {
            const char* const text = vendorText == nullptr ? nullptr : vendorText();
            throw Failure(diopiErrorOccurred, "initLibrary of " + found.vendorPath + " returns " +
                                                  std::to_string(status) +
                                                  (text == nullptr || *text == '\0' ? "" : std::string(": ") + text));
        }
    }
    found.vendorName = name == nullptr ? "" : name();
    found.vendorVersion = version == nullptr ? "" : version();
    fillEntries(vendor, reference, found.switches);
    if (const std::string report = environment::text("DIOPI_FALLBACK_REPORT"); !report.empty()) {
        reportFallbacks(report);
        found.switches.reportsFallbacks = true;
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

void* vendorSymbol(const char* name) { return dlsym(vendorHandle, name); }

int finalizeVendor() { return vendorFinalize == nullptr ? 0 : vendorFinalize(); }

void useVendorErrorText() { setErrorSource(vendorText); }

void useReferenceErrorText() { setErrorSource(referenceText); }

const char* vendorErrorText() { return vendorText == nullptr ? nullptr : vendorText(); }

}  // namespace diopigen::dispatch
