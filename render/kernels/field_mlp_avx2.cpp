#define INTERLACER_KERNEL_NAMESPACE avx2
#include "render/kernels/field_mlp_body.h"
