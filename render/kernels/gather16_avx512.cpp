#define INTERLACER_KERNEL_NAMESPACE avx512
#include "render/kernels/gather16_body.h"
