"""Each rule of the style check finds forbidden text and passes allowed text."""

import textwrap
import unittest

import check
import classes
import comments
import cpp_text


def violations(name, text, *more):
    """Rules that the C++ file `name` breaks, as `line:rule`; it is referenced, unless told so."""
    text = textwrap.dedent(text)
    if name.endswith(".h") and "#pragma once" not in text:
        text += "\n#pragma once\n"
    files = {name: text, "CMakeLists.txt": f"target_sources(beeline PRIVATE {name})"}
    if name.endswith(".h"):
        target = f"<{name[8:]}>" if name.startswith("include/") else f'"{name}"'
        files["user.cc"] = f"#include {target}\n"
    files.update(more)
    return [":".join(line.split(": ")[:2]).split(":", 1)[1] for line in check.check_all(files)]


def spans(source):
    return list(cpp_text.functions(textwrap.dedent(source)))


class Functions(unittest.TestCase):
    def test_bodies_in_namespaces_and_classes_are_found(self):
        source = """\
            namespace a::b {
            class Lane final : public Base {
             public:
              explicit Lane(int x) : x_(x) {}
              int size() const {
                if (x_) { return 1; }
                for (;;) {
                }
              }
            };
            template <typename T, class U = int>
            auto make(T t)
                -> U {
              return [&] { return t; }();
            }
            }  // namespace a::b
            TEST(Suite, name_is_a_sentence) {
            }
            """
        self.assertEqual(spans(source), [(4, 4), (5, 9), (11, 15), (17, 18)])

    def test_constructor_with_braced_members_is_one_function(self):
        source = """\
            Lane::Lane(int x)
                : a_{x},
                  b_{1, 2} {
              run();
            }
            int next() { return 0; }
            """
        self.assertEqual(spans(source), [(1, 5), (6, 6)])

    def test_data_types_and_text_are_no_functions(self):
        source = """\
            struct alignas(64) Header {
              std::uint32_t size{4};
              std::array<int, 2> pair = {1, 2};
            };
            enum class State : std::uint8_t { kFree, kTaken };
            constexpr Row kRows[] = {
                {1, f(2)},
            };
            inline constexpr auto kTable = std::array<Row, 2>{
                Row{g(1)}, Row{2}};
            extern "C" {
            #define BLOCK {
            const char* kText = R"x(} { } ")x";
            const char kBrace = '{';
            const int kMany = 1'000'000;  // it's {
            }
            """
        self.assertEqual(spans(source), [])

    def test_types_as_parameters_and_results_do_not_hide_a_function(self):
        source = """\
            void look(struct stat* s) {
            }
            bool operator==(const A& a, const B& b) {
            }
            template <class T>
            struct S {
              T& operator=(const T& t) {
              }
            };
            constexpr auto kVisit = [](int x) {
            };
            """
        self.assertEqual(spans(source), [(1, 2), (3, 4), (7, 8), (10, 11)])

    def test_long_function_is_reported_where_it_begins(self):
        def run(lines):
            return "\nvoid run() {\n" + "  step();\n" * (lines - 2) + "}\n"

        self.assertEqual(violations("src/os/a.cc", run(71)), ["2:function-length"])
        self.assertEqual(violations("src/os/a.cc", run(70)), [])

    def test_braces_that_do_not_pair_are_reported(self):
        self.assertEqual(violations("src/os/a.cc", "void f() {\n"), ["2:braces"])


def members(source):
    """(line, name, data members, member functions) of each class."""
    found = classes.classes(textwrap.dedent(source))
    return [(kind.line, kind.name, kind.data_members, kind.functions) for kind in found]


