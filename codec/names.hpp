#pragma once
// Names of codecs and filters, as attributes, options and messages spell them.

#include <string>

#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// Lower-case name ("lz4hc", "zfp_rate"), or "codec<N>" where none is known.
std::string codec_name(CodecId id);

/// Lower-case name ("shuffle", "trunc_prec", "bytedelta_old"), or "filter<N>" where none is known.
std::string filter_name(FilterId id);

}  // namespace bloscfs::codec
