#include "frame/editing/frame_edit.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "codec/special_value.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/stored/table_writer.hpp"

namespace bloscfs::frame::inline editing {
namespace {

using codec::SpecialValue;

/// Memory bound of a pass over the chunk headers of a variable-size frame.
constexpr std::size_t kMaxMapMemory = std::size_t{1} << 20;

bool reads_as_zeros(std::int64_t entry) { return codec::reads_as_zeros(special_of_entry(entry)); }

std::int64_t checked_chunk_count(std::int64_t nbytes, std::int32_t chunksize, bool checksums) {
  if (nbytes < 0) throw_errno(EINVAL, fmt::format("size {}", nbytes));
  if (nbytes == 0) return 0;
  if (chunksize <= 0) throw_errno(EINVAL, "no size of chunks is set");
  const std::int64_t count = codec::ceil_div<std::int64_t>(nbytes, chunksize);
  if (count > max_chunk_count(checksums))
    throw_errno(EFBIG, fmt::format("{} bytes in chunks of {}", nbytes, chunksize));
  return count;
}

/// Returns the recorded checksums; null if there are none, or if they cannot be read.
std::shared_ptr<const PagedTable> readable_checksums(const FrameSnapshot& base) {
  try {
    return base.checksums();
  } catch (const codec::Error&) {
    return nullptr;
  }
}

std::vector<FrameEdit::Layer>::iterator find_layer(std::vector<FrameEdit::Layer>& layers,
                                                   const std::string& name) {
  return std::find_if(layers.begin(), layers.end(),
                      [&](const FrameEdit::Layer& layer) { return layer.name == name; });
}

/// Replaces the layer of the same name, or appends the layer.
void put_layer(std::vector<FrameEdit::Layer>& layers, FrameEdit::Layer layer) {
  const auto found = find_layer(layers, layer.name);
  if (found == layers.end())
    layers.push_back(std::move(layer));
  else
    *found = std::move(layer);
}

}  // namespace

std::vector<LayerSize> sizes_of(const std::vector<FrameEdit::Layer>& layers) {
  std::vector<LayerSize> sizes;
  sizes.reserve(layers.size());
  for (const FrameEdit::Layer& layer : layers) sizes.push_back({layer.name, layer.stored_size()});
  return sizes;
}

std::int64_t special_entry(SpecialValue value) {
  switch (value) {
    case SpecialValue::zero:
      return static_cast<std::int64_t>(std::uint64_t{kSpecialEntryZero} << 56);
    case SpecialValue::nan:
      return static_cast<std::int64_t>(std::uint64_t{kSpecialEntryNan} << 56);
    case SpecialValue::uninit:
      return static_cast<std::int64_t>(std::uint64_t{kSpecialEntryUninit} << 56);
    default:
      throw_errno(EINVAL, "special value without an index entry");
  }
}

std::span<const std::int64_t> EntryReader::from(std::int64_t number) {
  const std::int64_t first = page_.first;
  if (number < first || number >= first + std::ssize(page_.entries))
    page_ = table_->read_page(table_->page_of(number), decoder_);
  return std::span(page_.entries).subspan(static_cast<std::size_t>(number - page_.first));
}

FrameEdit::FrameEdit(std::shared_ptr<const FrameSnapshot> base)
    : base_(std::move(base)),
      info_(base_->info()),
      kept_(info_.nchunks),
      kept_checksums_(readable_checksums(*base_)),
      keeps_checksums_(kept_checksums_ != nullptr) {
  for (const MetalayerEntry& entry : base_->vlmetalayers())
    if (entry.name != kChecksumLayerName)
      layers_.push_back({entry.name, entry, base_->source(), {}});
  for (const MetalayerEntry& entry : base_->metalayers())
    metalayers_.push_back({entry.name, entry, base_->source(), {}});
}

FrameEdit::FrameEdit(FrameInfo info, bool checksums)
    : info_(std::move(info)), keeps_checksums_(checksums) {}

void FrameEdit::check_chunk(std::int64_t number) const {
  if (info_.vl_blocks) throw_errno(EOPNOTSUPP, "chunks of a frame of VL blocks");
  if (number < 0 || number >= info_.nchunks)
    throw_errno(EINVAL, fmt::format("chunk {} of {}", number, info_.nchunks));
}

std::optional<PutChunk> FrameEdit::put(std::int64_t number, const PutChunk& chunk) {
  check_chunk(number);
  const auto [place, is_new] = chunks_.try_emplace(number, chunk);
  if (is_new) return std::nullopt;
  return std::exchange(place->second, chunk);
}

void FrameEdit::move_chunks(const std::map<std::int64_t, std::int64_t>& entries) {
  if (entries.empty()) return;
  for (auto& [number, chunk] : chunks_)
    if (const auto moved = entries.find(chunk.entry); moved != entries.end())
      chunk.entry = moved->second;
}

void FrameEdit::check_resizable() const {
  if (info_.variable_chunks) throw_errno(EOPNOTSUPP, "resizing a frame of variable-size chunks");
  if (info_.vl_blocks) throw_errno(EOPNOTSUPP, "resizing a frame of VL blocks");
}

std::vector<PutChunk> FrameEdit::resize(std::int64_t nbytes) {
  check_resizable();
  if (info_.has_blocked_array()) throw_errno(EINVAL, "resizing an array without a shape");
  return change_size(nbytes);
}

std::vector<PutChunk> FrameEdit::change_size(std::int64_t nbytes) {
  const std::int64_t count = checked_chunk_count(nbytes, info_.chunksize, keeps_checksums_);
  info_.nbytes = nbytes;
  info_.nchunks = count;
  // Dropped chunks do not come back. After 10 -> 3 -> 10 chunks, 3 are those of the base and 7 are
  // new.
  kept_ = std::min(kept_, count);
  std::vector<PutChunk> dropped;
  const auto first = chunks_.lower_bound(count);
  for (auto i = first; i != chunks_.end(); ++i)
    if (i->second.is_stored()) dropped.push_back(i->second);
  chunks_.erase(first, chunks_.end());
  return dropped;
}

void FrameEdit::set_chunksize(std::int32_t chunksize, std::int32_t blocksize) {
  check_resizable();
  if (info_.nbytes != 0 || info_.has_blocked_array())
    throw_errno(EINVAL, "another size of chunks for old contents");
  if (chunksize <= 0 || chunksize > codec::kMaxChunkNbytes || blocksize < 0 ||
      blocksize > codec::kMaxBlocksize)
    throw_errno(EINVAL, fmt::format("chunks of {} and blocks of {} bytes", chunksize, blocksize));
  info_.chunksize = chunksize;
  info_.blocksize = blocksize;
}

std::vector<PutChunk> FrameEdit::set_shape(const std::vector<std::int64_t>& shape) {
  check_resizable();
  if (!info_.has_blocked_array() || shape.size() != info_.array->shape.size())
    throw_errno(EINVAL, fmt::format("a shape of {} dimensions", shape.size()));
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; }))
    throw_errno(EINVAL, "negative shape");
  ArrayInfo array = *info_.array;
  array.shape = shape;
  ArraySizes sizes;
  try {
    sizes = array_sizes(array, info_.typesize);
  } catch (const codec::Error& error) {
    throw_errno(EINVAL, error.what());
  }
  // A change of any dimension but the first changes the numbers of chunks.
  const bool renumbers = !std::equal(shape.begin() + (shape.empty() ? 0 : 1), shape.end(),
                                     info_.array->shape.begin() + (shape.empty() ? 0 : 1));
  if (renumbers && info_.nbytes != 0 && sizes.nbytes != 0)
    throw_errno(EINVAL, "another shape behind the first dimension");
  if (info_.chunksize <= 0 || info_.nbytes == 0) {
    info_.chunksize = static_cast<std::int32_t>(sizes.chunksize);
    info_.blocksize = static_cast<std::int32_t>(sizes.blocksize);
  }
  std::vector<PutChunk> dropped = change_size(sizes.nbytes);
  info_.array = std::move(array);
  return dropped;
}

