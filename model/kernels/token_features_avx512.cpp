#define INTERLACER_KERNEL_NAMESPACE avx512
#include "model/kernels/token_features_body.h"
