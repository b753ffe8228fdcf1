// b2frame set-meta: sets and removes vlmetalayers.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/error.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_file.hpp"
#include "tools/input.hpp"
#include "tools/metalayer_file.hpp"

namespace bloscfs::tools {
namespace {

int set_meta(const SetMetaOptions& options) {
  // Nullopt removes a layer. Contents are read here, because edit_frame() may repeat the edit, but
  // a pipe can be read only once.
  std::vector<std::pair<std::string, std::optional<std::vector<std::uint8_t>>>> wanted;
  for (const NamedLayer& layer : options.vlmetalayers) {
    wanted.emplace_back(layer.name, std::nullopt);
    if (layer.content || !layer.file.empty()) wanted.back().second = content_of(layer);
  }
  edit_frame(options.file, [&](frame::FrameWriter& writer) {
    const auto transaction = writer.begin();
    for (const auto& [name, content] : wanted) {
      if (content)
        transaction->set_vlmetalayer(name, *content);
      else if (!transaction->remove_vlmetalayer(name))
        codec::throw_malformed("no vlmetalayer " + name);
    }
    transaction->commit();
  });
  return 0;
}

}  // namespace

int run_set_meta(const SetMetaOptions& options) {
  return guarded(options.file, [&] { return set_meta(options); });
}

}  // namespace bloscfs::tools
