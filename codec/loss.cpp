#include "codec/loss.hpp"

#include <algorithm>

#include "codec/compressor/codec_table.hpp"
#include "codec/filter/filter_table.hpp"

namespace bloscfs::codec {

Loss loss_of(CodecId codec, std::span<const FilterStep> filters) {
  const CodecRow* const row = find_codec(codec);
  Loss loss = row != nullptr ? row->loss : Loss::none;
  for (const FilterStep& step : filters) {
    const FilterRow* const filter = find_filter(step.id);
    if (filter != nullptr) loss = std::max(loss, filter->loss);
  }
  return loss;
}

}  // namespace bloscfs::codec
