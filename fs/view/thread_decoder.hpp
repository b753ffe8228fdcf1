#pragma once
// One decoder for each thread, so that its contexts and scratch memory are used again.

#include "codec/block_decoder.hpp"

namespace bloscfs::fs {

/// Returns the calling thread's decoder. Between blocks the decoder calls
/// frame::Interruption::check(), which throws if the thread's work is to end.
codec::BlockDecoder& thread_decoder();

/// Frees the scratch memory that the calling thread's decoder need not keep between blocks.
void trim_thread_decoder();

}  // namespace bloscfs::fs
