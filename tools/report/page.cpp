#include "tools/report/page.hpp"

#include <array>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "tools/report/assets.hpp"
#include "tools/report/chunk_map.hpp"
#include "tools/report/words.hpp"

namespace bloscfs::tools {
namespace {

void write_text(const std::string& text, OutputFile& out) {
  out.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// Returns a mark and a word, so that the meaning does not depend on colour alone.
Markup badge(Health health) {
  switch (health) {
    case Health::ok:
      return markup("<span class=\"badge good\">&#10003; sound</span>");
    case Health::unsupported:
      return markup("<span class=\"badge warn\">? not supported here</span>");
    case Health::too_large:
      return markup("<span class=\"badge warn\">! too large</span>");
    case Health::unreadable:
      return markup("<span class=\"badge warn\">! unreadable</span>");
    case Health::no_contents:
      return markup("<span class=\"badge warn\">&#9675; without contents</span>");
    case Health::damaged:
      break;
  }
  return markup("<span class=\"badge bad\">&#10007; damaged</span>");
}

}  // namespace

Page::Page() : sections_(std::tmpfile()) {
  if (!sections_) frame::throw_errno();
}

std::string Page::next_id() const { return fmt::format("frame-{}", contents_.size() + 1); }

void Page::add(const Section& section) {
  const std::string id = next_id();
  const std::string text =
      markup(
          "<section id=\"{}\" aria-labelledby=\"{}-name\">\n<header><h2 id=\"{}-name\">{}</h2>{}"
          "</header>\n{}</section>\n",
          id, id, id, section.file, badge(section.health), section.body)
          .text();
  if (std::fwrite(text.data(), 1, text.size(), sections_.get()) != text.size())
    frame::throw_errno();
  contents_.push_back({id, section.file, section.summary, section.health});
}

Markup Page::head(const std::string& title) const {
  Markup out;
  out.add(
      "<!DOCTYPE html>\n"
      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{}</title>\n<style>",
      assets::style_digest, assets::script_digest, title);
  return out;
}

Markup Page::contents() const {
  Markup out;
  if (contents_.size() < 2) return out;
  out.add("<nav aria-label=\"Contents\"><ol>\n");
  for (const Entry& entry : contents_)
    out.add(
        "<li><a href=\"#{}\">{}</a> {}{}</li>\n", entry.id, entry.file, badge(entry.health),
        entry.summary.empty() ? Markup() : markup(" <span class=\"why\">{}</span>", entry.summary));
  out.add("</ol></nav>\n");
  return out;
}

void Page::write(const std::string& program, OutputFile& out) {
  const std::string title = contents_.size() == 1
                                ? contents_.front().file
                                : counted(std::ssize(contents_), "frame", "frames");
  write_text(head(title).text(), out);
  write_text(std::string(assets::style), out);
  write_text(
      markup("</style>\n</head>\n<body>\n{}<a class=\"skip\" href=\"#main\">To the report</a>\n"
             "<header class=\"page\"><h1>Report on {}</h1></header>\n{}<main id=\"main\">\n",
             chunk_map_shapes(), contents_.size() == 1 ? std::string("a Blosc2 frame") : title,
             contents())
          .text(),
      out);
  copy_sections(out);
  write_text(markup("</main>\n<footer>Made on {} UTC by {}.</footer>\n<script>",
                    fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr))), program)
                 .text(),
             out);
  write_text(std::string(assets::script), out);
  write_text("</script>\n</body>\n</html>\n", out);
}

void Page::copy_sections(OutputFile& out) {
  if (std::fflush(sections_.get()) != 0) frame::throw_errno();
  std::rewind(sections_.get());
  std::array<std::uint8_t, 1 << 16> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), sections_.get()))
    out.write(codec::Bytes(piece).first(size));
  if (std::ferror(sections_.get()) != 0) frame::throw_errno();
}

}  // namespace bloscfs::tools
