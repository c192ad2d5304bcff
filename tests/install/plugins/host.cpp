// host main|thread PLUGIN...: loads plugins, runs them, on the main thread or on one that ends, and unloads them; and once more.
#include <dlfcn.h>

#include <cstdio>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#ifdef USES_THE_LIBRARY
extern "C" int run_plugin();
#endif

int main(int count, char** arguments) {
  const bool on_a_thread = count > 1 && std::string_view(arguments[1]) == "thread";
  int failed = 0;
  const auto run = [&](const std::function<int()>& f) {
    if (on_a_thread)
      std::thread([&] { failed += f(); }).join();
    else
      failed += f();
  };
  for (int round = 0; round < 2; ++round) {
    std::vector<void*> plugins;
    for (int i = 2; i < count; ++i) {
      plugins.push_back(dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL));
      if (!plugins.back()) return std::fprintf(stderr, "host: %s\n", dlerror()), 1;
    }
#ifdef USES_THE_LIBRARY
    run(run_plugin);
#endif
    for (void* plugin : plugins) run(reinterpret_cast<int (*)()>(dlsym(plugin, "run_plugin")));
    for (void* plugin : plugins) dlclose(plugin);
  }
  return failed == 0 ? 0 : 1;
}
