#include "../../wbcpu/cub_block.h"
