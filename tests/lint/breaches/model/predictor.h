#include <ATen/ATen.h>

#include "common/status.h"
