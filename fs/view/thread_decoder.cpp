#include "fs/view/thread_decoder.hpp"

#include <cstddef>

#include "frame/store/wait_context.hpp"

namespace bloscfs::fs {
namespace {

/// Scratch memory that a thread keeps between blocks.
constexpr std::size_t kKeptScratch = std::size_t{1} << 20;

}  // namespace

codec::BlockDecoder& thread_decoder() {
  static thread_local codec::BlockDecoder decoder = [] {
    codec::BlockDecoder made;
    made.set_checkpoint(&frame::Interruption::check);
    return made;
  }();
  return decoder;
}

void trim_thread_decoder() { thread_decoder().trim(kKeptScratch); }

}  // namespace bloscfs::fs
