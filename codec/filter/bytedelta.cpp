#include "codec/filter/bytedelta.hpp"

#include <algorithm>

#include "codec/filter/highest_target.hpp"

#define HWY_DISABLED_TARGETS BLOSCFS_ABOVE_AVX3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/filter/bytedelta.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bloscfs::codec::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // g++ before 12.3, with which nothing is vectorised
std::size_t running_sum_simd(std::uint8_t*, std::size_t) { return 0; }
#else
/// Fills each block of 16 bytes with the last byte of the block `distance` before it. The first
/// blocks get zeros.
template <typename D>
hn::Vec<D> blocks_before(D d, hn::Vec<D> lasts, std::uint64_t distance) {
  const hn::Repartition<std::uint64_t, D> d64;
  const auto before = hn::Sub(hn::Iota(d64, std::uint64_t{0}), hn::Set(d64, 2 * distance));
  const auto inside = hn::And(before, hn::Set(d64, hn::Lanes(d64) - 1));
  const auto taken = hn::TableLookupLanes(hn::BitCast(d64, lasts), hn::IndicesFromVec(d64, inside));
  return hn::BitCast(d, hn::IfThenZeroElse(hn::FirstN(d64, 2 * distance), taken));
}

/// Computes the running sum of the first bytes: within 16 bytes, then over the blocks of a vector,
/// then with a carry. Returns the number of bytes.
std::size_t running_sum_simd(std::uint8_t* data, std::size_t size) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const std::size_t step = hn::Lanes(d);
  const auto pick_last = hn::Set(d, std::uint8_t{15});
  const auto last_lane = hn::IndicesFromVec(d64, hn::Set(d64, hn::Lanes(d64) - 1));
  auto carry = hn::Zero(d);
  std::size_t i = 0;
  for (; i + step <= size; i += step) {
    auto v = hn::LoadU(d, data + i);
    v = hn::Add(v, hn::ShiftLeftBytes<1>(d, v));
    v = hn::Add(v, hn::ShiftLeftBytes<2>(d, v));
    v = hn::Add(v, hn::ShiftLeftBytes<4>(d, v));
    v = hn::Add(v, hn::ShiftLeftBytes<8>(d, v));
    const auto own = hn::TableLookupBytes(v, pick_last);
    auto sums = own;
    for (std::size_t blocks = 1; 16 * blocks < step; blocks *= 2)
      sums = hn::Add(sums, blocks_before(d, sums, blocks));
    hn::StoreU(hn::Add(hn::Add(v, carry), hn::Sub(sums, own)), d, data + i);
    carry = hn::Add(carry, hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(d64, sums), last_lane)));
  }
  return i;
}
#endif

/// Computes out[k] = in[k] - in[k - 1] for the first bytes after in[0]. Returns where it stopped.
std::size_t differences_simd(const std::uint8_t* in, std::size_t size, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 1;
  for (; i + step <= size; i += step) {
    hn::StoreU(hn::Sub(hn::LoadU(d, in + i), hn::LoadU(d, in + i - 1)), d, out + i);
  }
  return i;
}

}  // namespace bloscfs::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bloscfs::codec {
namespace {

HWY_EXPORT(running_sum_simd);
HWY_EXPORT(differences_simd);

void sum_rest(MutableBytes run, std::size_t i) {
  for (i = std::max<std::size_t>(i, 1); i < run.size(); ++i) {
    run[i] = static_cast<std::uint8_t>(run[i] + run[i - 1]);
  }
}

void differences_rest(Bytes run, MutableBytes out, std::size_t i) {
  if (!run.empty()) out[0] = run[0];
  for (; i < run.size(); ++i) out[i] = static_cast<std::uint8_t>(run[i] - run[i - 1]);
}

/// Calls `run(offset, size)` for each range of differences without a restart.
template <typename Run>
void for_each_run(std::size_t size, std::size_t streams, BytedeltaKind kind, const Run& run) {
  const std::size_t length = size / streams;
  if (length == 0) return;  // there may be many empty streams
  const std::size_t vectorised = kind == BytedeltaKind::old ? length - length % 16 : length;
  for (std::size_t j = 0; j < streams; ++j) {
    run(j * length, vectorised);
    run(j * length + vectorised, length - vectorised);
  }
}

void copy_tail(Bytes in, MutableBytes out, std::size_t streams) {
  const auto end = static_cast<std::ptrdiff_t>(in.size() - in.size() % streams);
  std::copy(in.begin() + end, in.end(), out.begin() + end);
}

}  // namespace

void bytedelta(Bytes in, MutableBytes out, std::size_t streams, BytedeltaKind kind) {
  const auto differences = HWY_DYNAMIC_DISPATCH(differences_simd);
  for_each_run(in.size(), streams, kind, [&](std::size_t offset, std::size_t size) {
    const std::size_t done = differences(in.data() + offset, size, out.data() + offset);
    differences_rest(in.subspan(offset, size), out.subspan(offset, size), done);
  });
  copy_tail(in, out, streams);
}

void unbytedelta(MutableBytes data, std::size_t streams, BytedeltaKind kind) {
  const auto running_sum = HWY_DYNAMIC_DISPATCH(running_sum_simd);
  for_each_run(data.size(), streams, kind, [&](std::size_t offset, std::size_t size) {
    sum_rest(data.subspan(offset, size), running_sum(data.data() + offset, size));
  });
}

void bytedelta_scalar(Bytes in, MutableBytes out, std::size_t streams, BytedeltaKind kind) {
  for_each_run(in.size(), streams, kind, [&](std::size_t offset, std::size_t size) {
    differences_rest(in.subspan(offset, size), out.subspan(offset, size), 1);
  });
  copy_tail(in, out, streams);
}

void unbytedelta_scalar(MutableBytes data, std::size_t streams, BytedeltaKind kind) {
  for_each_run(data.size(), streams, kind, [&](std::size_t offset, std::size_t size) {
    sum_rest(data.subspan(offset, size), 0);
  });
}

}  // namespace bloscfs::codec
#endif
