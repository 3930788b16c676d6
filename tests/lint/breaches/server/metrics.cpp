#include "model/runtime/process_setup.h"
