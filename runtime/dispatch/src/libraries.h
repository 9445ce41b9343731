// The vendor's library and the reference library, and what the environment asks for.
#ifndef DIOPIGEN_DISPATCH_LIBRARIES_H_
#define DIOPIGEN_DISPATCH_LIBRARIES_H_

#include <string>

namespace diopigen::dispatch {

enum class FallbackMode { off, warn, log };
enum class ValidationMode { off, log, reject };

struct Switches {
    FallbackMode fallback = FallbackMode::warn;
    std::string dumpFolder = "diopi_dump";
    bool timing = false;
    ValidationMode validation = ValidationMode::off;
    bool validatesValues = false;
    bool reportsFallbacks = false;
};

struct Libraries {
    std::string vendorPath;
    std::string referencePath;  // empty where there is none
    std::string vendorName;     // as diopiGetVendorName of the vendor says it
    std::string vendorVersion;
    Switches switches;
};

// Loads both libraries at the first call, fills in the entries and calls initLibrary of the vendor. Throws a Failure,
// the same one at each call, where that is not possible.
const Libraries& libraries();

// A function of the vendor by its name, null where it has none.
void* vendorSymbol(const char* name);

// Calls finalizeLibrary of the vendor, if the library was loaded. 0 on success.
int finalizeVendor();

// diopiGetLastErrorString answers with the text of the vendor, or of the reference library, from now on.
void useVendorErrorText();
void useReferenceErrorText();

// The vendor's own text now; may be null.
const char* vendorErrorText();

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_LIBRARIES_H_
