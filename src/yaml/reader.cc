#include "src/yaml/reader.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "src/control/names.h"

namespace beeline::yaml {
namespace {

// Ends the parsing.
struct YamlStop {
  YamlMistake mistake;
};

YamlMark mark_of(const YAML::Mark& mark) {
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
}

// Puts the events of the parser together.
class TreeBuilder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_root_) stop(mark, "a second document begins; a file is one document");
    has_root_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put(make(YamlNode::Kind::kNull, mark), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias stands inside its own anchor; remove it");
    if (open_.size() + found->second.height > kMaxYamlDepth) stop_depth(mark);
    charge(found->second.count, mark);
    put(found->second, YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    YamlNode node = make(YamlNode::Kind::kText, mark);
    node.text = value;
    put(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

  [[nodiscard]] YamlNode take() { return std::move(root_); }

 private:
  struct Open {
    YamlNode node{};
    YAML::anchor_t anchor = YAML::NullAnchor;
  };

  [[noreturn]] static void stop(const YAML::Mark& mark, std::string text) {
    throw YamlStop{{mark_of(mark), std::move(text)}};
  }
  [[noreturn]] static void stop_depth(const YAML::Mark& mark) {
    stop(mark, fmt::format("lists and maps are nested deeper than {} levels; make it flatter",
                           kMaxYamlDepth));
  }

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    stop(mark, fmt::format("a tag, {}, which has no meaning here; remove it", tag));
  }

  void charge(std::size_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ <= kMaxYamlNodes) return;
    stop(mark, fmt::format("the file expands to more than {} values with its aliases; use fewer "
                           "aliases or several files",
                           kMaxYamlNodes));
  }

  YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    charge(1, mark);
    YamlNode node;
    node.kind = kind;
    node.mark = mark_of(mark);
    return node;
  }

  void begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
             YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (open_.size() >= kMaxYamlDepth) stop_depth(mark);
    open_.push_back({make(kind, mark), anchor});
  }

  void end() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    put(std::move(ended.node), ended.anchor);
  }

  void put(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      YAML::Mark mark;
      mark.line = node.mark.line - 1;
      mark.column = node.mark.column - 1;
      charge(node.count, mark);
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back().node;
    parent.count += node.count;
    parent.height = std::max(parent.height, node.height + 1);
    const bool is_key =
        parent.kind == YamlNode::Kind::kMap && parent.keys.size() == parent.items.size();
    (is_key ? parent.keys : parent.items).push_back(std::move(node));
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  YamlNode root_;
  std::size_t nodes_ = 0;
  bool has_root_ = false;
};

// The parser takes a byte of 4 for the end of the file and replaces bytes that are no UTF-8, so
// they are refused before.
std::optional<YamlMistake> check_bytes(std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return YamlMistake{{},
                       fmt::format("the file has {} bytes, at most {}; split it into several",
                                   text.size(), kMaxYamlBytes)};
  }
  YamlMark mark;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto byte = static_cast<unsigned char>(line[i]);
      mark.column = static_cast<int>(i) + 1;
      if ((byte >= 0x20 && byte != 0x7f) || byte == '\t' || byte == '\r') continue;
      return YamlMistake{mark, fmt::format("the control character 0x{:02x}; remove it", byte)};
    }
    mark.column = 1;
    if (auto valid = control::check_utf8("the line", line); !valid) {
      return YamlMistake{mark, valid.error().text};
    }
    ++mark.line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace

tl::expected<YamlNode, YamlMistake> read_yaml(std::string_view text) {
  if (auto bad = check_bytes(text)) return tl::unexpected(std::move(*bad));
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const YamlStop& stop) {
    return tl::unexpected(stop.mistake);
  } catch (const YAML::Exception& error) {
    return tl::unexpected(YamlMistake{mark_of(error.mark), fmt::format("no YAML: {}", error.msg)});
  } catch (const std::exception& error) {
    return tl::unexpected(YamlMistake{{}, fmt::format("cannot be read: {}", error.what())});
  }
}

}  // namespace beeline::yaml
