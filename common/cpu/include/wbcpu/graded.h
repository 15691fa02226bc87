/* graded.h - included after cuda_runtime.h in a source that is graded and not a part of
 * the workbook. Check mode must see every access, and the code must be the same in both
 * modes. No kernel needs the names below; each is an error from here on, however it is
 * spelled. What may use them has been included before. */
#undef WBCPU_UNCHECKED
#undef WBCPU_CHECKED
#undef WBCPU_RED_ZONES
#undef __SANITIZE_THREAD__
#pragma GCC poison no_sanitize __no_sanitize__ no_sanitize_thread __no_sanitize_thread__
#pragma GCC poison no_sanitize_coverage __no_sanitize_coverage__ no_sanitize_undefined
#pragma GCC poison __no_sanitize_undefined__ __SANITIZE_THREAD__ WBCPU_UNCHECKED
#pragma GCC poison WBCPU_CHECKED WBCPU_CHECK WBCPU_RED_ZONES wbcpu_load_unchecked
#pragma GCC poison wbcpu_store_unchecked __builtin_apply __builtin_apply_args
#pragma GCC poison __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
#pragma GCC poison __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
#pragma GCC poison __tsan_read_range __tsan_write_range __sanitizer_cov_trace_pc
