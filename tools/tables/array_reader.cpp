#include "tools/tables/array_reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kMaxRowSize = std::int64_t{64} << 20;
/// Limit for empty lists in a row. They need no storage, so a small file could have very many.
constexpr std::int64_t kMostEmptyLists = 4096;

}  // namespace

ArrayReader::ArrayReader(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits) {
  const frame::FrameInfo& info = snapshot->info();
  if (!info.array || info.array->shape.empty() || !info.array->dtype)
    codec::throw_malformed("is not an array with rows");
  const auto dtype = fs::parse_numpy_dtype(*info.array->dtype);
  if (!dtype || dtype->itemsize != info.typesize || dtype->itemsize == 0)
    codec::throw_unsupported("has items of " + *info.array->dtype);
  dtype_ = *dtype;
  shape_ = info.array->shape;
  if (info.array->fortran_order && shape_.size() > 1)
    codec::throw_unsupported("an array in Fortran order");
  // An axis without items counts as one, because the axes before it are still written as lists.
  std::int64_t row_size = dtype_.itemsize, counted = dtype_.itemsize;
  for (std::size_t i = 1; i < shape_.size(); i++) {
    const std::int64_t extent = std::max<std::int64_t>(1, shape_[i]);
    if (__builtin_mul_overflow(counted, extent, &counted) || counted > kMaxRowSize)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("rows of more than {} bytes", kMaxRowSize));
    row_size *= shape_[i];
  }
  if (row_size == 0 && counted > kMostEmptyLists)
    codec::throw_unsupported(fmt::format("rows of {} empty lists", counted));
  if (row_size > kMaxRowSize)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("rows of {} bytes > {}", row_size, kMaxRowSize));
  row_size_ = static_cast<std::size_t>(row_size);
  input_ = std::make_unique<Input>(std::move(snapshot), limits);
  fs::Request request;
  view_ = std::make_unique<fs::FileView>(request, fs::view_shape(input_->info(), true),
                                         input_->reader());
  view_->require_contents(request);
}

void ArrayReader::require_items(std::string_view dtype, const char* what) const {
  if (dtype_.stored != dtype || shape_.size() != 1)
    codec::throw_malformed(fmt::format("{} no array of {}", what, dtype));
}

void ArrayReader::require_rows(std::int64_t table_rows) const {
  if (rows() != table_rows)
    codec::throw_malformed(fmt::format("{} rows, _valid_rows has {}", rows(), table_rows));
}

void ArrayReader::read(std::int64_t row, codec::MutableBytes out) {
  if (out.empty()) return;
  fs::ReplyData reply(input_->reader().cache().pages());
  fs::Request request;
  view_->read(request, row * static_cast<std::int64_t>(row_size_),
              static_cast<std::int64_t>(out.size()), reply);
  if (reply.size() != out.size()) codec::throw_malformed("ends early");
  reply.copy_to(out);
}

}  // namespace bloscfs::tools
