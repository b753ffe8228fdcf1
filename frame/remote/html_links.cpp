#include "frame/remote/html_links.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>

#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

/// Limits are checked after each piece, so the parser exceeds them by one piece's work at most.
constexpr std::size_t kHtmlPiece = std::size_t{16} << 10;
/// The parser takes time for each open element, and for each pair of attributes.
constexpr int kMaxOpenElements = 256, kMaxAttributes = 64;
/// Most elements and markup errors of a page together. The parser formats a message for each error.
constexpr std::size_t kMaxSteps = 4'000'000;
/// The parser keeps an incomplete tag, comment or the like until its end has come.
constexpr std::size_t kMaxUnparsed = std::size_t{128} << 10;

struct FreeHtmlParser {
  void operator()(htmlParserCtxt* parser) const { ::htmlFreeParserCtxt(parser); }
};

class LinkReader {
 public:
  explicit LinkReader(const std::function<void(std::string_view)>& visit) : visit_(visit) {
    static const bool ready = (::xmlInitParser(), true);
    static_cast<void>(ready);
    htmlSAXHandler handler{};
    handler.initialized = XML_SAX2_MAGIC;
    handler.startElement = [](void* self, const xmlChar* name, const xmlChar** attributes) {
      static_cast<LinkReader*>(self)->on_element(name, attributes);
    };
    handler.endElement = [](void* self, const xmlChar*) {
      static_cast<LinkReader*>(self)->open_elements_--;
    };
    // The second parameter's type differs between releases of libxml2.
    handler.serror = [](void* self, auto) { static_cast<LinkReader*>(self)->take_step(); };
    parser_.reset(
        ::htmlCreatePushParserCtxt(&handler, this, nullptr, 0, nullptr, XML_CHAR_ENCODING_UTF8));
    if (!parser_) throw std::bad_alloc();
    ::htmlCtxtUseOptions(parser_.get(), HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    // Without this start, the parser ignores what follows a tag that closes an element which the
    // page has not opened.
    constexpr std::string_view kStart = "<html><body>";
    feed({reinterpret_cast<const std::uint8_t*>(kStart.data()), kStart.size()}, false);
  }

  void parse(codec::Bytes page) {
    while (!page.empty()) {
      const std::size_t size = piece_size(page);
      feed(page.first(size), false);
      page = page.subspan(size);
      const xmlParserInput* input = parser_->input;
      if (input != nullptr && static_cast<std::size_t>(input->end - input->cur) > kMaxUnparsed)
        refuse(kEndless);
    }
    feed({}, true);
  }

 private:
  static constexpr const char* kEndless = "an index page with a tag without an end";

  /// Returns the size of a piece that ends with a tag. If text or a tag is cut, some releases parse
  /// nothing after it.
  static std::size_t piece_size(codec::Bytes page) {
    const std::size_t limit = std::min(kMaxUnparsed, page.size());
    std::size_t end = 0;
    std::uint8_t quote = 0;
    bool is_in_tag = false;
    for (std::size_t i = 0; i < limit && (end == 0 || i < kHtmlPiece); i++) {
      const std::uint8_t c = page[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '<') {
        is_in_tag = i + 1 < limit && page[i + 1] != '!' && page[i + 1] != '?';
      } else if (c == '>') {
        is_in_tag = false;
        end = i + 1;
      } else if (is_in_tag && (c == '"' || c == '\'')) {
        quote = c;
      }
    }
    if (end != 0) return end;
    if (limit < page.size()) refuse(kEndless);
    return page.size();
  }

  /// Feeds the parser with ASCII only, because it would guess the encoding of other bytes.
  void feed(codec::Bytes piece, bool is_last) {
    ascii_.clear();
    for (const std::uint8_t byte : piece) {
      const auto c = static_cast<char>(byte);
      const bool is_space = c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
      if (is_space || (byte > ' ' && byte < 0x7F))
        ascii_ += c;
      else
        ascii_ += percent_encoded({&c, 1});
    }
    const int result = ::htmlParseChunk(parser_.get(), ascii_.data(),
                                        static_cast<int>(ascii_.size()), is_last ? 1 : 0);
    if (result == XML_ERR_NO_MEMORY) throw std::bad_alloc();
    if (problem_) std::rethrow_exception(problem_);
  }

  /// Keeps exceptions in problem_, because they must not pass through the parser.
  void on_element(const xmlChar* name, const xmlChar** attributes) noexcept {
    open_elements_++;
    if (problem_) return;
    take_step();
    try {
      if (open_elements_ > kMaxOpenElements)
        refuse("an index page with elements that are nested too deep");
      const bool is_link = std::strcmp(text_of(name), "a") == 0;
      int count = 0;
      for (; attributes != nullptr && *attributes != nullptr; attributes += 2) {
        if (++count > kMaxAttributes) refuse("an index page with too many attributes");
        if (is_link && attributes[1] != nullptr && std::strcmp(text_of(*attributes), "href") == 0)
          visit_(text_of(attributes[1]));
      }
    } catch (...) {
      problem_ = std::current_exception();
    }
  }

  void take_step() noexcept {
    if (problem_ || ++steps_ <= kMaxSteps) return;
    try {
      refuse("an index page with too much markup");
    } catch (...) {
      problem_ = std::current_exception();
    }
  }

  [[noreturn]] static void refuse(const char* why) { throw RemoteError(EIO, why); }
  static const char* text_of(const xmlChar* text) { return reinterpret_cast<const char*>(text); }

  const std::function<void(std::string_view)>& visit_;
  std::unique_ptr<htmlParserCtxt, FreeHtmlParser> parser_;
  std::string ascii_;
  std::size_t steps_ = 0;
  int open_elements_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

void for_each_link(codec::Bytes page, const std::function<void(std::string_view)>& visit) {
  LinkReader(visit).parse(page);
}

}  // namespace bloscfs::frame::inline remote
