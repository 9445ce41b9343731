#include "libraries.h"

#include <diopigen/host.h>
#include <diopigen/open_library.h>
#include <dlfcn.h>
#include <sys/stat.h>

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

std::string environment(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
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
    const std::string text = environment(variable);
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
    const std::string text = environment("DIOPI_FALLBACK");
    if (text == "off") {
        return FallbackMode::off;
    }
    if (text == "log") {
        return FallbackMode::log;
    }
    if (text.empty() || text == "warn") {
        return FallbackMode::warn;
    }
    throw Failure(diopiErrorOccurred, "DIOPI_FALLBACK is '" + text + "': off, warn or log is possible");
}

ValidationMode validationMode() {
    const std::string text = environment("DIOPI_VALIDATE");
    if (text.empty() || text == "off") {
        return ValidationMode::off;
    }
    if (text == "log") {
        return ValidationMode::log;
    }
    if (text == "refuse") {
        return ValidationMode::reject;
    }
    throw Failure(diopiErrorOccurred, "DIOPI_VALIDATE is '" + text + "': off, log or refuse is possible");
}

bool isOn(const char* variable) {
    const std::string text = environment(variable);
    if (text.empty() || text == "0") {
        return false;
    }
    if (text == "1") {
        return true;
    }
    throw Failure(diopiErrorOccurred, std::string(variable) + " is '" + text + "': 0 or 1 is possible");
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
    found.switches.fallback = fallbackMode();
    found.switches.timing = isOn("DIOPI_TIMING");
    found.switches.validation = validationMode();
    found.switches.validatesValues = isOn("DIOPI_VALIDATE_VALUES");
    const std::string folder = environment("DIOPI_DUMP_FOLDER");
    found.switches.dumpFolder = folder.empty() ? found.switches.dumpFolder : folder;

    found.vendorPath = environment("DIOPI_VENDOR_LIBRARY");
    found.vendorPath = found.vendorPath.empty() ? inOwnFolder("libdiopi_impl.so") : found.vendorPath;
    void* const vendor = opened(found.vendorPath, "the vendor's library", "DIOPI_VENDOR_LIBRARY");

    vendorHandle = vendor;

    found.referencePath = environment("DIOPI_REFERENCE_LIBRARY");
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
    if (const std::string report = environment("DIOPI_FALLBACK_REPORT"); !report.empty()) {
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
