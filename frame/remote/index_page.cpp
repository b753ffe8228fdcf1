#include "frame/remote/index_page.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <fmt/core.h>

#include "frame/remote/html_links.hpp"
#include "frame/remote/json_index.hpp"
#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

/// Returns the media type in lower case, without parameters.
std::string media_type(std::string_view type) {
  std::string result(type.substr(0, type.find_first_of("; \t")));
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

/// Guesses the type of a page without a Content-Type.
std::string guessed_type(Bytes page) {
  const auto is_space = [](std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  const auto first = std::find_if_not(page.begin(), page.end(), is_space);
  if (first == page.end()) return {};
  if (*first == '<') return "text/html";
  return *first == '[' ? "application/json" : std::string();
}

}  // namespace

void read_index_page(std::string_view type, Bytes page, IndexNames& names) {
  if (page.size() > kMaxIndexPage)
    throw RemoteError(EFBIG, fmt::format("an index page of more than {} bytes", kMaxIndexPage));
  const std::string kind = type.empty() ? guessed_type(page) : media_type(type);
  if (kind == "text/html" || kind == "application/xhtml+xml")
    for_each_link(page, [&](std::string_view target) { names.add_link(target); });
  else if (kind == "application/json" || kind == "text/json")
    read_json_index(page, names);
  else
    throw RemoteError(ENOTDIR, "the answer is not an index page: it is neither HTML nor JSON");
}

std::vector<ObjectEntry> parse_index_page(const Url& url, std::string_view type, Bytes page) {
  IndexNames names(url, *uncharged());
  read_index_page(type, page, names);
  return names.entries();
}

}  // namespace bloscfs::frame::inline remote
