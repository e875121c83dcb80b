#include "tools/beeline/letters_view.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/control/letters_client.h"
#include "src/control/name_search.h"
#include "src/look/dead_payload.h"
#include "src/look/escape.h"
#include "src/look/inbox.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// The agent that a text names: one that is there, or one that has ended and left letters; 0 if
// there is none.
std::uint32_t find_receiver(const std::vector<control::ListedAgent>& agents,
                            const std::vector<control::KeptLetter>& held, const std::string& text) {
  control::NameSearch search(text, ::geteuid());
  for (const control::ListedAgent& agent : agents) {
    search.offer(agent.pid, agent.name, agent.uid, agent.state == shm::AgentState::kDead);
  }
  // Only the user of the hive sees these letters.
  for (const control::KeptLetter& letter : held) {
    search.offer(letter.to, letter.to_name, ::geteuid(), true);
  }
  return search.found();
}

bool is_living(const std::vector<control::ListedAgent>& agents, std::uint32_t pid) {
  return std::any_of(agents.begin(), agents.end(), [pid](const control::ListedAgent& agent) {
    return agent.pid == pid && agent.state != shm::AgentState::kDead;
  });
}

LetterView view_of(const control::KeptLetter& letter) {
  LetterView view;
  view.to = letter.to;
  view.agent = look::escape(letter.to_name);
  view.held = true;
  view.kept = letter.kept;
  view.line.place = "dead";
  view.line.id = letter.id;
  view.line.reply_to = letter.reply_to;
  view.line.from = letter.from_name.empty() ? fmt::format("pid {}", letter.from)
                                            : look::escape(letter.from_name);
  view.line.type = look::escape(letter.type);
  view.line.channel = look::escape(letter.channel);
  view.line.rank = letter.rank;
  view.line.attempts = letter.attempts;
  view.line.bytes = letter.length;
  view.line.age_ms = letter.age_ms;
  view.line.reason = letter.reason;
  view.line.preview = look::escape(letter.preview);
  if (letter.length > letter.preview.size()) view.line.preview += "...";
  return view;
}

std::string name_of(const std::vector<control::ListedAgent>& agents, std::uint32_t pid) {
  for (const control::ListedAgent& agent : agents) {
    if (agent.pid == pid) return agent.name;
  }
  return fmt::format("pid {}", pid);
}

// The letters in the homes of agents, by agent.
Result<std::vector<LetterView>> letters_of_agents(control::Client& client, std::string_view hive,
                                                  const HiveAccounts& accounts,
                                                  const std::vector<control::ListedAgent>& agents) {
  std::vector<LetterView> letters;
  for (const Account& account : accounts.inboxes) {
    if (!account.is_readable() || account.dead == 0) continue;
    const auto inbox = look::read_inbox(client, hive, account.pid);
    // The agent may have ended since it was listed.
    if (!inbox && inbox.error().code == ErrorCode::kNoAgent) continue;
    if (!inbox) return tl::unexpected(inbox.error());
    for (InboxLine& line : lines_of(*inbox)) {
      if (line.place != to_string(InboxPlace::kDead)) continue;
      const std::uint32_t bytes = line.bytes;
      letters.push_back({account.pid, name_of(agents, account.pid), false, bytes, std::move(line)});
    }
  }
  return letters;
}

// Counts the agents that cannot be read: all of them, or only the agent that is `wanted`.
void note_gap(const HiveAccounts& accounts, std::optional<std::uint32_t> wanted, Letters& letters) {
  const Account* first = nullptr;
  for (const Account& account : accounts.inboxes) {
    if (account.is_readable() || (wanted && account.pid != *wanted)) continue;
    if (letters.unreadable++ == 0) first = &account;
  }
  if (first == nullptr) return;
  const ErrorCode code = accounts.hidden.empty() ? ErrorCode::kBadSegment : ErrorCode::kDenied;
  letters.gap = Error{
      code, 0,
      fmt::format("the dead letters of {} cannot be read from here: {}",
                  letters.unreadable == 1 ? fmt::format("{} (pid {})", first->name, first->pid)
                                          : fmt::format("{} agents", letters.unreadable),
                  first->unreadable)};
}

}  // namespace

Result<Letters> find_letters(control::Client& client, std::string_view hive,
                             const std::string& agent) {
  const auto accounts = read_accounts(client, hive);
  if (accounts) return find_letters(client, hive, agent, *accounts);
  if (accounts.error().code != ErrorCode::kDenied) return tl::unexpected(accounts.error());
  // The letters that the coordinator holds may be visible all the same, as in the sum of `status`.
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  auto letters =
      find_letters(client, hive, agent, unreadable_accounts(*agents, accounts.error().text));
  if (!letters && letters.error().code == ErrorCode::kDenied) {
    return tl::unexpected(accounts.error());
  }
  return letters;
}

Result<Letters> find_letters(control::Client& client, std::string_view hive,
                             const std::string& agent, const HiveAccounts& accounts) {
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  auto own = letters_of_agents(client, hive, accounts, *agents);
  if (!own) return tl::unexpected(std::move(own.error()));
  Letters letters;
  letters.list = std::move(*own);
  // Ask last: an agent that ends meanwhile then shows in at least one of the two places.
  const auto held = control::list_kept_letters(client);
  if (!held) return tl::unexpected(held.error());
  for (const control::KeptLetter& letter : *held) {
    std::erase_if(letters.list, [&](const LetterView& other) {
      return other.to == letter.to && other.line.id == letter.id;
    });
    letters.list.push_back(view_of(letter));
  }
  if (agent.empty()) {
    note_gap(accounts, std::nullopt, letters);
    return letters;
  }
  const std::uint32_t wanted = find_receiver(*agents, *held, agent);
  note_gap(accounts, wanted, letters);
  std::erase_if(letters.list, [wanted](const LetterView& letter) { return letter.to != wanted; });
  if (letters.list.empty() && !is_living(*agents, wanted)) {
    return fail(
        ErrorCode::kNoAgent,
        fmt::format("no agent named \"{}\" in hive \"{}\" ({}), and none that has left dead "
                    "letters: see `beeline tree` and `beeline dlq ls`",
                    agent, client.hive(), client.directory()));
  }
  return letters;
}

Result<std::string> read_letter(control::Client& client, std::string_view hive,
                                const LetterView& letter) {
  if (!letter.held) return look::read_dead_payload(hive, letter.to, letter.line.id);
  auto whole = control::read_kept_letter(client, {letter.line.id, letter.to});
  if (!whole) return tl::unexpected(std::move(whole.error()));
  return std::move(whole->payload);
}

}  // namespace beeline::cli
