/* report.h - the whole report; internal to check mode. */
#ifndef WBCPU_CHECK_REPORT_H
#define WBCPU_CHECK_REPORT_H

#include <string>

namespace wbcpu::check
{
std::string report_json();
size_t error_count();
}  // namespace wbcpu::check

#endif
