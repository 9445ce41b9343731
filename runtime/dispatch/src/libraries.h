// The vendor's library and the reference library, and what the environment asks for.
#ifndef DIOPIGEN_DISPATCH_LIBRARIES_H_
#define DIOPIGEN_DISPATCH_LIBRARIES_H_

#include <string>

namespace diopigen::dispatch {

enum class FallbackMode { kOff, kWarn, kLog };
enum class ValidationMode { kOff, kLog, kReject };

struct Switches {
    FallbackMode fallback = FallbackMode::kWarn;
    std::string dump_folder = "diopi_dump";
    bool timing = false;
    ValidationMode validation = ValidationMode::kOff;
    bool validates_values = false;
    bool reports_fallbacks = false;
};

struct Libraries {
    std::string vendor_path;
    std::string reference_path;  // empty where there is none
    std::string vendor_name;     // as diopiGetVendorName of the vendor says it
    std::string vendor_version;
    Switches switches;
};

// Loads both libraries at the first call, fills in the entries and calls initLibrary of the vendor. Throws a Failure,
// the same one at each call, where that is not possible.
const Libraries& libraries();

// A function of the vendor by its name, null where it has none.
void* vendor_symbol(const char* name);

// Calls finalizeLibrary of the vendor, if the library was loaded. 0 on success.
int finalize_vendor();

// diopiGetLastErrorString answers with the text of the vendor, or of the reference library, from now on.
void use_vendor_error_text();
void use_reference_error_text();

// The vendor's own text now; may be null.
const char* vendor_error_text();

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_LIBRARIES_H_
