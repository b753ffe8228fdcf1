#include "tests/tools/report_page.hpp"

#include <stdexcept>

#include <libxml/parser.h>
#include <libxml/xpath.h>

namespace bloscfs::test {
namespace {

template <typename Type, void (*kFree)(Type*)>
struct FreeBy {
  void operator()(Type* what) const { kFree(what); }
};

using Path = std::unique_ptr<xmlXPathContext, FreeBy<xmlXPathContext, xmlXPathFreeContext>>;
using Found = std::unique_ptr<xmlXPathObject, FreeBy<xmlXPathObject, xmlXPathFreeObject>>;

const xmlChar* to_xml(const std::string& text) {
  return reinterpret_cast<const xmlChar*>(text.c_str());
}

/// Removes the namespace, so that XPaths need not name it.
std::string without_namespace(std::string text) {
  const std::string attribute = " xmlns=\"http://www.w3.org/1999/xhtml\"";
  const std::size_t at = text.find(attribute);
  return at == std::string::npos ? text : text.erase(at, attribute.size());
}

}  // namespace

struct ReportPage::Tree {
  std::unique_ptr<xmlDoc, FreeBy<xmlDoc, xmlFreeDoc>> document;
};

ReportPage::ReportPage(const std::string& page) {
  const std::string text = without_namespace(page);
  auto tree = std::make_shared<Tree>();
  tree->document.reset(
      xmlReadMemory(text.data(), static_cast<int>(text.size()), "report", "UTF-8",
                    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_HUGE));
  if (!tree->document) {
    const auto* const error = xmlGetLastError();
    throw std::runtime_error("line " + std::to_string(error->line) + ": " + error->message);
  }
  tree_ = std::move(tree);
}

std::vector<std::string> ReportPage::texts(const std::string& path) const {
  const Path context(xmlXPathNewContext(tree_->document.get()));
  const Found found(xmlXPathEvalExpression(to_xml(path), context.get()));
  if (!found) throw std::runtime_error("no XPath: " + path);
  std::vector<std::string> texts;
  const xmlNodeSet* const nodes = found->nodesetval;
  for (int i = 0; nodes != nullptr && i < nodes->nodeNr; ++i) {
    xmlChar* const content = xmlNodeGetContent(nodes->nodeTab[i]);
    texts.emplace_back(reinterpret_cast<const char*>(content));
    xmlFree(content);
  }
  return texts;
}

std::string ReportPage::text(const std::string& path) const {
  const auto all = texts(path);
  if (all.size() != 1) throw std::runtime_error(path + ": there are " + std::to_string(all.size()));
  return all.front();
}

ReportPage read_report(const fs_std::path& file) {
  const ByteVector bytes = read_file(file);
  return ReportPage(std::string(bytes.begin(), bytes.end()));
}

}  // namespace bloscfs::test
