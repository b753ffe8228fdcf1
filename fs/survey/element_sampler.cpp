#include "fs/survey/element_sampler.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::fs {
namespace {

/// Elements at most this many bytes apart are read together with the bytes between them.
constexpr std::int64_t kNear = 256;
constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 20;
/// How many bytes are decoded at once if the container does not tell its block size.
constexpr std::int64_t kLikelyBlock = std::int64_t{64} << 10;

std::int64_t decoded_at_once(const frame::FrameInfo& info) {
  if (info.blocksize > 0) return info.blocksize;
  return std::max<std::int64_t>(1, std::min<std::int64_t>(kLikelyBlock, info.chunksize));
}

std::int64_t block_along(const frame::ArrayInfo& array, std::size_t axis, std::int64_t index) {
  const std::int64_t chunk = array.chunkshape[axis], block = array.blockshape[axis];
  return index / chunk * codec::ceil_div(chunk, block) + index % chunk / block;
}

}  // namespace

std::variant<ElementSampler, std::string> ElementSampler::open(Request& request,
                                                               const FrameReader& reader) {
  const frame::FrameInfo& info = reader.snapshot().info();
  if (!info.array) return "it says nothing of what its bytes mean";
  if (!info.array->dtype) return "it does not say of which type its elements are";
  auto values = ElementValues::of(*info.array->dtype);
  if (!values || values->itemsize() != info.typesize)
    return fmt::format("elements of type {} are not numbers", *info.array->dtype);
  if (!info.has_blocked_array()) {
    std::int64_t bytes = info.typesize;
    for (const std::int64_t extent : info.array->shape)
      if (__builtin_mul_overflow(bytes, extent, &bytes)) bytes = -1;
    if (bytes != info.nbytes) return "its shape and its contents do not agree";
  }
  auto view = std::make_shared<const FileView>(request, view_shape(info, true), reader);
  if (const auto& missing = view->missing(request)) return "it is " + *missing;
  return ElementSampler(std::move(view), *std::move(values));
}

ElementSampler::ElementSampler(std::shared_ptr<const FileView> view, ElementValues values)
    : view_(std::move(view)), values_(std::move(values)) {
  const std::size_t dimensions = array().shape.size();
  strides_.assign(dimensions, values_.itemsize());
  // An array without elements needs no strides, and the products might overflow.
  if (element_count() > 0)
    for (std::size_t i = 1; i < dimensions; i++) {
      if (array().fortran_order)
        strides_[i] = strides_[i - 1] * array().shape[i - 1];
      else
        strides_[dimensions - 1 - i] = strides_[dimensions - i] * array().shape[dimensions - i];
    }
  unit_size_ = decoded_at_once(view_->reader().snapshot().info());
}

std::int64_t ElementSampler::offset_of(const std::vector<std::int64_t>& place) const {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < place.size(); i++) offset += place[i] * strides_[i];
  return offset;
}

ElementSampler::Unit ElementSampler::unit_of(const std::vector<std::int64_t>& place,
                                             std::size_t row_axis, std::size_t column_axis) const {
  if (!view_->shape().blocked) return {0, offset_of(place) / unit_size_};
  return {block_along(array(), row_axis, place[row_axis]),
          block_along(array(), column_axis, place[column_axis])};
}

void ElementSampler::read(Request& request, std::vector<Wanted> wanted, const Use& use) const {
  std::sort(wanted.begin(), wanted.end());
  const std::int64_t size = values_.itemsize();
  std::optional<Unit> damaged;
  for (std::size_t first = 0; first < wanted.size();) {
    const std::int64_t begin = wanted[first].offset;
    std::size_t end = first + 1;
    while (end < wanted.size() && wanted[end].unit == wanted[first].unit &&
           wanted[end].offset - wanted[end - 1].offset <= kNear + size &&
           wanted[end].offset - begin < kMostAtOnce)
      end++;
    // A unit that could not be read is not tried again for its other elements.
    const bool is_read = damaged != wanted[first].unit &&
                         fetch(request, begin, wanted[end - 1].offset + size - begin);
    if (!is_read) damaged = wanted[first].unit;
    for (; first < end; first++)
      use(wanted[first].target,
          is_read ? std::optional(values_.value(
                        &bytes_[static_cast<std::size_t>(wanted[first].offset - begin)]))
                  : std::nullopt);
  }
}

void ElementSampler::read_run(Request& request, std::int64_t offset, std::int64_t count,
                              const Use& use) const {
  const std::int64_t size = values_.itemsize();
  for (std::int64_t done = 0; done < count;) {
    // No piece exceeds its unit, so that damage in one unit does not affect elements of another.
    const std::int64_t at = offset + done * size;
    const std::int64_t piece = std::min(
        {count - done, rest_of_unit(at / size), std::max(std::int64_t{1}, kMostAtOnce / size)});
    const bool is_read = fetch(request, at, piece * size);
    for (std::int64_t i = 0; i < piece; i++)
      use(static_cast<std::size_t>(done + i),
          is_read ? std::optional(values_.value(&bytes_[static_cast<std::size_t>(i * size)]))
                  : std::nullopt);
    done += piece;
  }
}

std::int64_t ElementSampler::rest_of_unit(std::int64_t element) const {
  if (!view_->shape().blocked || array().shape.size() != 1) {
    const std::int64_t elements = std::max<std::int64_t>(1, unit_size_ / values_.itemsize());
    return elements - element % elements;
  }
  const std::int64_t chunk = array().chunkshape[0], block = array().blockshape[0];
  const std::int64_t in_chunk = element % chunk;
  return std::min(chunk - in_chunk, block - in_chunk % block);
}

bool ElementSampler::fetch(Request& request, std::int64_t offset, std::int64_t size) const {
  BlockCache& cache = view_->reader().cache();
  bytes_.resize(static_cast<std::size_t>(size));
  try {
    ReplyData reply(cache.pages());
    view_->read(request, offset, size, reply);
    reply.copy_to(bytes_);
    return true;
  } catch (const codec::Error& error) {
    if (error.code() == codec::FormatErrc::unsupported) throw;
  } catch (const std::system_error& error) {
    // Damaged or missing data makes only these elements unreadable.
    if (error.code() != std::errc::io_error && error.code() != std::errc::no_such_file_or_directory)
      throw;
  }
  return false;
}

}  // namespace bloscfs::fs
