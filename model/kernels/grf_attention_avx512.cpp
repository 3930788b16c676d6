#define INTERLACER_KERNEL_NAMESPACE avx512
#include "model/kernels/grf_attention_body.h"
