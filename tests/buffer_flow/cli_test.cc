// beeline buffer on the command line.

#include <chrono>
#include <fstream>

#include "tests/buffer_flow/flow_fixture.h"

namespace beeline::test {
namespace {

TEST_F(BufferFlow, AShellPutsTakesAndEndsBatches) {
  start_ready();
  EXPECT_TRUE(contains(bad(5, {"buffer", "next"}), "no batch came within 0 ms"));
  EXPECT_EQ(good({"buffer", "put", "--channel", "c", "--key", "k", "--conversation", "v", "-"},
                 "two\nlines"),
            "1\n");
  EXPECT_EQ(good_json({"buffer", "put", "--channel", "c", "--key", "k", "again"}),
            (json{{"id", 1}, {"repeated", true}}));
  const json batch = good_json({"buffer", "next", "--timeout", "60s"});
  EXPECT_EQ(batch.at("messages")[0].at("payload"), "two\nlines");
  EXPECT_EQ(batch.at("redelivered"), false);
  EXPECT_TRUE(contains(good({"buffer", "ls", "batches"}), "leased"));
  EXPECT_EQ(good({"buffer", "ack", "1", "--give-back"}), "");
  const std::string text = good({"buffer", "next"});
  EXPECT_TRUE(contains(text, "batch 1  channel c  conversation v  (was handed out before)\n"))
      << text;
  EXPECT_TRUE(contains(text, "two\nlines\n")) << text;
  EXPECT_EQ(good_json({"buffer", "ack", "1"}), (json{{"was_open", true}}));
  EXPECT_EQ(good_json({"buffer", "ack", "1"}), (json{{"was_open", false}}));
  EXPECT_EQ(good_json({"buffer", "ls"}),
            (json{{"messages", json::array()}, {"batches", json::array()}}));
  EXPECT_EQ(good_json({"buffer", "tasks"}), json::array());
  const std::string shown = good({"buffer", "show", "batch", "1"});
  EXPECT_TRUE(contains(shown, "state         done\n")) << shown;
  EXPECT_TRUE(contains(shown, "two\nlines\n")) << shown;
  EXPECT_TRUE(contains(bad(4, {"buffer", "show", "task", "7"}), "there is no task 7"));
  EXPECT_TRUE(contains(bad(2, {"buffer", "ack", "7"}), "no batch 7"));
  EXPECT_TRUE(good_json({"buffer", "status"}).contains("threshold"));
  const json unkept = good_json({"buffer", "status", "--db", db_});
  EXPECT_TRUE(unkept.contains("database") && !unkept.contains("threshold")) << unkept;
  EXPECT_TRUE(contains(bad(2, {"buffer", "status", "--db", db_, "--name", "x"}), "excludes"));
}

TEST_F(BufferFlow, APutMayComeBeforeTheHiveAndTheBuffer) {
  Program put(with_program({"buffer", "put", "--channel", "c", "hello"}));
  start();
  EXPECT_EQ(put.wait().out, "1\n");
}

// Another program has the name, and sends each request back.
TEST_F(BufferFlow, AnAnswerWithoutItsValuesIsAnError) {
  (void)good({"up"});
  const Program other(with_program({"reply", "buffer", "--echo"}));
  wait_for_agent("buffer");
  const std::vector<std::vector<std::string>> verbs = {{"put", "--channel", "c", "x"},
                                                       {"next"},
                                                       {"ack", "1"},
                                                       {"prune"},
                                                       {"status"},
                                                       {"ls"},
                                                       {"tasks"},
                                                       {"show", "batch", "1"}};
  for (std::vector<std::string> words : verbs) {
    words.insert(words.begin(), "buffer");
    EXPECT_TRUE(contains(bad(1, words), "the buffer broke the form of its answer to buffer."))
        << words[1];
  }
}

TEST_F(BufferFlow, TheVerbsSayWhatIsMissing) {
  EXPECT_NE(bad(3, {"buffer", "status"}), "");
  (void)good({"up"});
  EXPECT_TRUE(contains(bad(4, {"buffer", "status"}), "`beeline buffer run --name buffer`"));
  EXPECT_TRUE(contains(bad(4, {"buffer", "put", "--channel", "c", "x", "--timeout", "1ms"}),
                       "`beeline buffer run --name buffer` starts it"));
  EXPECT_NE(bad(1, {"buffer", "status", "--db", folder_ + "/none.db"}), "");
  EXPECT_TRUE(contains(bad(2, {"buffer", "put", "x"}), "--channel"));
  EXPECT_TRUE(contains(bad(2, {"buffer", "show", "row", "7"}), "row"));
}

// KO-026: the configuration is read as it is; its mistakes have a line.
TEST_F(BufferFlow, AWrongConfigurationStartsNoBuffer) {
  configure("buffer:\n  retentionDays: soon");
  const std::vector<std::string> words = {"buffer", "run", "--db", db_, "--config", config_};
  EXPECT_TRUE(contains(bad(2, words), config_ + ":2:18: "));
  configure("name: ${NO_SUCH_VARIABLE}");
  EXPECT_TRUE(contains(bad(2, words),
                       "Environment variable \"NO_SUCH_VARIABLE\" is referenced in config but not "
                       "set"));
  std::ofstream(folder_ + "/secrets.yaml") << "a: {b: c}\n";
  configure("name: ${secrets.a.c}");
  EXPECT_TRUE(contains(bad(2, words), "Secret \"a.c\""));
  EXPECT_NE(bad(1, {"buffer", "run", "--db", db_, "--config", folder_ + "/none.yaml"}), "");
  EXPECT_FALSE(is_up());
}

// Everything that was taken is on the disk when it ends, and `beeline down` ends it.
TEST_F(BufferFlow, ASignalOrTheEndOfTheHiveEndsIt) {
  start_ready();
  {
    Agent agent = attach("putter");
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(agent.send("buffer", std::to_string(i)));
    (void)stop();
    start();
    ASSERT_TRUE(agent.wait_for("buffer", after(std::chrono::seconds(60))));
    (void)ask(agent, "buffer.status");  // it is in this hive
    await([&] { return count("buffer") == 100; });
  }
  (void)good({"down"});
  EXPECT_EQ(buffer_->wait().code, 3);
  EXPECT_EQ(sql("SELECT count(DISTINCT payload) FROM buffer"), "100");
}

#ifdef BEELINE_HAS_STEWARD
// The buffer's files lie beside the start file.
TEST_F(BufferFlow, AStartFileStartsIt) {
  const std::string file = folder_ + "/hive.yaml";
  std::ofstream(file) << "agents:\n"
                         "  buffer:\n"
                         "    command: ['${BEELINE_BIN}/beeline', buffer, run]\n"
                         "    role: daemon\n"
                         "    limits: {max_children: 0}\n";
  (void)good({"up", "--config", file});
  EXPECT_EQ(good({"buffer", "put", "--channel", "c", "hello"}), "1\n");
  (void)good({"down"});
  EXPECT_EQ(sql("SELECT payload FROM buffer"), "hello");
}
#endif

}  // namespace
}  // namespace beeline::test
