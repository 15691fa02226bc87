/* launches.cpp - launches, blocks and threads.
 * Options: -O1 -finline-small-functions -g -fno-var-tracking.
 * With -O1, units are as fast as with -O2, and sooner compiled. gdb needs the types of
 * threadIdx and blockIdx, not where each local variable is. */
#include "../alignment.cpp"
#include "../arguments.cpp"
#include "../blocks.cpp"
#include "../cluster.cpp"
#include "../collective.cpp"
#include "../dry.cpp"
#include "../dynamic.cpp"
#include "../fiber.cpp"
#include "../grid.cpp"
#include "../kernels.cpp"
#include "../launch.cpp"
#include "../limits.cpp"
#include "../paused.cpp"
#include "../pool.cpp"
#include "../report.cpp"
#include "../scheduler.cpp"
#include "../shared.cpp"
#include "../symbols.cpp"
#include "../tma.cpp"
#include "../waiting.cpp"
