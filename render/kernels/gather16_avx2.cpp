#define INTERLACER_KERNEL_NAMESPACE avx2
#include "render/kernels/gather16_body.h"
