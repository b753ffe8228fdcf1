#pragma once
// The changes of a transaction: chunks, size, shape, metalayers. Checks them, but does not write
// them, and does not know where chunks are stored.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame::inline editing {

/// A chunk that the transaction has put.
struct PutChunk {
  std::int64_t entry = 0;   ///< index entry
  std::int32_t nbytes = 0;  ///< decoded; 0 for a special entry
  std::int32_t cbytes = 0;  ///< stored; 0 for a special entry
  std::uint64_t checksum = 0;
  bool is_stored() const { return entry >= 0; }
};

/// Returns the index entry of a special chunk without stored bytes.
std::int64_t special_entry(codec::SpecialValue value);

class FrameEdit {
 public:
  /// Begins an edit of a committed state.
  explicit FrameEdit(std::shared_ptr<const FrameSnapshot> base);
  /// Begins an edit of a new frame. `info` is its first state, in which all chunks are zero.
  FrameEdit(FrameInfo info, bool checksums);

  const FrameInfo& info() const { return info_; }
  /// Null for a new frame.
  const std::shared_ptr<const FrameSnapshot>& base() const { return base_; }

  // --- changes; errors as in Transaction. put(), resize() and set_shape() return chunks that were
  // put before and that the edit no longer needs.

  /// Throws unless `number` exists and its chunk may be put.
  void check_chunk(std::int64_t number) const;
  std::optional<PutChunk> put(std::int64_t number, const PutChunk& chunk);
  /// Replaces index entries of chunks that were put: old entry to new entry.
  void move_chunks(const std::map<std::int64_t, std::int64_t>& entries);
  std::vector<PutChunk> resize(std::int64_t nbytes);
  void set_chunksize(std::int32_t chunksize, std::int32_t blocksize);
  std::vector<PutChunk> set_shape(const std::vector<std::int64_t>& shape);
  /// `chunk` is the stored chunk that holds the content.
  void set_vlmetalayer(const std::string& name, std::vector<std::uint8_t> chunk);
  /// Adds the vlmetalayer that `entry` describes in another frame, whose file is `source`: copies
  /// its stored chunk as it is.
  void copy_vlmetalayer(std::shared_ptr<const ByteSource> source, const MetalayerEntry& entry);
  bool remove_vlmetalayer(const std::string& name);
  void set_metalayer(const std::string& name, codec::Bytes content);
  bool remove_metalayer(const std::string& name);

  // --- the outcome

  /// Returns the decoded size of the last chunk if its index entry would mean zeros that end within
  /// an item; otherwise nullopt.
  std::optional<std::int32_t> partial_zeros(codec::BlockDecoder& decoder) const;
  /// Throws std::system_error(EINVAL), naming the chunk, if a stored chunk has a wrong decoded size
  /// or if NaNs end within an item. For a wrong size in a variable-size frame, throws EOPNOTSUPP.
  void check_sizes(codec::BlockDecoder& decoder) const;
  const std::map<std::int64_t, PutChunk>& chunks() const { return chunks_; }
  /// Chunks of the base from this number on are gone. New chunks may have these numbers.
  std::int64_t kept() const { return kept_; }
  /// Returns the decoded size that the frame requires. In variable-size frames this is the size of
  /// the base's chunk.
  std::int32_t chunk_nbytes(std::int64_t number, codec::BlockDecoder& decoder) const;
  /// Calls visit(number, entry) for every stored chunk of the base that the edit drops or replaces.
  /// Skips special chunks: they have no stored bytes, and a header may claim many millions of them.
  template <typename Visit>
  void for_each_superseded(codec::BlockDecoder& decoder, const Visit& visit) const;

  struct Layer {
    std::string name;
    /// Where the layer is stored; nullopt if it is new.
    std::optional<MetalayerEntry> kept;
    std::shared_ptr<const ByteSource> source;  ///< the frame's file that holds it; null: new
    std::vector<std::uint8_t> stored;  ///< a vlmetalayer's chunk, or a fixed metalayer's content
    std::uint64_t stored_size() const { return kept ? kept->stored_size : stored.size(); }
  };
  /// The vlmetalayers without bloscfs.xxh3.
  const std::vector<Layer>& vlmetalayers() const { return layers_; }
  /// The fixed metalayers, in order. Empty for a new frame, whose settings list them.
  const std::vector<Layer>& metalayers() const { return metalayers_; }
  /// True if a fixed metalayer was set or removed, so that the header must be written anew.
  bool changes_metalayers() const { return changes_metalayers_; }
  /// True if the new state has checksums. False also if those of the base cannot be read, because
  /// computing them for all chunks would cost more than the edit.
  bool keeps_checksums() const { return keeps_checksums_; }
  /// The checksums of the base, if it has some and the edit keeps them.
  const std::shared_ptr<const PagedTable>& kept_checksums() const { return kept_checksums_; }

 private:
  void check_resizable() const;
  void put_vlmetalayer(Layer layer);
  std::vector<PutChunk> change_size(std::int64_t nbytes);
  void check_boundary(std::int64_t number, codec::BlockDecoder& decoder) const;
  std::int32_t variable_nbytes(std::int64_t number, codec::BlockDecoder& decoder) const;
  static std::int32_t fixed_nbytes(const FrameInfo& info, std::int64_t number);
  bool keeps_size(std::int64_t number) const;

  std::shared_ptr<const FrameSnapshot> base_;
  FrameInfo info_;
  std::map<std::int64_t, PutChunk> chunks_;
  std::int64_t kept_ = 0;
  std::vector<Layer> layers_;
  std::vector<Layer> metalayers_;
  bool changes_metalayers_ = false;
  std::shared_ptr<const PagedTable> kept_checksums_;
  bool keeps_checksums_ = false;
};

std::vector<LayerSize> sizes_of(const std::vector<FrameEdit::Layer>& layers);

/// Reads entries of a snapshot's index. Keeps one page of the index, so the caller should ask in
/// ascending order.
class EntryReader {
 public:
  EntryReader(const FrameSnapshot& snapshot, codec::BlockDecoder& decoder)
      : table_(snapshot.index()), decoder_(decoder) {}
  std::int64_t operator[](std::int64_t number) { return from(number).front(); }
  /// Returns the entries from `number` to the end of its page. Valid until the next call.
  std::span<const std::int64_t> from(std::int64_t number);

 private:
  std::shared_ptr<const PagedTable> table_;
  codec::BlockDecoder& decoder_;
  TablePage page_;
};

template <typename Visit>
void FrameEdit::for_each_superseded(codec::BlockDecoder& decoder, const Visit& visit) const {
  if (!base_ || base_->info().nchunks == 0) return;
  if (const auto only = base_->index()->uniform_entry(); only && *only < 0) return;
  EntryReader entries(*base_, decoder);
  const auto visit_stored = [&](std::int64_t number, std::int64_t entry) {
    if (entry >= 0) visit(number, entry);
  };
  for (auto i = chunks_.begin(); i != chunks_.end() && i->first < kept_; ++i)
    visit_stored(i->first, entries[i->first]);
  for (std::int64_t number = kept_; number < base_->info().nchunks;)
    for (const std::int64_t entry : entries.from(number)) visit_stored(number++, entry);
}

}  // namespace bloscfs::frame::inline editing
