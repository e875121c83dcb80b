// `buffer put CHANNEL TEXT...` keeps texts in a durable buffer; `buffer work` is its main agent.
// `beeline buffer run` keeps the messages.
#include <beeline/agent.h>
#include <beeline/buffer.h>

#include <chrono>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  const bool puts = argc > 2 && std::string(argv[1]) == "put";
  auto agent = beeline::Agent::attach({.name = puts ? argv[2] : "main"});
  if (!agent) return std::cerr << agent.error().text << '\n', 1;
  const auto there = agent->wait_for("buffer", beeline::after(std::chrono::minutes(1)));
  if (!there) return std::cerr << there.error().text << '\n', 1;
  beeline::Buffer buffer(*agent);
  for (int i = 3; puts && i < argc; ++i) {
    const auto kept = buffer.put({.channel = argv[2], .conversation = "talk", .payload = argv[i]});
    if (!kept) return std::cerr << kept.error().text << '\n', 1;
    std::cout << kept->id << '\n';  // it is on the disk
  }
  while (!puts) {
    const auto asked = buffer.next();
    if (!asked) return std::cerr << asked.error().text << '\n', 1;
    auto message = agent->receive({.filter = {.type = beeline::kBufferBatch}});
    if (!message) return 0;  // the hive has gone down
    const auto batch = beeline::Buffer::read(*message);
    if (!batch) return std::cerr << batch.error().text << '\n', 1;
    for (const auto& each : batch->messages)
      std::cout << each.channel << ": " << each.payload << std::endl;
    message->done();  // killed before this line, the next "main" gets the batch again
  }
}
