#include "src/steward/start_file.h"

#include "src/control/names.h"
#include "src/steward/start_form.h"
#include "src/yaml/reader.h"

namespace beeline::steward {
namespace {

void read_hive(const YamlNode& node, StartDraft& draft) {
  const auto hive = yaml_text(node, "hive", draft.mistakes());
  if (!hive) return;
  if (const auto valid = control::check_hive_name(*hive); !valid) {
    return draft.mistakes().add(node.mark, valid.error().text);
  }
  draft.file().hive = *hive;
}

void read_root(const YamlNode& root, StartDraft& draft) {
  if (root.kind == YamlNode::Kind::kNull) {
    return draft.mistakes().add(root.mark, "the file is empty; write `agents:` and a map of them");
  }
  YamlFields fields(root, "the file", draft.mistakes());
  if (root.kind != YamlNode::Kind::kMap) return;
  const YamlNode* agents = fields.take("agents");
  if (agents != nullptr && agents->kind == YamlNode::Kind::kList) {
    read_foreign_agents(*agents, draft);
    return fields.warn_of_others();
  }
  if (const YamlNode* hive = fields.take("hive")) read_hive(*hive, draft);
  if (agents == nullptr) {
    draft.mistakes().add(root.mark, "the file has no agents; write `agents:` and a map of them");
  } else {
    read_own_agents(*agents, "", draft);
  }
  fields.refuse_others();
}

}  // namespace

Result<StartFile> read_start_file(const StartFileSource& source) {
  Mistakes mistakes(source.name);
  const auto root = yaml::read_yaml(source.text);
  if (!root) {
    mistakes.add(root.error().mark, root.error().text);
    return fail(ErrorCode::kInvalid, mistakes.text());
  }
  StartDraft draft(source, mistakes);
  read_root(*root, draft);
  if (mistakes.any()) return fail(ErrorCode::kInvalid, mistakes.text());
  draft.file().warnings = mistakes.take_warnings();
  return std::move(draft.file());
}

}  // namespace beeline::steward
