// Index pages of web servers, from arbitrary bytes. The first byte chooses the type of the page.

#include <cstddef>
#include <cstdint>

#include "frame/remote/index_names.hpp"
#include "frame/remote/index_page.hpp"
#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  if (size == 0) return 0;
  const char* const types[] = {"text/html", "application/json", ""};
  static const Url url = parse_url("http://host.example/a%20b/");
  try {
    const auto entries = parse_index_page(url, types[data[0] % 3], Bytes(data + 1, size - 1));
    const ObjectEntry* before = nullptr;
    for (const ObjectEntry& entry : entries) {
      const bool is_sorted = before == nullptr || before->name < entry.name;
      const std::string encoded = percent_encoded(entry.name);
      if (!is_sorted || !is_entry_name(entry.name) || percent_decoded(encoded) != entry.name)
        __builtin_trap();
      before = &entry;
    }
  } catch (const RemoteError&) {
  }
  return 0;
}