class Classes(unittest.TestCase):
    def test_data_and_functions_are_told_apart(self):
        source = """\
            namespace a {
            template <typename T, class U>
            class alignas(64) Lane final : public Base<T> {
             public:
              explicit Lane(int x) : x_(x), pair_{1, 2} { run(); }
              Lane(const Lane&) = delete;
              ~Lane() override = default;
              [[nodiscard]] int size() const { for (;;) { } }
              Lane* operator->() const { return this; }
              bool operator()(int a) const { return a; }
              explicit operator bool() const { return true; }
              template <typename V>
              void each(std::function<void(V)> visit = {}, int most = f(1));
              virtual std::map<int, int> map() = 0;
              static int count();

             private:
              friend class Other;
              using Names = std::vector<int>;
              static_assert(sizeof(int) == 4);
              static constexpr int kSize = 4;
              static const int kMany;
              enum class State { kFree, kTaken };
              struct Later;
              class Later* later_;
              int x_, y_ = f(2);
              std::map<int, std::string> map_{};
              std::function<void(int, int)> done_ = [] { return 1; };
              void (*hook_)(int) = nullptr;
              alignas(64) std::array<int, 2> pair_{1, 2};
              decltype(f(1)) result_;
              static int shared_;
            };
            }
            """
        self.assertEqual(members(source), [(3, "Lane", 9, 9)])

    def test_nested_classes_count_for_themselves_and_unnamed_unions_do_not(self):
        source = """\
            struct Outer {
              struct Inner {
                int a;
                int b() { struct Local { int c; }; return 1; }
              } inner;
              enum { kOne } one;
              union {
                int d;
                long e;
              };
            };
            struct Empty {};
            int f(struct stat* s) { return 1; }
            """
        self.assertEqual(members(source), [
            (1, "Outer", 4, 0), (2, "Inner", 1, 1), (7, "", 2, 0), (12, "Empty", 0, 0)])

    def test_large_class_is_reported(self):
        def lane(data, functions):
            body = "  int a{};\n" * data + "  int f() { return 1; }\n" * functions
            return f"class Lane {{\n{body}}};\n"

        self.assertEqual(violations("src/os/a.h", lane(25, 60)), [])
        self.assertEqual(violations("src/os/a.h", lane(26, 60)), ["1:class-size"])
        self.assertEqual(violations("tools/a.cc", lane(25, 61)), ["1:class-size"])
        self.assertEqual(violations("tests/a.cc", lane(26, 61)), [])


class Wording(unittest.TestCase):
    def texts(self, name, source):
        found = comments.blocks(name, textwrap.dedent(source))
        return [(block.first, block.text) for block in found]

    def test_comments_of_cpp_are_found(self):
        source = """\
            // One
            // goes on.
            int a;  /// Two
                    // goes on.
            int b;  // "three"
            const char* c = "// no comment";
            /* Four
             * goes on. */
            """
        self.assertEqual(self.texts("a.cc", source), [
            (1, "One\ngoes on."), (3, "Two\ngoes on."), (5, '"three"'), (7, "Four\ngoes on.")])

    def test_comments_of_scripts_are_found(self):
        source = """\
            #!/bin/sh
            # One
            # goes on.
            echo "$# #no" ${a#b} '# no'  # Two.
            """
        self.assertEqual(self.texts("scripts/a", source), [(2, "One\ngoes on."), (4, "Two.")])
        python = '"""One."""\n\n\ndef f():\n    """Two."""\n    # Three.\n'
        self.assertEqual(self.texts("a.py", python), [(1, "One."), (5, "Two."), (6, "Three.")])

    def test_no_sentence_opens_with_a_word_that_hides_its_actor(self):
        def rules(comment):
            return violations("shm/a.cc", comment)

        for word in ("Of", "Who", "Whom", "Whoever", "What", "Where"):
            self.assertEqual(rules(f"// {word} the lane is."), ["1:sentence-opening"], word)
        self.assertEqual(rules("// The end.\n// It is. What\n// is."), ["2:sentence-opening"])
        self.assertEqual(rules("// SUBTLE: What is."), ["1:sentence-opening"])
        self.assertEqual(rules("// - Of the lane."), ["1:sentence-opening"])
        self.assertEqual(rules("int a;  // (Of the lane.)"), ["1:sentence-opening"])
        for fine in ("What is\n// it?", "Often.", "the size of the lane", "It lies where Of is."):
            self.assertEqual(rules(f"// {fine}"), [], fine)
        self.assertEqual(violations("scripts/a", "# What it is."), ["1:sentence-opening"])

    def test_words_that_hide_the_actor_are_rare(self):
        def rules(hiding, words):
            half = (words - hiding) // 2
            return violations("shm/a.cc", "// whose\n" * hiding + "// lane slab\n" * half)

        self.assertEqual(rules(1, 1), [])
        self.assertEqual(rules(2, 666), ["1:hidden-actor"])
        self.assertEqual(rules(2, 668), [])
        self.assertEqual(violations("shm/a.cc", "// `what`: who, whatever"), [])

    def test_prose_of_a_document_is_found(self):
        source = """\
            # One
            Two
            *goes* on.
            * Three
              goes on.
            1. Four

            > Five
            ```
            What is code.
            ```
            ## What is this?
            | Six | `Of` |
            |---|---|
            """
        found = [(block.first, block.text) for block in comments.prose(textwrap.dedent(source))]
        self.assertEqual(found, [
            (1, "One"), (2, "Two\ngoes on."), (4, "Three\ngoes on."), (6, "Four"), (8, "Five"),
            (13, "Six"), (13, "`x`"), (14, "---"), (14, "---")])

    def test_documents_obey_the_rules_for_comments(self):
        def rules(text, name="docs/a.md"):
            return violations("shm/a.cc", "", (name, text))

        for text in ("# What it is", "It is.\nIt is. Who\nis.", "* Of it.", "2. **Where** it is.",
                     "| a | What is |", "[Whoever](b.md) is."):
            self.assertEqual(len(rules(text)), 1, text)
            self.assertIn(":sentence-opening", rules(text)[0], text)
        self.assertEqual(rules("a\nwho what", "README.md"), ["2:hidden-actor"])
        for fine in ("What is\nit?", "## Who is what?", "```\nwho what\n```", "`who` and `what`"):
            self.assertEqual(rules(fine), [], fine)
        self.assertEqual(rules("What it is.", "docs/history/a.md"), [])

    def test_names_of_tests_begin_with_the_actor(self):
        def rules(name):
            return violations("src/os/a.cc", f"TEST_F(Lane,\n       {name}) {{\n}}\n")

        self.assertEqual(rules("WhatIsSentArrives"), ["1:test-name"])
        self.assertEqual(rules("OfTwoOneWins"), ["1:test-name"])
        self.assertEqual(rules("OftenItWorks"), [])
        self.assertEqual(rules("ASenderLeaves"), [])


