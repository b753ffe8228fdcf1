#pragma once
// Names of codecs and filters, as attributes, options and messages spell them.

#include <string>
#include <string_view>

#include "codec/chunk_format.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {

/// Lower-case name ("lz4hc", "zfp_rate"), or "codec<N>" where none is known.
std::string codec_name(CodecId id);

/// Lower-case name ("shuffle", "trunc_prec", "bytedelta_old"), or "filter<N>" where none is known.
std::string filter_name(FilterId id);

/// The codecs that we write and that lose no more than `most`, with their parameters, as a sentence
/// lists them: "blosclz, lz4, lz4hc, zlib, zstd or ndlz:SIDE" with the conjunction "or".
std::string list_written_codecs(std::string_view conjunction, Loss most = Loss::every_time);

/// Those of them that take a dictionary.
std::string list_dictionary_codecs(std::string_view conjunction);

/// The same of filters: "shuffle, ... and int_trunc:BITS".
std::string list_written_filters(std::string_view conjunction, Loss most = Loss::every_time);

}  // namespace bloscfs::codec