/// Adds up the sizes of the layers instead of laying them out, because a frame may have thousands.
void FrameEdit::put_vlmetalayer(Layer layer) {
  check_layer_name(layer.name);
  if (layer.name == kChecksumLayerName) throw_errno(EPERM, layer.name);
  SectionSize size;
  for (const Layer& known : layers_)
    if (known.name != layer.name) size.add(known.name, known.stored_size());
  size.add(layer.name, layer.stored_size());
  if (keeps_checksums_)
    size.add(kChecksumLayerName, static_cast<std::uint64_t>(TableWriter::max_stored_size(
                                     std::max<std::int64_t>(1, info_.nchunks))));
  check_trailer(size);
  put_layer(layers_, std::move(layer));
}

void FrameEdit::set_vlmetalayer(const std::string& name, std::vector<std::uint8_t> chunk) {
  put_vlmetalayer({name, std::nullopt, nullptr, std::move(chunk)});
}

void FrameEdit::copy_vlmetalayer(std::shared_ptr<const ByteSource> source,
                                 const MetalayerEntry& entry) {
  put_vlmetalayer({entry.name, entry, std::move(source), {}});
}

void FrameEdit::set_metalayer(const std::string& name, codec::Bytes content) {
  check_layer_name(name);
  if (!base_) throw_errno(EINVAL, name + ": the settings of a new frame have its metalayers");
  if (defines_frame_kind(name)) throw_errno(EPERM, name);
  // Tries the layout with a copy, so that a header that would be too large changes nothing.
  std::vector<Layer> layers = metalayers_;
  put_layer(layers, {name, std::nullopt, nullptr, {content.begin(), content.end()}});
  lay_out_header(sizes_of(layers));
  metalayers_ = std::move(layers);
  changes_metalayers_ = true;
}

