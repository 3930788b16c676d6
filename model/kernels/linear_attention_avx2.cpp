#define INTERLACER_KERNEL_NAMESPACE avx2
#include "model/kernels/linear_attention_body.h"
