#include "src/control/letters_client.h"

#include <iterator>
#include <span>
#include <utility>
#include <variant>

#include "src/os/memfd.h"

namespace beeline::control {
namespace {

// No coordinator keeps more of a payload; what it says is not believed.
constexpr std::uint32_t kMostKept = 1U << 20;

template <class T>
Result<std::pair<T, std::vector<os::UniqueFd>>> ask(Client& client, const Request& request) {
  auto raw = client.request(request);
  if (!raw) return tl::unexpected(std::move(raw.error()));
  auto* answer = std::get_if<T>(&raw->answer);
  if (answer == nullptr) {
    return fail(ErrorCode::kProtocol, "the coordinator answered with another kind of packet");
  }
  return std::pair(std::move(*answer), std::move(raw->fds));
}

}  // namespace

Result<std::uint64_t> ask_letters(Client& client, const LettersRequest& request) {
  const auto answer = ask<LettersAnswer>(client, request);
  if (!answer) return tl::unexpected(answer.error());
  return answer->first.count;
}

Result<std::vector<KeptLetter>> list_kept_letters(Client& client) {
  std::vector<KeptLetter> all;
  for (std::int64_t from = 0; from >= 0;) {
    auto answer =
        ask<KeptLettersAnswer>(client, KeptLettersRequest{static_cast<std::uint64_t>(from)});
    if (!answer) return tl::unexpected(std::move(answer.error()));
    KeptLettersAnswer& page = answer->first;
    std::move(page.letters.begin(), page.letters.end(), std::back_inserter(all));
    from = page.next > from ? page.next : -1;
  }
  return all;
}

Result<WholeLetter> read_kept_letter(Client& client, const KeptLetterRequest& request) {
  auto answer = ask<KeptLetterAnswer>(client, request);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  WholeLetter letter;
  static_cast<KeptLetter&>(letter) = std::move(answer->first.letter);
  if (answer->second.size() != 1 || letter.kept > kMostKept) {
    return fail(ErrorCode::kProtocol, "the coordinator sent a dead letter without its payload");
  }
  letter.payload.resize(letter.kept);
  const auto bytes = std::as_writable_bytes(std::span(letter.payload));
  const auto read = os::read_at(answer->second.front().get(), 0, bytes);
  if (!read) return tl::unexpected(read.error());
  letter.payload.resize(*read);
  return letter;
}

}  // namespace beeline::control
