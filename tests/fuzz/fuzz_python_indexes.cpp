// Metadata of indexes: whatever the bytes are, only flags change, and only once.

#include <algorithm>

#include "codec/error.hpp"
#include "frame/python/python_indexes.hpp"

namespace {

using namespace bloscfs;

using Mark = frame::ChangedContents (*)(codec::Bytes);

/// True if what it gives differs in flags alone, and has none left to set.
bool is_right(Mark mark, codec::Bytes contents) {
  const auto changed = mark(contents);
  if (!changed) return true;
  const bool is_alike =
      std::equal(contents.begin(), contents.end(), changed->begin(), changed->end(),
                 [](auto a, auto b) { return a == b || (a == 0xc2 && b == 0xc3); });
  return is_alike && !mark(*changed);
}

template <typename Work>
bool unless_refused(Work work) {
  try {
    return work();
  } catch (const codec::Error&) {
    return true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const codec::Bytes contents(data, size);
  bool right = true;
  for (const Mark mark : {frame::stale_array_indexes, frame::stale_index_catalog})
    right &= unless_refused([&] { return is_right(mark, contents); });
  right &= unless_refused([&] { return !frame::next_epoch(contents).empty(); });
  right &= unless_refused([&] {
    const auto changed = frame::stale_generated_columns(contents, "a");
    return !changed || !frame::stale_generated_columns(*changed, "a");
  });
  unless_refused([&] { return frame::is_table_kind(contents); });
  if (!right) __builtin_trap();
  return 0;
}
