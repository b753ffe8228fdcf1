#pragma once
// Chunks that bloscfs has encoded, in a MessagePack file for the peers to decode.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct EncodeRecord {
  std::string label;
  std::int32_t typesize = 1;  ///< the one in the header
  std::int32_t blocksize = 1;
  bool items = false;  ///< can be decoded item by item too
  ByteVector chunk;
  ByteVector contents;
};

inline void to_json(nlohmann::json& json, const EncodeRecord& record) {
  json = {record.label,
          record.typesize,
          record.blocksize,
          record.items,
          nlohmann::json::binary(record.chunk),
          nlohmann::json::binary(record.contents)};
}

inline void from_json(const nlohmann::json& json, EncodeRecord& record) {
  json.at(0).get_to(record.label);
  json.at(1).get_to(record.typesize);
  json.at(2).get_to(record.blocksize);
  json.at(3).get_to(record.items);
  record.chunk = json.at(4).get_binary();
  record.contents = json.at(5).get_binary();
}

}  // namespace bloscfs::test
