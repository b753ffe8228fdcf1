#pragma once
// What is used of libcap, which is loaded by the first call: its functions, without their prefix. A
// daemon is linked to it, and has it before it can open no more files.

#include <sys/capability.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::fs::libcap {

inline constinit codec::LateLibrary library("libcap.so.2");

inline constinit codec::LateFunction<decltype(::cap_free)> free(library, "cap_free");
inline constinit codec::LateFunction<decltype(::cap_get_flag)> get_flag(library, "cap_get_flag");
inline constinit codec::LateFunction<decltype(::cap_get_proc)> get_proc(library, "cap_get_proc");
inline constinit codec::LateFunction<decltype(::cap_set_flag)> set_flag(library, "cap_set_flag");
inline constinit codec::LateFunction<decltype(::cap_set_proc)> set_proc(library, "cap_set_proc");

}  // namespace bloscfs::fs::libcap
