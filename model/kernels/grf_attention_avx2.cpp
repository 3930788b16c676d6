#define INTERLACER_KERNEL_NAMESPACE avx2
#include "model/kernels/grf_attention_body.h"
