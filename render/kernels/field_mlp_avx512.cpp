#define INTERLACER_KERNEL_NAMESPACE avx512
#include "render/kernels/field_mlp_body.h"