bool FrameEdit::remove_metalayer(const std::string& name) {
  if (defines_frame_kind(name)) throw_errno(EPERM, name);
  const auto is_wanted = [&](const Layer& layer) { return layer.name == name; };
  if (std::erase_if(metalayers_, is_wanted) == 0) return false;
  changes_metalayers_ = true;
  return true;
}

bool FrameEdit::remove_vlmetalayer(const std::string& name) {
  if (name == kChecksumLayerName) {
    kept_checksums_.reset();
    return std::exchange(keeps_checksums_, false);
  }
  return std::erase_if(layers_, [&](const Layer& layer) { return layer.name == name; }) > 0;
}

std::int32_t FrameEdit::fixed_nbytes(const FrameInfo& info, std::int64_t number) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(info.chunksize, info.nbytes - number * info.chunksize));
}

std::int32_t FrameEdit::variable_nbytes(std::int64_t number, codec::BlockDecoder& decoder) const {
  const std::int64_t entry = EntryReader(*base_, decoder)[number];
  if (entry >= 0) return base_->read_header(base_->place_of(entry, number)).nbytes;
  // Only the sizes of all other chunks give the size of a special chunk.
  const auto map = base_->read_chunk_map(kMaxMapMemory, decoder);
  const std::int64_t page = base_->page_of_chunk(number, map.get());
  return base_->read_page(page, map.get(), decoder)->place(number).nbytes;
}

std::int32_t FrameEdit::chunk_nbytes(std::int64_t number, codec::BlockDecoder& decoder) const {
  check_chunk(number);
  return info_.variable_chunks ? variable_nbytes(number, decoder) : fixed_nbytes(info_, number);
}

/// True if a chunk of the base, which was not put, keeps its decoded size.
bool FrameEdit::keeps_size(std::int64_t number) const {
  return fixed_nbytes(info_, number) == fixed_nbytes(base_->info(), number);
}

std::optional<std::int32_t> FrameEdit::partial_zeros(codec::BlockDecoder& decoder) const {
  if (info_.variable_chunks || info_.nchunks == 0) return std::nullopt;
  const std::int64_t number = info_.nchunks - 1;
  const std::int32_t nbytes = fixed_nbytes(info_, number);
  if (nbytes % info_.typesize == 0) return std::nullopt;
  std::int64_t entry = special_entry(SpecialValue::zero);
  if (const auto put = chunks_.find(number); put != chunks_.end())
    entry = put->second.entry;
  else if (number < kept_ && keeps_size(number))
    return std::nullopt;
  else if (number < kept_)
    entry = EntryReader(*base_, decoder)[number];
  if (entry >= 0 || !reads_as_zeros(entry)) return std::nullopt;
  return nbytes;
}

/// Throws EINVAL if a chunk of the base changes its size and was not put, unless it reads as zeros.
void FrameEdit::check_boundary(std::int64_t number, codec::BlockDecoder& decoder) const {
  // Only the last chunk of the old state and the last chunk of the new one can change their size.
  if (number < 0 || number >= kept_ || chunks_.count(number) != 0 || keeps_size(number)) return;
  const std::int64_t entry = EntryReader(*base_, decoder)[number];
  if (entry >= 0 || !reads_as_zeros(entry))
    throw_errno(EINVAL, fmt::format("chunk {} has to be put: its size changes to {}", number,
                                    fixed_nbytes(info_, number)));
}

void FrameEdit::check_sizes(codec::BlockDecoder& decoder) const {
  for (const auto& [number, chunk] : chunks_) {
    const std::int32_t wanted = chunk_nbytes(number, decoder);
    if (chunk.is_stored() && chunk.nbytes != wanted)
      throw_errno(info_.variable_chunks ? EOPNOTSUPP : EINVAL,
                  fmt::format("chunk {} has {} bytes instead of {}", number, chunk.nbytes, wanted));
    if (!chunk.is_stored() && !reads_as_zeros(chunk.entry) && wanted % info_.typesize != 0)
      throw_errno(EINVAL, fmt::format("chunk {}: {} bytes of NaNs", number, wanted));
  }
  if (!base_ || info_.variable_chunks) return;
  check_boundary(base_->info().nchunks - 1, decoder);
  check_boundary(info_.nchunks - 1, decoder);
}

}  // namespace bloscfs::frame::inline editing
