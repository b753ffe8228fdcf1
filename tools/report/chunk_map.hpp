#pragma once
// Shows the chunks of a frame as a picture, a legend and a table, and their ratios as a histogram.

#include <string>

#include "fs/survey/chunk_survey.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Returns the map of a survey that has chunks. `id` is the prefix of the ids of its elements.
Markup chunk_map(const fs::ChunkSurvey& survey, const std::string& id);

/// Returns a sentence about the only chunk of a frame.
Markup one_chunk(const fs::ChunkSurvey& survey);

/// Returns the histogram of the stored chunks. Returns a sentence if their ratios hardly differ,
/// and nothing if no chunk is stored.
Markup ratio_histogram(const fs::ChunkSurvey& survey);

/// Returns the shapes that the maps refer to. They must stand on the page once, before the maps.
Markup chunk_map_shapes();

}  // namespace bloscfs::tools
