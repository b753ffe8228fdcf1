#pragma once
// Examines a container for its report, with bounded work.

#include <cstdint>
#include <vector>

#include "fs/survey/array_slice.hpp"
#include "fs/survey/chunk_survey.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {

/// Limit for listed findings, for hostile files. Further findings are only counted.
inline constexpr std::size_t kListedFindings = 100;

struct Examination {
  explicit Examination(fs::ChunkSurvey chunks) : survey(std::move(chunks)) {}

  fs::ChunkSurvey survey;
  std::vector<Finding> findings;  ///< the first kListedFindings
  std::int64_t found = 0;         ///< number of all findings
  Health worst = Health::ok;
  std::int64_t step = 1;  ///< only every `step`th chunk was decoded
};

/// Reads the headers of chunks and decodes the chunks. Takes only a sample if the frame is very
/// large or remote. Throws std::system_error; Error if the index cannot be read.
Examination examine(Input& input);

/// Returns the limits for the pictures of the array in `input`.
fs::PictureLimits picture_limits(const Input& input);

}  // namespace bloscfs::tools
