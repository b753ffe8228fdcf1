#include "frame/sframe/sframe_state.hpp"

#include <algorithm>
#include <cerrno>

#include "frame/sframe/named_chunk_files.hpp"
#include "frame/sframe/sframe.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline sframe {
namespace {

/// Random numbers are below this limit. A writer that counts upwards from the highest number, as
/// take_number() does in other directories, then still finds 2^28 numbers.
constexpr std::uint32_t kRandomNumbers = 0xF0000000;

}  // namespace

void open_current(SframeState& state) {
  auto files = open_sframe_files(state.directory);
  if (!files) throw_errno(ENOENT, kSframeIndexName);
  state.current = open_sframe(std::move(files), state.expected);
  state.expected = state.current->expected();
  state.index = state.directory->open(kSframeIndexName);
  state.superseded.watch(state.current);
}

std::uint32_t take_number(SframeState& state, codec::BlockDecoder& decoder) {
  if (state.settings.shared)
    return std::uniform_int_distribution<std::uint32_t>(0, kRandomNumbers - 1)(state.random);
  if (!state.next_number) {
    std::uint64_t next = 0;
    for_each_named_file(state.current.get(), decoder, [&](std::uint32_t number) {
      next = std::max(next, std::uint64_t{number} + 1);
    });
    // Files without an index entry count, too. A reader of an older state may still need them, or a
    // commit was interrupted.
    for (const std::string& name : state.directory->names())
      if (const auto number = chunk_file_number(name))
        next = std::max(next, std::uint64_t{*number} + 1);
    state.first_own = next;
    state.next_number = next;
  }
  if (*state.next_number > UINT32_MAX) throw_errno(ENOSPC, "numbers of chunk files");
  return static_cast<std::uint32_t>((*state.next_number)++);
}

}  // namespace bloscfs::frame::inline sframe
