#pragma once
// A request to blosc2_writer, as JSON on its command line. All fields have defaults.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bloscfs::test {

struct PeerRequest {
  std::string action = "write";  ///< "write", or "append" to an existing frame
  std::string path;
  std::string readback;  ///< path for the contents as the peer reads them back; may be empty
  bool contiguous = true;
  int codec = 0;  ///< C-Blosc2's number: blosclz, lz4, lz4hc, 3 is none, zlib, zstd
  int level = 5;
  int splitmode = 4;
  std::vector<std::pair<int, int>> filters;  ///< id and parameter, in the last of six slots
  int typesize = 1;
  int blocksize = 0;
  int chunksize = 65536;
  std::string kind = "ramp";  ///< see contents.hpp
  std::uint64_t seed = 1;
  std::int64_t nbytes = 0;  ///< of the contents; for arrays: items times typesize
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> chunkshape, blockshape;
  std::string dtype;                                ///< empty for a flat frame
  std::map<std::string, std::string> meta, vlmeta;  ///< name to content in hex
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PeerRequest, action, path, readback, contiguous,
                                                codec, level, splitmode, filters, typesize,
                                                blocksize, chunksize, kind, seed, nbytes, shape,
                                                chunkshape, blockshape, dtype, meta, vlmeta)

}  // namespace bloscfs::test
