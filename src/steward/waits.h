#pragma once

// Questions about a child that have no answer yet: they wait for its start or for its end.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <beeline/message.h>

namespace beeline::steward {

class Waits {
 public:
  // Keeps a question about this child and returns its number.
  std::int64_t add(std::int64_t child, Message question) {
    const std::int64_t number = ++last_;
    questions_.emplace(number, Question{child, std::move(question)});
    return number;
  }
  // Gives a question back, unless it was answered.
  [[nodiscard]] std::optional<Message> take(std::int64_t number) {
    const auto found = questions_.find(number);
    if (found == questions_.end()) return std::nullopt;
    Message message = std::move(found->second.message);
    questions_.erase(found);
    return message;
  }
  struct Taken {
    std::int64_t number = 0;
    Message message;
  };
  // Gives back all questions about a child, the oldest first.
  [[nodiscard]] std::vector<Taken> take_all(std::int64_t child) {
    std::vector<Taken> taken;
    for (auto at = questions_.begin(); at != questions_.end();) {
      if (at->second.child != child) {
        ++at;
        continue;
      }
      taken.push_back({at->first, std::move(at->second.message)});
      at = questions_.erase(at);
    }
    return taken;
  }

 private:
  struct Question {
    std::int64_t child = 0;
    Message message;
  };
  std::map<std::int64_t, Question> questions_;
  std::int64_t last_ = 0;
};

}  // namespace beeline::steward
