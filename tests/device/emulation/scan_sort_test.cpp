#include "tests/device/scan_sort_tests.h"
