#include "frame/array/array_cutter.hpp"

#include <algorithm>
#include <cstring>

#include <boost/range/adaptor/reversed.hpp>

namespace bloscfs::frame::inline array {

ArrayCutter::ArrayCutter(const ArrayInfo& array, std::int32_t typesize) {
  for (std::size_t i = 0; i < array.shape.size(); ++i)
    dimensions_.push_back(
        {array.shape[i], array.chunkshape[i], array.blockshape[i], 0, 0, 0, 0, 0});
  if (dimensions_.empty() || array.fortran_order) dimensions_.push_back({1, 1, 1, 0, 0, 0, 0, 0});
  Dimension& last = dimensions_.back();
  last.shape *= typesize;
  last.chunk *= typesize;
  last.block *= typesize;
  if (!array.fortran_order) merge_whole_dimensions();
  set_strides();
  if (array.fortran_order)
    set_fortran_strides();
  else
    recognise_runs();
}

// Merges dimensions that no cut divides, because longer rows make longer runs.
void ArrayCutter::merge_whole_dimensions() {
  while (dimensions_.size() > 1) {
    const Dimension last = dimensions_.back();
    if (last.shape != last.chunk || last.chunk != last.block) return;
    dimensions_.pop_back();
    dimensions_.back().shape *= last.shape;
    dimensions_.back().chunk *= last.chunk;
    dimensions_.back().block *= last.block;
  }
}

void ArrayCutter::set_strides() {
  std::int64_t array_stride = 1;
  std::int64_t block_stride = 1;
  for (Dimension& dimension : boost::adaptors::reverse(dimensions_)) {
    const std::int64_t block = std::max<std::int64_t>(1, dimension.block);
    dimension.padded = codec::ceil_div(dimension.chunk, block) * block;
    dimension.chunks = codec::ceil_div(dimension.shape, std::max<std::int64_t>(1, dimension.chunk));
    dimension.array_stride = array_stride;
    dimension.block_stride = block_stride;
    array_stride *= dimension.shape;
    block_stride *= block;
  }
  chunksize_ = block_stride;  // size of a block, so far
  for (Dimension& dimension : boost::adaptors::reverse(dimensions_)) {
    dimension.next_block = chunksize_;
    chunksize_ *= dimension.padded / std::max<std::int64_t>(1, dimension.block);
  }
}

/// The bytes of an item remain the fastest dimension.
void ArrayCutter::set_fortran_strides() {
  std::int64_t stride = dimensions_.back().shape;
  for (std::size_t i = 0; i + 1 < dimensions_.size(); ++i) {
    dimensions_[i].array_stride = stride;
    stride *= dimensions_[i].shape;
  }
}

void ArrayCutter::recognise_runs() {
  // True if `is_whole` holds for all dimensions behind the first one for which `exceeds_one` holds.
  const auto behind_first = [&](const auto& exceeds_one, const auto& is_whole) {
    const auto first = std::find_if(dimensions_.begin(), dimensions_.end() - 1, exceeds_one);
    return std::all_of(first + 1, dimensions_.end(), is_whole);
  };
  cuts_runs_ = behind_first([](const Dimension& d) { return d.chunk > 1; },
                            [](const Dimension& d) { return d.chunk == d.shape; });
  keeps_order_ = cuts_runs_ &&
                 behind_first([](const Dimension& d) { return d.padded > 1; },
                              [](const Dimension& d) { return d.padded == d.shape; }) &&
                 behind_first([](const Dimension& d) { return d.block > 1; },
                              [](const Dimension& d) { return d.block == d.padded; });
}

std::int64_t ArrayCutter::chunk_count() const {
  std::int64_t count = 1;
  for (const Dimension& dimension : dimensions_) count *= dimension.chunks;
  return count;
}

std::vector<ArrayCutter::Span> ArrayCutter::spans(std::int64_t chunk) const {
  std::vector<Span> result(dimensions_.size());
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    const Dimension& dimension = dimensions_[i];
    const std::int64_t first = chunk % dimension.chunks * dimension.chunk;
    result[i] = {first, std::min(dimension.chunk, dimension.shape - first)};
    chunk /= dimension.chunks;
  }
  return result;
}

ArrayCutter::Range ArrayCutter::range(std::int64_t chunk) const {
  const std::vector<Span> cut_spans = spans(chunk);
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < cut_spans.size(); ++i) {
    first += cut_spans[i].first * dimensions_[i].array_stride;
    last += (cut_spans[i].first + cut_spans[i].count - 1) * dimensions_[i].array_stride;
  }
  return {first, last + 1};
}

void ArrayCutter::cut(std::int64_t chunk, codec::Bytes part, codec::MutableBytes out) const {
  const std::vector<Span> cut_spans = spans(chunk);
  bool padded = false;
  for (std::size_t i = 0; i < cut_spans.size(); ++i)
    padded |= cut_spans[i].count < dimensions_[i].padded;
  if (padded) std::fill(out.begin(), out.end(), std::uint8_t{0});
  copy(0, cut_spans, part.data(), out.data());
}

void ArrayCutter::copy(std::size_t dimension, const std::vector<Span>& spans,
                       const std::uint8_t* from, std::uint8_t* to) const {
  const Dimension& here = dimensions_[dimension];
  const std::int64_t count = spans[dimension].count;
  if (dimension + 1 == dimensions_.size()) return copy_run(here, count, from, to);
  for (std::int64_t i = 0; i < count; ++i)
    copy(dimension + 1, spans, from + i * here.array_stride,
         to + i / here.block * here.next_block + i % here.block * here.block_stride);
}

void ArrayCutter::copy_run(const Dimension& last, std::int64_t count, const std::uint8_t* from,
                           std::uint8_t* to) const {
  for (std::int64_t at = 0; at < count; at += last.block, to += last.next_block)
    std::memcpy(to, from + at, static_cast<std::size_t>(std::min(last.block, count - at)));
}

}  // namespace bloscfs::frame::inline array
