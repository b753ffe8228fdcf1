#pragma once
// The chunks of a frame as a picture, a legend and a table, and their ratios as a histogram.

#include <string>

#include "fs/survey/chunk_survey.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// `id` begins the ids of elements. Of a survey that has chunks.
Markup chunk_map(const fs::ChunkSurvey& survey, const std::string& id);

/// Of stored chunks; empty where there are none.
Markup ratio_histogram(const fs::ChunkSurvey& survey);

/// Shapes that maps refer to; once on a page, before them.
Markup chunk_map_shapes();

}  // namespace bloscfs::tools
