#pragma once
// The chunks of a frame as a picture, a legend and a table, and their ratios as a histogram.

#include <string>

#include "fs/survey/chunk_survey.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// `id` begins the ids of elements. Of a survey that has chunks.
Markup chunk_map(const fs::ChunkSurvey& survey, const std::string& id);

/// A sentence on the only chunk of a frame.
Markup one_chunk(const fs::ChunkSurvey& survey);

/// Of stored chunks: a sentence where their ratios hardly differ, and nothing where there are none.
Markup ratio_histogram(const fs::ChunkSurvey& survey);

/// Shapes that maps refer to; once on a page, before them.
Markup chunk_map_shapes();

}  // namespace bloscfs::tools
