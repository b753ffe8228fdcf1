#include "tools/elements.hpp"

#include <algorithm>
#include <utility>

#include "fs/numpy/npy.hpp"

namespace bloscfs::tools {
namespace {

/// Bytes to read at a time.
constexpr std::int64_t kElementsAtOnce = std::int64_t{1} << 20;

fs::FileView view_of(const Input& input) {
  fs::Request request;
  fs::ViewShape shape = fs::view_shape(input.info(), true);
  // Reads a blocked array in C order, whatever order a mount shows.
  shape.fortran_order = false;
  fs::FileView view(request, std::move(shape), input.reader());
  view.require_contents(request);
  return view;
}

}  // namespace

Elements::Elements(Input& input)
    : input_(input), view_(view_of(input)), itemsize_(input.info().typesize) {
  const auto& array = input.info().array;
  const bool is_numpy = fs::npy_view(input.info()).has_value();
  if (!array || (!is_numpy && !input.info().has_blocked_array())) return;
  shape_ = array->shape;
  if (!is_numpy) return;
  reinterpret(*fs::parse_numpy_dtype(*array->dtype));
  is_fortran_ = array->fortran_order && !input.info().has_blocked_array() &&
                fs::is_fortran_only(array->shape);
}

void Elements::reinterpret(const fs::NumpyDtype& dtype) {
  dtype_ = dtype.stored;
  itemsize_ = dtype.itemsize;
}

void Elements::read(std::int64_t offset, codec::MutableBytes out) {
  if (!is_fortran_) return read_in_order(offset, out);
  const auto size = static_cast<std::size_t>(itemsize_);
  for (std::int64_t item = offset / itemsize_; !out.empty(); out = out.subspan(size))
    read_in_order(place_of(item++) * itemsize_, out.first(size));
}

void Elements::read_in_order(std::int64_t offset, codec::MutableBytes out) {
  fs::Request request;
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t piece = std::min<std::size_t>(out.size() - done, kElementsAtOnce);
    fs::ReplyData reply(input_.reader().cache().pages());
    view_.read(request, offset + static_cast<std::int64_t>(done), static_cast<std::int64_t>(piece),
               reply);
    reply.copy_to(out.subspan(done, piece));
    done += piece;
  }
}

std::int64_t Elements::place_of(std::int64_t item) const {
  std::int64_t place = 0, items = 1;
  for (const std::int64_t extent : *shape_) items *= extent;
  std::int64_t stride = items;
  for (std::size_t i = shape_->size(); i-- > 0;) {
    const std::int64_t extent = (*shape_)[i];
    stride /= extent;
    place += item % extent * stride;
    item /= extent;
  }
  return place;
}

}  // namespace bloscfs::tools
