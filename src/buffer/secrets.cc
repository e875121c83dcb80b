#include "src/buffer/secrets.h"

#include "src/yaml/fields.h"
#include "src/yaml/mistakes.h"
#include "src/yaml/reader.h"

namespace beeline::buffer {
namespace {

using yaml::YamlNode;

void collect_secrets(const YamlNode& node, const std::string& prefix, yaml::Mistakes& mistakes,
                     Secrets& secrets) {
  yaml::YamlFields fields(node, prefix.empty() ? "the file" : prefix, mistakes);
  for (const auto& pair : fields.pairs()) {
    const std::string path = prefix.empty() ? pair.key : prefix + "." + pair.key;
    switch (pair.value->kind) {
      case YamlNode::Kind::kMap:
        collect_secrets(*pair.value, path, mistakes, secrets);
        break;
      case YamlNode::Kind::kText:
        secrets[path] = pair.value->text;
        break;
      case YamlNode::Kind::kNull:
        break;
      case YamlNode::Kind::kList:
        mistakes.add(pair.at->mark, path + " is a list; write a text or a map");
        break;
    }
  }
}

}  // namespace

Result<Secrets> read_secrets(std::string_view text, const std::string& name) {
  yaml::Mistakes mistakes(name);
  const auto root = yaml::read_yaml(text);
  if (!root) mistakes.add(root.error().mark, root.error().text);
  Secrets secrets;
  if (root && root->kind != YamlNode::Kind::kNull) collect_secrets(*root, "", mistakes, secrets);
  if (mistakes.any()) return fail(ErrorCode::kInvalid, mistakes.text());
  return secrets;
}

}  // namespace beeline::buffer
