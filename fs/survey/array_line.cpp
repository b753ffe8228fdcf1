#include "fs/survey/array_line.hpp"

#include <algorithm>

namespace bloscfs::fs {
namespace {

ArrayLine::Bin read_bin(Request& request, const ElementSampler& sampler, std::int64_t first,
                        std::int64_t count) {
  ArrayLine::Bin bin;
  bin.first = first;
  sampler.read_run(request, first * sampler.values().itemsize(), count,
                   [&bin](std::size_t, std::optional<double> value) {
                     const std::int64_t before = bin.range.finite;
                     bin.range.add(value);
                     // The mean of the finite values so far.
                     if (bin.range.finite > before)
                       bin.mean += (*value - bin.mean) / static_cast<double>(bin.range.finite);
                   });
  return bin;
}

}  // namespace

ArrayLine read_line(Request& request, const ElementSampler& sampler, const PictureLimits& limits) {
  const std::int64_t itemsize = sampler.values().itemsize();
  ArrayLine line;
  line.extent = sampler.element_count();
  std::int64_t bins = std::min(line.extent, limits.bins);
  std::int64_t window = codec::ceil_div(line.extent, bins);
  if (line.extent > limits.decoded / itemsize) {
    // Reads only a window at the start of each bin. Reading a part of a block costs as much as
    // reading all of it, so there are at most as many bins as blocks that may be decoded.
    line.is_sample = true;
    bins = std::clamp<std::int64_t>(limits.decoded / sampler.unit_size(), 1, bins);
    const std::int64_t most = std::max(sampler.unit_size(), limits.decoded / bins / 2);
    window = std::min(window, std::max<std::int64_t>(1, most / itemsize));
  }
  const std::int64_t step = codec::ceil_div(line.extent, bins);
  for (std::int64_t first = 0; first < line.extent; first += step) {
    line.bins.push_back(
        read_bin(request, sampler, first, std::min({window, step, line.extent - first})));
    line.range.add(line.bins.back().range);
    if (line.extent - first <= step) break;
  }
  return line;
}

}  // namespace bloscfs::fs
