#pragma once
// Names of codecs and filters, as in attributes, options and messages.

#include <string>
#include <string_view>

#include "codec/chunk_format.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {

/// Returns the lower-case name ("lz4hc", "zfp_rate"), or "codec<N>" if it is unknown.
std::string codec_name(CodecId id);

/// Returns the lower-case name ("shuffle", "trunc_prec", "bytedelta_old"), or "filter<N>" if it is
/// unknown.
std::string filter_name(FilterId id);

/// Returns a list of codecs that can be written and lose at most `most`, with their parameters.
/// With the conjunction "or": "blosclz, lz4, lz4hc, zlib, zstd or ndlz:SIDE".
std::string list_written_codecs(std::string_view conjunction, Loss most = Loss::every_time);

/// Returns a list of codecs that can be written and take a dictionary.
std::string list_dictionary_codecs(std::string_view conjunction);

/// Returns a list of filters that can be written and lose at most `most`: "shuffle, ... and
/// int_trunc:BITS".
std::string list_written_filters(std::string_view conjunction, Loss most = Loss::every_time);

}  // namespace bloscfs::codec
