/* launch_limits.h - which launches are valid, and the messages for the others. */
#pragma once

#include "include/wbcpu.h"
#include "scheduler.h"

#include <string>

namespace wbcpu
{
cudaError_t check_launch(const wbcpu_launch *l); /* also says what is invalid */

/* Says that the launch failed, why, and how to correct it. */
cudaError_t
refuse_launch(const wbcpu_launch *l, const std::string &what, const char *fix);
/* The kernel's __cluster_dims__ differ from the launch's clusters. */
cudaError_t refuse_other_clusters(const wbcpu_launch *l, const dim3 &theirs);
cudaError_t refuse_for_threads(const wbcpu_launch *l); /* too few CPU threads */
}  // namespace wbcpu
