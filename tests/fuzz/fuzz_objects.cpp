// Lists of objects: the metalayer that describes a list, and one of its documents. The result is
// JSON.

#include "frame/header/msgpack_json.hpp"
#include "frame/header/object_list.hpp"
#include "tests/fuzz/frame_walk.hpp"

namespace {

using namespace bloscfs::frame;

/// The first byte chooses the form of the list. The second one says how much of the rest is the
/// metalayer.
constexpr std::size_t kChoices = 2;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kChoices) return 0;
  const Bytes rest(data + kChoices, size - kChoices);
  const std::size_t described = std::min<std::size_t>(data[1], rest.size());
  ObjectList list;
  if ((data[0] & 1) != 0) list.layout = ObjectList::Layout::batch_in_block;
  if ((data[0] & 2) != 0) list.serializer = ObjectList::Serializer::json;
  fuzz::tolerate([&] {
    const char* name = (data[0] & 1) != 0 ? "batcharray" : "vlarray";
    if (const auto found = parse_object_list(name, rest.first(described))) list = *found;
  });
  fuzz::tolerate([&] {
    for (const auto& object : objects_of(list, rest.subspan(described))) {
      const std::string line = to_line(object);
      const Bytes text(reinterpret_cast<const std::uint8_t*>(line.data()), line.size());
      if (line.find('\n') != std::string::npos || !parse_json(text)) std::abort();
    }
  });
  return 0;
}
