#pragma once

/// Device memory for tests of kernels, whose failed calls fail the test as exceptions, and the skip
/// where there is no device.
///
/// With INTERLACER_REQUIRE_DEVICE switched on in the environment a missing device fails a test
/// instead of skipping it.

#include <gtest/gtest.h>

#include "common/kernels/device_array.h"

/// First line of a device test.
#define INTERLACER_SKIP_WITHOUT_DEVICE()                                                   \
  do {                                                                                     \
    const std::string missing_device = ::interlacer::MissingDevice();                      \
    if (missing_device.empty()) break;                                                     \
    if (::interlacer::IsSwitchedOn("INTERLACER_REQUIRE_DEVICE")) FAIL() << missing_device; \
    GTEST_SKIP() << missing_device;                                                        \
  } while (false)
