// Metadata of indexes, from arbitrary bytes. The function may only change flags, and a second call
// must change nothing.

#include <algorithm>

#include "codec/error.hpp"
#include "frame/python/python_indexes.hpp"

namespace {

using namespace bloscfs;

/// True if the changed contents differ only in flags, and no flag remains to be set.
bool changes_only_flags(codec::Bytes contents) {
  const auto changed = frame::stale_array_indexes(contents);
  if (!changed) return true;
  const bool is_alike =
      std::equal(contents.begin(), contents.end(), changed->begin(), changed->end(),
                 [](auto a, auto b) { return a == b || (a == 0xc2 && b == 0xc3); });
  return is_alike && !frame::stale_array_indexes(*changed);
}

template <typename Work>
bool true_if_refused(Work work) {
  try {
    return work();
  } catch (const codec::Error&) {
    return true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const codec::Bytes contents(data, size);
  const bool right = true_if_refused([&] { return changes_only_flags(contents); });
  true_if_refused([&] { return !frame::indexed_columns(contents).empty(); });
  true_if_refused([&] { return !frame::generating_columns(contents).empty(); });
  true_if_refused([&] { return frame::is_table_kind(contents); });
  if (!right) __builtin_trap();
  return 0;
}
