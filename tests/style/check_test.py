"""Each rule of the style check, shown to find what it forbids and to pass what it allows."""

import textwrap
import unittest

import check
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


class Rules(unittest.TestCase):
    def test_lengths(self):
        self.assertEqual(violations("src/os/a.cc", "\n" * 501), ["501:file-length"])
        self.assertEqual(violations("src/os/a.cc", "\n" * 500), [])
        self.assertEqual(violations("src/os/a.cc", "// " + "x" * 98), ["1:columns"])
        self.assertEqual(violations("src/os/a.cc", "// " + "x" * 97), [])

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
        self.assertTrue(allowed("src/os/a.cc", "<boost/interprocess/mapped_region.hpp>"))
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