class Rules(unittest.TestCase):
    def test_lengths(self):
        self.assertEqual(violations("src/os/a.cc", "\n" * 501), ["501:file-length"])
        self.assertEqual(violations("src/os/a.cc", "\n" * 500), [])
        self.assertEqual(violations("src/os/a.cc", "// " + "x" * 98), ["1:columns"])
        self.assertEqual(violations("src/os/a.cc", "// " + "x" * 97), [])

    def test_lengths_in_python(self):
        for kind in ("def", "async def"):
            function = f"{kind} f():\n" + "    pass\n" * 69
            self.assertEqual(violations("bindings/python/a.py", function), [])
            longer = function + "    pass\n"
            self.assertEqual(violations("bindings/python/a.py", longer), ["1:function-length"])
        self.assertEqual(violations("bindings/python/a.pyi", "# " + "x" * 99), ["1:columns"])
        self.assertEqual(violations("a.py", "def f(:\n"), ["1:syntax"])

    def test_raw_atomics(self):
        for line in ("std::atomic<int> a;", "std::atomic_ref r(a);", "__atomic_load(a);"):
            for folder in ("shm", "src/wake", "src/send", "src/receive", "src/control", "tools"):
                self.assertEqual(violations(f"{folder}/a.cc", line), ["1:raw-atomic"], folder)
            for allowed in ("shm/atomic.h", "src/agent/a.cc", "tests/unit/a.cc", "bench/a.cc"):
                self.assertEqual(violations(allowed, line), [])
        self.assertEqual(violations("shm/a.cc", "// no std::atomic here"), [])

    def test_memory_order_needs_a_reason(self):
        line = "x.load(std::memory_order_acquire);"
        self.assertEqual(violations("shm/a.cc", line), ["1:memory-order"])
        self.assertEqual(violations("shm/a.cc", f"// SYNC(lane.commit): acquire\n{line}"), [])
        self.assertEqual(violations("shm/a.cc", f"{line}  // relaxed: own line"), [])
        self.assertEqual(violations("shm/a.cc", f"// SYNC(a)\n\n{line}"), ["3:memory-order"])
        self.assertEqual(violations("src/agent/a.cc", line), [])

    def test_atomic_sleep(self):
        self.assertEqual(violations("tests/unit/a.cc", "a.notify_one();"), ["1:atomic-wait"])
        with_cv = "#include <condition_variable>\nc->notify_all();"
        self.assertEqual(violations("src/agent/a.cc", with_cv), [])
        self.assertEqual(violations("src/send/a.cc", with_cv), ["2:atomic-wait"])

    def test_include_direction(self):
        def allowed(name, target):
            header = {target.strip('"'): "#pragma once\n"} if target.startswith('"') else {}
            return violations(name, f"#include {target}\n", *header.items()) == []

        self.assertTrue(allowed("shm/a.cc", "<cstdint>"))
        self.assertTrue(allowed("shm/a.cc", '"shm/b.h"'))
        for target in ("<sys/mman.h>", "<fmt/format.h>", '"src/os/b.h"', '"b.h"', "<beeline/b.h>"):
            self.assertFalse(allowed("shm/a.cc", target), target)
        self.assertTrue(allowed("include/beeline/a.h", "<tl/expected.hpp>"))
        self.assertTrue(allowed("include/beeline/a.h", "<beeline/b.h>"))
        for target in ('"shm/b.h"', "<sys/mman.h>", "<nlohmann/json.hpp>"):
            self.assertFalse(allowed("include/beeline/a.h", target), target)
        self.assertTrue(allowed("src/os/a.cc", "<sys/mman.h>"))
        self.assertFalse(allowed("src/os/a.cc", "<boost/interprocess/mapped_region.hpp>"))
        for target in ("<poll.h>", "<vector>", "<beeline/agent.h>", '"src/c/list.h"'):
            self.assertTrue(allowed("src/c/a.cc", target), target)
        for target in ('"src/agent/core.h"', '"shm/b.h"', "<fmt/format.h>"):
            self.assertFalse(allowed("src/c/a.cc", target), target)
        for target in ("<Python.h>", "<vector>", "<beeline/c.h>", "<beeline/c/loop.h>"):
            self.assertTrue(allowed("bindings/python/core/a.cc", target), target)
        for target in ("<beeline/agent.h>", '"src/os/b.h"', "<fmt/format.h>"):
            self.assertFalse(allowed("bindings/python/core/a.cc", target), target)
        self.assertTrue(allowed("src/os/a.cc", "<beeline/result.h>"))
        for target in ('"shm/b.h"', '"src/wake/b.h"', "<beeline/b.h>", "<fmt/format.h>"):
            self.assertFalse(allowed("src/os/a.cc", target), target)
        self.assertFalse(allowed("src/send/a.cc", '"src/receive/b.h"'))
        self.assertFalse(allowed("src/receive/a.cc", '"src/send/b.h"'))
        self.assertFalse(allowed("src/receive/a.cc", '"src/control/b.h"'))
        self.assertTrue(allowed("src/agent/a.cc", '"src/send/b.h"'))

    def test_a_member_that_is_inline_in_a_source_is_called_there_alone(self):
        home = ("src/a/b.cc", "inline bool Lane::is_full(int a) {\n  return a;\n}\n")
        users = ("CMakeLists.txt", "target_sources(beeline PRIVATE src/a/b.cc src/a/c.cc)")
        caller = "void Lane::put() {\n  if (is_full(1)) return;\n  a.is_full(1);\n}\n"
        self.assertEqual(violations("src/a/c.cc", caller, home, users), ["2:inline"])
        other = caller.replace("Lane", "Link")
        self.assertEqual(violations("src/a/c.cc", other, home, users), [])
        usual = (home[0], home[1].replace("inline ", ""))
        self.assertEqual(violations("src/a/c.cc", caller, usual, users), [])

    def test_pragmas(self):
        self.assertEqual(violations("shm/a.h", "// #pragma once\nint a;\n"), ["1:pragma-once"])
        self.assertEqual(violations("shm/a.cc", "#pragma pack(push, 1)"), ["1:pragma-pack"])

    def test_one_form_of_what_can_be_written_in_two_ways(self):
        self.assertEqual(violations("shm/a.cc", "static_cast<void>(f());"), ["1:one-form"])
        self.assertEqual(violations("shm/a.cc", "(void)f();  // static_cast<void>(1)"), [])
        for line in ("template <class T>", "template <typename T, class U = int>"):
            self.assertEqual(violations("shm/a.cc", line), ["1:one-form"], line)
        self.assertEqual(violations("shm/a.cc", "template <typename T>\nclass A {};"), [])
        self.assertEqual(violations("src/os/a.cc", "int a;  ///< bytes"), ["1:one-form"])
        self.assertEqual(violations("include/beeline/a.h", "/// Bytes."), [])

    def test_unfinished_and_places(self):
        self.assertEqual(violations("shm/a.cc", "// TO" "DO: later"), ["1:unfinished"])
        self.assertEqual(violations("shm/a.cc", 'mkstemp("a.XXXXXX");'), [])
        self.assertEqual(violations("shm/a.cc", "// /ho" "me/me/a"), ["1:absolute-path"])
        self.assertEqual(violations("shm/a.cc", "// tests/wo" "rk/a"), [])

    def test_unreferenced_files(self):
        self.assertEqual(violations("shm/a.cc", "", ("shm/b.cc", "")), ["1:unreferenced"])
        alone = ("shm/b.h", "#pragma once")
        self.assertEqual(violations("shm/a.cc", "", alone), ["1:unreferenced"])
        near = ("tests/unit/CMakeLists.txt", "beeline_add_test(b SOURCES b.cc ../c.cc)")
        self.assertEqual(
            violations("shm/a.cc", "", ("tests/unit/b.cc", ""), ("tests/c.cc", ""), near), []
        )


if __name__ == "__main__":
    unittest.main()
