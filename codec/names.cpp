#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

std::string numbered(const char* kind, unsigned id) { return kind + std::to_string(id); }

}  // namespace

std::string codec_name(CodecId id) {
  switch (id) {
    case CodecId::blosclz:
      return "blosclz";
    case CodecId::lz4:
      return "lz4";
    case CodecId::lz4hc:
      return "lz4hc";
    case CodecId::snappy:
      return "snappy";
    case CodecId::zlib:
      return "zlib";
    case CodecId::zstd:
      return "zstd";
    case CodecId::ndlz:
      return "ndlz";
    case CodecId::zfp_accuracy:
      return "zfp_accuracy";
    case CodecId::zfp_precision:
      return "zfp_precision";
    case CodecId::zfp_rate:
      return "zfp_rate";
    case CodecId::openhtj2k:
      return "openhtj2k";
    case CodecId::grok:
      return "grok";
    case CodecId::openzl:
      return "openzl";
    case CodecId::j2k:
      return "j2k";
    case CodecId::htj2k:
      return "htj2k";
  }
  return numbered("codec", static_cast<unsigned>(id));
}

std::string filter_name(FilterId id) {
  switch (id) {
    case FilterId::none:
      return "none";
    case FilterId::shuffle:
      return "shuffle";
    case FilterId::bitshuffle:
      return "bitshuffle";
    case FilterId::delta:
      return "delta";
    case FilterId::trunc_prec:
      return "trunc_prec";
    case FilterId::ndcell:
      return "ndcell";
    case FilterId::ndmean:
      return "ndmean";
    case FilterId::bytedelta_old:
      return "bytedelta_old";
    case FilterId::bytedelta:
      return "bytedelta";
    case FilterId::int_trunc:
      return "int_trunc";
  }
  return numbered("filter", static_cast<unsigned>(id));
}

}  // namespace bloscfs::codec
