// Elements of maps by their number.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_MAP_ELEMENT_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_MAP_ELEMENT_H_

#include <cstdint>

#include "diopi_core/host_device.h"

namespace diopigen::core {

// Element `at` of maps [images, channels, height, width], in the order of the dimensions.
struct MapElement {
    int64_t image;
    int64_t channel;
    int64_t row;
    int64_t column;

    DIOPI_HOST_DEVICE MapElement(int64_t at, int64_t channels, int64_t height, int64_t width)
        : image(at / (width * height * channels)),
          channel(at / (width * height) % channels),
          row(at / width % height),
          column(at % width) {}
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_MAP_ELEMENT_H_
