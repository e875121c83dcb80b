// Tasks: a batch for an agent that pid 1 starts for it.

#include <fstream>

#include "tests/buffer_flow/flow_fixture.h"

namespace beeline::test {
namespace {

#ifdef BEELINE_HAS_STEWARD

class BufferTask : public BufferFlow {
 protected:
  // The template `rev` runs this command for its task.
  void configure_template(const std::string& command) const {
    configure(
        "buffer:\n"
        "  batchWindowMs: 10\n"
        "  templates:\n"
        "    rev:\n"
        "      command: [sh, -c, 'exec $BEELINE_BIN/beeline reply $BEELINE_NAME --tasks --command "
        "\"" +
        command +
        "\"']\n"
        "routes:\n"
        "- match: {channel: github}\n"
        "  action: {spawn: {template: rev, task: 'Look at {payload}'}}\n"
        "- match: {channel: lost}\n"
        "  action: {spawn: {template: nobody, task: x}}\n");
  }
  static json await_task(Agent& agent, int id, const std::string& status) {
    json task;
    await([&] {
      task = ask(agent, "buffer.show", {{"task", id}}).value("task", json::object());
      return task.value("status", "") == status;
    });
    return task;
  }
};

// KO-015, KO-025: the result is in the list of tasks, and nothing comes to the main agent.
TEST_F(BufferTask, ARoutedBatchIsATaskOfAnAgentThatIsSpawned) {
  configure_template(R"(cat; cat \$BEELINE_TASK_CONTEXT)");
  start_ready();
  Agent agent = attach("main");
  ask_for_batches(agent, 1);
  (void)put(agent, "github", "pr-7", "the change");
  const json task = await_task(agent, 1, "completed");
  EXPECT_EQ(task.at("exit_code"), 0);
  EXPECT_EQ(task.at("text"), "Look at the change");
  const std::string result = task.at("result");
  EXPECT_TRUE(contains(result, "Look at the change")) << result;
  EXPECT_TRUE(contains(result, R"("payload":"the change")")) << result;
  EXPECT_TRUE(contains(result, R"("redelivered":false)")) << result;
  EXPECT_EQ(good_json({"buffer", "tasks", "--status", "completed"}).size(), 1U);
  EXPECT_EQ(ask(agent, "buffer.status").at("open_tasks"), 0);
  EXPECT_EQ(ask(agent, "buffer.take").at("batch"), json());
  EXPECT_FALSE(agent.try_receive());
  // Its agent is ended.
  await([] {
    for (const json& child : json::parse(beeline({"ps", "--json"}).out)) {
      if (child.at("state") != "ended") return false;
    }
    return true;
  });
}

TEST_F(BufferTask, ATaskThatCannotBeDoneFailsWithTheReason) {
  configure_template("echo sorry; exit 3");
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "lost", "", "x");
  const std::string reason = await_task(agent, 1, "failed").at("result");
  EXPECT_TRUE(contains(reason, "buffer.templates.nobody")) << reason;
  (void)put(agent, "github", "", "y");
  const json task = await_task(agent, 2, "failed");
  EXPECT_EQ(task.at("exit_code"), 3);
  EXPECT_TRUE(contains(task.at("result"), "sorry"));
}

// The key of the spawn finds the agent again.
TEST_F(BufferTask, ATaskGoesOnAfterAKillOfTheBufferOnTheSameAgent) {
  configure_template(R"(echo run >> $TMPDIR/runs; cat \$BEELINE_TASK_CONTEXT; )"
                     "until [ -e $TMPDIR/go ]; do sleep 0.01; done");
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "github", "", "y");
  const json running = await_task(agent, 1, "running");
  wait_for_file("runs");
  (void)stop(SIGKILL);
  start();
  // The second life has given the task again once the agent has ended the first run.
  await([&] { return count("buffer_tasks WHERE status = 'running'") == 1; });
  std::ofstream(folder_ + "/go") << "";
  const json task = await_task(agent, 1, "completed");
  EXPECT_EQ(task.at("pid"), running.at("pid"));
  EXPECT_TRUE(contains(task.at("result"), R"("redelivered":true)")) << task;
}

// C-36: the next hive has another agent for it.
TEST_F(BufferTask, ATaskOfABufferAndAHiveThatAreGoneIsStartedAgain) {
  configure_template(R"(echo run >> $TMPDIR/runs; cat \$BEELINE_TASK_CONTEXT; )"
                     "until [ -e $TMPDIR/go ]; do sleep 0.01; done");
  start_ready();
  {
    Agent agent = attach("main");
    (void)put(agent, "github", "", "y");
    (void)await_task(agent, 1, "running");
    wait_for_file("runs");
  }
  (void)stop(SIGKILL);
  (void)good({"down"});
  EXPECT_EQ(sql("SELECT status FROM buffer_tasks"), "running");
  std::filesystem::remove(folder_ + "/runs");
  start_ready();
  wait_for_file("runs");
  std::ofstream(folder_ + "/go") << "";
  Agent agent = attach("main");
  const json task = await_task(agent, 1, "completed");
  EXPECT_TRUE(contains(task.at("result"), R"("redelivered":true)")) << task;
}

// A buffer may be killed after the end of a task, and before the end of the task's agent.
TEST_F(BufferTask, AnAgentThatIsLeftOfAnEndedTaskIsEnded) {
  configure_template("cat");
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "lost", "", "x");
  (void)await_task(agent, 1, "failed");
  (void)good({"spawn", "nobody-1", "--parent", "buffer", "--", "sh", "-c",
              "exec $BEELINE_BIN/beeline reply nobody-1 --echo"});
  (void)stop(SIGKILL);
  start();
  await([] {
    for (const json& child : good_json({"ps"})) {
      if (child.at("name") == "nobody-1") return child.at("state") == "ended";
    }
    return false;
  });
}

#else

TEST_F(BufferFlow, WithoutAStewardATaskWaitsWithTheReason) {
  configure(
      "buffer: {batchWindowMs: 10, templates: {rev: {command: [rev]}}}\n"
      "routes: [{action: {spawn: {template: rev, task: x}}}]");
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "c", "", "y");
  await(
      [&] { return count("buffer_task_history WHERE status = 'waiting' AND detail <> ''") == 1; });
}

#endif

}  // namespace
}  // namespace beeline::test
