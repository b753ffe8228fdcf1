#pragma once
// What is found out about a container for its report, in bounded work.

#include <cstdint>
#include <vector>

#include "fs/survey/array_slice.hpp"
#include "fs/survey/chunk_survey.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {

/// Findings that are listed; of more, which only a hostile file has, the number is told.
inline constexpr std::size_t kListedFindings = 100;

struct Examination {
  explicit Examination(fs::ChunkSurvey chunks) : survey(std::move(chunks)) {}

  fs::ChunkSurvey survey;
  std::vector<Finding> findings;  ///< the first kListedFindings
  std::int64_t found = 0;         ///< all of them
  Health worst = Health::ok;
  std::int64_t step = 1;  ///< every `step`th chunk was decoded
};

/// Reads the headers of chunks and decodes them, of very large frames, and of those that are far
/// away, a sample. Errors: std::system_error, Error of an index that cannot be read.
Examination examine(Input& input);

/// What pictures of its array may cost.
fs::PictureLimits picture_limits(const Input& input);

}  // namespace bloscfs::tools
