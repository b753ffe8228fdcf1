#include "frame/sframe/orphans.hpp"

#include <algorithm>

#include "frame/sframe/named_chunk_files.hpp"

namespace bloscfs::frame::inline sframe {

std::vector<std::uint32_t> orphan_chunk_files(const Snapshot& snapshot,
                                              std::vector<std::uint32_t> numbers,
                                              codec::BlockDecoder& decoder) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<bool> named(numbers.size());
  for_each_named_file(&dynamic_cast<const FrameSnapshot&>(snapshot), decoder,
                      [&](std::uint32_t number) {
                        const auto found = std::lower_bound(numbers.begin(), numbers.end(), number);
                        if (found != numbers.end() && *found == number)
                          named[static_cast<std::size_t>(found - numbers.begin())] = true;
                      });
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!named[i]) result.push_back(numbers[i]);
  return result;
}

}  // namespace bloscfs::frame::inline sframe
