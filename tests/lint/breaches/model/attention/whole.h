#include "model/network/world_model.h"
