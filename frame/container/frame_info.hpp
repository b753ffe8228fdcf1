#pragma once
// The fields of a container's header that all kinds of containers share.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/block_shape.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::frame::inline container {

/// Used by this layer only. Other layers call the functions of FrameInfo.
enum class ContainerKind { cframe, sframe, bloscpack };

/// Shape and element type of an n-dimensional array. The source is a b2nd metalayer, the
/// vlmetalayer of a packed tensor, or Bloscpack's NumPy metadata.
struct ArrayInfo {
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> chunkshape;  ///< b2nd only
  std::vector<std::int32_t> blockshape;  ///< b2nd only
  std::optional<std::string> dtype;      ///< as stored; "<f8" or the repr of a structured dtype
  bool fortran_order = false;            ///< the mount shows the elements in Fortran order
  /// True if the contents are the elements in order, without blocks and padding.
  bool in_order = false;
};

struct FrameInfo {
  ContainerKind kind = ContainerKind::cframe;
  int format_version = 0;      ///< version of the frame format, or of Bloscpack's
  std::int32_t typesize = 1;   ///< bytes of an item; may exceed 255
  std::int32_t chunksize = 0;  ///< header field; 0: variable, -1: no chunk yet or unknown
  std::int32_t blocksize = 0;  ///< header field; 0: automatic
  std::int64_t nbytes = 0;     ///< decoded bytes of all chunks, array padding included
  std::int64_t cbytes = 0;     ///< header field; Bloscpack: stored bytes of the chunks
  std::int64_t nchunks = 0;
  std::int64_t header_len = 0;
  std::int64_t frame_len = 0;  ///< stored bytes of the container's own file
  std::int64_t trailer_len = 0;
  bool variable_chunks = false;
  bool vl_blocks = false;  ///< flag of the header; each chunk decides for itself
  int splitmode = 0;       ///< 1 always, 2 never, 3 auto, 4 forward-compatible; frames only
  bool use_dict = false;
  /// Defaults for new chunks; absent in Bloscpack.
  std::optional<codec::CodecId> codec;
  std::uint8_t codec_meta = 0;
  int clevel = 0;
  std::array<codec::FilterStep, 8> filters{};  ///< six are used, eight in the early layout
  std::string checksum;  ///< Bloscpack's digest kind ("adler32"); empty if there is none
  std::optional<ArrayInfo> array;
  codec::BlockShape block_shape;  ///< of the array, if codecs and filters may use it

  /// Returns the name of the kind that programs print: "cframe", "sframe", "bloscpack".
  const char* kind_name() const;
  /// True for kinds that have Blosc2's frame header, and so its defaults for new chunks.
  bool is_frame() const { return kind != ContainerKind::bloscpack; }
  /// True for kinds that bloscfs cannot write.
  bool is_read_only() const { return kind == ContainerKind::bloscpack; }
  /// True if the container is a directory that has an index file and a file for each chunk.
  bool is_directory() const { return kind == ContainerKind::sframe; }
  /// Returns the stored bytes of all files of the container.
  std::int64_t stored_bytes() const { return frame_len + (is_directory() ? cbytes : 0); }
  /// True if the chunks are padded pieces of an array, which are cut into blocks.
  bool has_blocked_array() const { return array && !array->in_order; }
  /// True for a flat frame that holds the elements of an array (frame/header/packed_tensor.hpp).
  bool has_packed_tensor() const { return is_frame() && array && array->in_order; }
};

}  // namespace bloscfs::frame::inline container
