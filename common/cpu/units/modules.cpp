/* modules.cpp - modules and NVRTC: linked only to programs that call them, because others
 * may define these functions themselves. Options: -O1. */
#include "../modules.cpp"
#include "../nvrtc.cpp"
