#include "frame/sframe/sframe_state.hpp"

#include <algorithm>
#include <cerrno>

#include "frame/header/sframe_format.hpp"
#include "frame/sframe/orphans.hpp"
#include "frame/sframe/sframe.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame {
namespace {

/// Calls visit(number) for every chunk file that the index names.
template <typename Visit>
void for_each_named(const FrameSnapshot* snapshot, codec::BlockDecoder& decoder,
                    const Visit& visit) {
  const auto table = snapshot ? snapshot->index() : nullptr;
  for (std::int64_t page = 0; table && page < table->page_count(); ++page)
    for (const std::int64_t entry : table->read_page(page, decoder).entries)
      if (entry >= 0 && entry <= std::int64_t{UINT32_MAX}) visit(static_cast<std::uint32_t>(entry));
}

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
  if (!state.next_number) {
    std::uint64_t next = 0;
    for_each_named(state.current.get(), decoder,
                   [&](std::uint32_t number) { next = std::max(next, std::uint64_t{number} + 1); });
    for (const std::string& name : state.directory->names())
      if (const auto number = chunk_file_number(name))
        next = std::max(next, std::uint64_t{*number} + 1);
    state.first_own = next;
    state.next_number = next;
  }
  if (*state.next_number > UINT32_MAX) throw_errno(ENOSPC, "numbers of chunk files");
  return static_cast<std::uint32_t>((*state.next_number)++);
}

std::vector<std::uint32_t> orphan_chunk_files(const Snapshot& snapshot,
                                              std::vector<std::uint32_t> numbers,
                                              codec::BlockDecoder& decoder) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<bool> named(numbers.size());
  for_each_named(&dynamic_cast<const FrameSnapshot&>(snapshot), decoder, [&](std::uint32_t number) {
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), number);
    if (found != numbers.end() && *found == number)
      named[static_cast<std::size_t>(found - numbers.begin())] = true;
  });
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!named[i]) result.push_back(numbers[i]);
  return result;
}

}  // namespace bloscfs::frame
