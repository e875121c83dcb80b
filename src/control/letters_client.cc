#include "src/control/letters_client.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/memfd.h"

namespace beeline::control {
namespace {

using namespace std::chrono_literals;

// No coordinator keeps more of a payload; a larger number is not believed.
constexpr std::uint32_t kMostKept = 1U << 20;

template <typename T>
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

// The order expires a while before we stop waiting, so that the word of an agent that obeyed in the
// last moment still arrives.
Result<std::uint64_t> ask_letters(Client& client, LettersRequest request) {
  const std::chrono::nanoseconds patience = client.deadline();
  const std::chrono::nanoseconds margin = std::min<std::chrono::nanoseconds>(patience / 4, 1s);
  request.until_ns = os::monotonic_ns() + (patience - margin).count();
  const auto answer = ask<LettersAnswer>(client, request);
  if (answer) return answer->first.count;
  if (answer.error().code != ErrorCode::kTimeout || request.to == kNoPid) {
    return tl::unexpected(answer.error());
  }
  return fail(ErrorCode::kTimeout,
              fmt::format("agent with PID {} did not answer within {} ms: it reads orders when "
                          "it next calls Beeline, and it was busy. It will not obey this order any "
                          "more: see `beeline dlq ls`, and ask again with a longer --timeout",
                          request.to, patience / std::chrono::milliseconds(1)));
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
