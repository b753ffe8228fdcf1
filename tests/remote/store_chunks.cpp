#include "tests/remote/store_chunks.hpp"

#include <memory>

#include "frame/sframe/shared_frames.hpp"
#include "frame/store/sframe_names.hpp"
#include "tests/remote/rgw.hpp"

namespace bloscfs::test {

Chunks chunks_of(const StorePlace& place) {
  Chunks chunks;
  const auto frames = std::make_shared<frame::ObjectFrames>(
      std::shared_ptr<frame::ObjectTree>(&place.tree(), [](frame::ObjectTree*) {}),
      [](const std::string&) {});
  for (const auto& [path, state] : place.objects()) {
    if (path.ends_with(".chunk")) chunks.present.insert(path);
    if (!path.ends_with("/chunks.b2frame") || state.size == 0) continue;
    for (const std::string& chunk :
         frame::chunks_of_shared_frame(*frames, path.substr(0, path.rfind('/'))))
      chunks.named.insert(chunk);
  }
  return chunks;
}

ProcessResult collect(const StorePlace& place, const Arguments& options) {
  Arguments arguments{b2frame_program(), "gc", "--endpoint", shared_rgw().endpoint()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(place.source());
  ProcessSettings settings;
  settings.limit = Seconds(600);
  settings.environment = place.environment();
  return run(arguments, settings);
}

}  // namespace bloscfs::test
