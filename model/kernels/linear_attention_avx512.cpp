#define INTERLACER_KERNEL_NAMESPACE avx512
#include "model/kernels/linear_attention_body.h"
