#pragma once
// One decoder for each thread: its contexts and scratch memory are used again.

#include "codec/block_decoder.hpp"

namespace bloscfs::fs {

/// The calling thread's decoder. Between blocks it calls frame::Interruption::check(), which throws
/// where the thread's work is to end.
codec::BlockDecoder& thread_decoder();

/// Gives back the scratch memory that the calling thread's decoder need not keep between blocks.
void trim_thread_decoder();

}  // namespace bloscfs::fs
