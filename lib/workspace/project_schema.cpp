#include "workspace/project_schema.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "exec/process.hpp"
#include "workspace/config_loader.hpp"

namespace vx::workspace::schema {
namespace {

bool has_nul(std::string_view s) noexcept { return s.find('\0') != std::string_view::npos; }

// --- exec
// ------------------------------------------------------------------------------------------------------------------------

bool is_command(checker& c, const json::value& v, const field&) {
  if (!v.is_string()) return c.must(v, "must be a string that `sh -c` runs; join several commands with &&");
  if (is_blank(v.as_string())) return c.refuse(v, "must not be empty or blank: leave `exec` out for a group");
  if (has_nul(v.as_string())) return c.refuse(v, "must not hold a NUL byte");
  return true;
}

bool is_retries(checker& c, const json::value& v, const field& f) {
  return integral(v, 0, 2147483647).has_value() || c.must(v, f.must);
}

bool is_remote(checker& c, const json::value& v, const field& f) {
  return v.is_bool() || (v.is_string() && v.as_string() == "only") || c.must(v, f.must);
}

bool is_ready_pattern(checker& c, const json::value& v, const field& f) {
  if (!v.is_string()) return c.must(v, f.must);
  const std::string fault = exec::check_ready_pattern(v.as_string());
  return fault.empty() ||
         c.refuse(v, "must be a regular expression that vx can match in linear time: " + fault + " in " + show(v));
}

bool is_define(checker& c, const json::value& v, const field& f) {
  if (!v.is_object()) return c.must(v, f.must);
  for (const json::member& m : v.as_object()) {
    const bool ok = c.inside(m.name, [&] {
      json::value name(m.name);
      name.at = m.at;
      if (!check_env_name(c, name, m.name, true)) return false;
      if (!m.val.is_string()) return c.must(m.val, "must be a string: write the value in quotes");
      return !has_nul(m.val.as_string()) || c.refuse(m.val, "must not hold a NUL byte");
    });
    if (!ok) return false;
  }
  return true;
}

constexpr field k_env_fields[] = {
    {"passThrough", is_shell_env_names},
    {"define", is_define, "must be an object of name to string"},
    {"secret", is_env_names},
};
constexpr level k_env_level{"env", "must be an object { passThrough, define, secret }", k_env_fields};

constexpr field k_persistent_fields[] = {{"readyWhen", is_ready_pattern, "must be a string with a regular expression"}};
constexpr level k_persistent_level{"persistent", "must be an object { readyWhen? }: write `{}` for ready at spawn",
                                   k_persistent_fields};

bool exec_rules(checker& c, const json::value& v) {
  if (v.get("command") == nullptr) return c.missing("command", "is required in `exec`");
  const json::value* interactive = v.get("interactive");
  if (interactive != nullptr && interactive->as_bool()) {
    if (v.get("sandbox") != nullptr) {
      return c.refuse_member(v, "sandbox", "cannot go with `exec.interactive`: a sandboxed task has no terminal");
    }
    const json::value* p = v.get("persistent");
    if (p != nullptr && p->get("readyWhen") != nullptr) {
      return c.inside("persistent", [&] {
        return c.refuse_member(*p, "readyWhen",
                               "cannot go with `exec.interactive`: output that goes to the terminal is not read");
      });
    }
  }
  if (v.get("retries") != nullptr && v.get("persistent") != nullptr) {
    return c.refuse_member(v, "retries", "cannot go with `exec.persistent`: a server that ended is not started again");
  }
  return true;
}

constexpr field k_exec_fields[] = {
    {"command", is_command},
    {"env", is_nested, {}, &k_env_level},
    {"timeout", is_milliseconds},
    {"retries", is_retries, "must be an integer from 0 to 2147483647"},
    {"persistent", is_nested, {}, &k_persistent_level},
    {"interactive", is_flag},
    {"remote", is_remote, "must be true, false or \"only\""},
    {"sandbox", is_nested, {}, &k_sandbox_level},
};
constexpr pointer k_exec_pointers[] = {
    {"cmd", "write it as `command`"},
    {"cwd", "a command runs in its project's directory; write `cd dir && ...` in `command`"},
    {"args", "write the arguments into `command`"},
    {"commands", "join them with && in `command`, or declare several tasks"},
    {"parallel", "declare several tasks and a group that depends on them"},
    {"shell", "a command always runs with sh -c"},
    {"resources", "the number of tasks at a time is `concurrency` of the workspace config"},
};
constexpr level k_exec_level{"exec", "must be an object with a `command` string", k_exec_fields, k_exec_pointers, exec_rules};

// --- cache
// -----------------------------------------------------------------------------------------------------------------------

bool is_commands(checker& c, const json::value& v, const field& f) {
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a command string");
    if (is_blank(e.as_string())) return c.refuse(e, "must not be an empty or blank command");
    return !has_nul(e.as_string()) || c.refuse(e, "must not hold a NUL byte");
  });
}

bool files_required(checker& c, const json::value& v) {
  return v.get("files") != nullptr || c.missing("files", "is required: write `[]` for none");
}

constexpr pointer k_list_pointers[] = {
    {"globs", "write them as `files`"},         {"include", "write them as `files`"},
    {"patterns", "write them as `files`"},      {"exclude", "write a `!` entry in `files`"},
    {"ignore", "write a `!` entry in `files`"},
};
constexpr field k_inputs_fields[] = {
    {"files", is_input_globs},
    {"workspaceFiles", is_input_globs},
    {"env", is_env_names},
    {"runtime", is_commands, "must be an array of commands"},
    {"workspaceRuntime", is_commands, "must be an array of commands"},
    {"tasks", is_task_filter},
};
constexpr level k_inputs_level{"inputs", "must be an object: write `{ files: [...] }`", k_inputs_fields, k_list_pointers,
                               files_required};
constexpr field k_outputs_fields[] = {
    {"files", is_output_globs},
    {"workspaceFiles", is_output_globs},
};
constexpr level k_outputs_level{"outputs", "must be an object: write `{ files: [...] }`", k_outputs_fields, k_list_pointers,
                                files_required};

bool cache_rules(checker& c, const json::value& v) {
  for (const char* part : {"inputs", "outputs"}) {
    if (v.get(part) == nullptr) return c.missing(part, "is required when `cache` is set: write `{ files: [] }` for none");
  }
  return true;
}

constexpr field k_cache_fields[] = {
    {"inputs", is_nested, {}, &k_inputs_level},
    {"outputs", is_nested, {}, &k_outputs_level},
    {"portable", is_flag},
    {"inputStability", is_nested, {}, &k_stability_level},
};
constexpr pointer k_cache_pointers[] = {
    {"files", "source files are `cache.inputs.files`, results `cache.outputs.files`"},
    {"output", "write it as `outputs`"},
    {"env", "variables that decide the result are `cache.inputs.env`"},
    {"dependencies", "tasks that come first are `dependsOn`; which of them are keyed is `cache.inputs.tasks`"},
    {"enabled", "a task without `cache` is never cached"},
};
constexpr level k_cache_level{"cache", "must be an object { inputs, outputs }: leave `cache` out to run every time",
                              k_cache_fields, k_cache_pointers, cache_rules};

// --- task
// ------------------------------------------------------------------------------------------------------------------------

bool is_depends_on(checker& c, const json::value& v, const field& f) {
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) { return e.is_string() || c.must(e, f.must); });
}

bool group_writes_nothing(checker& c, const json::value& task) {
  const json::value* outputs = task.get("cache")->get("outputs");
  for (const char* list : {"files", "workspaceFiles"}) {
    const json::value* v = outputs->get(list);
    if (v == nullptr || v->as_array().empty()) continue;
    return c.inside("cache", [&] {
      return c.inside("outputs",
                      [&] { return c.refuse_member(*outputs, list, "must be empty: a task without exec writes nothing"); });
    });
  }
  return true;
}

bool exec_against_cache(checker& c, const json::value& task) {
  const json::value* exec = task.get("exec");
  const json::value* cache = task.get("cache");
  const auto refuse = [&](const char* field, const char* what) {
    return c.inside("exec", [&] { return c.refuse_member(*exec, field, what); });
  };
  if (cache != nullptr && exec->get("persistent") != nullptr) {
    return refuse("persistent", "cannot go with `cache`: a server never ends, so there is no result to keep");
  }
  const json::value* interactive = exec->get("interactive");
  if (cache != nullptr && interactive != nullptr && interactive->as_bool()) {
    return refuse("interactive", "cannot go with `cache`: what a person types is no declared input");
  }
  const json::value* remote = exec->get("remote");
  if (cache == nullptr && remote != nullptr && remote->is_string()) {
    return refuse("remote", "can be \"only\" for a task with `cache` only: elsewhere its result could not arrive");
  }
  return true;
}

bool task_rules(checker& c, const json::value& task) {
  const json::value* exec = task.get("exec");
  const json::value* cache = task.get("cache");
  if (exec == nullptr && cache == nullptr && task.get("dependsOn") == nullptr) {
    return c.refuse(task, "has nothing to do: declare exec, dependsOn or cache");
  }
  if (exec != nullptr && !exec_against_cache(c, task)) return false;
  if (cache == nullptr) return true;
  if (exec == nullptr && !group_writes_nothing(c, task)) return false;
  return check_task_filter(c, task) && check_task_globs(c, task);
}

constexpr field k_task_fields[] = {
    {"description", is_text},
    {"exec", is_nested, {}, &k_exec_level},
    {"dependsOn", is_depends_on,
     "must be an array of strings: \"task\", \"^task\", \"project#task\", \"//#task\", \"task.*\" or \"^task.*\""},
    {"cache", is_nested, {}, &k_cache_level},
};
constexpr pointer k_task_pointers[] = {
    {"outputs", "its home is `cache.outputs`"},
    {"inputs", "its home is `cache.inputs`"},
    {"env", "its home is `exec.env`; variables that decide the result are `cache.inputs.env`"},
    {"passThroughEnv", "its home is `exec.env.passThrough`"},
    {"persistent", "its home is `exec.persistent`"},
    {"outputLogs", "what is shown is chosen on the command line"},
    {"interactive", "its home is `exec.interactive`"},
    {"with", "name the companion in `dependsOn`; a persistent task is waited for until it is ready"},
    {"executor", "its home is `exec.command`"},
    {"options", "write the command into `exec.command`"},
    {"continuous", "its home is `exec.persistent`"},
    {"cwd", "a command runs in its project's directory; write `cd dir && ...` in `exec.command`"},
    {"parallelism", "the number of tasks at a time is `concurrency` of the workspace config"},
    {"configurations", "declare one task for each configuration"},
    {"command", "its home is `exec.command`"},
    {"cmd", "its home is `exec.command`"},
    {"script", "its home is `exec.command`"},
    {"timeout", "its home is `exec.timeout`"},
    {"retries", "its home is `exec.retries`"},
    {"sandbox", "its home is `exec.sandbox`"},
};
constexpr level k_task_level{"task", "must be an object", k_task_fields, k_task_pointers, task_rules};

// --- project
// ---------------------------------------------------------------------------------------------------------------------

bool is_tasks(checker& c, const json::value& v, const field& f) {
  if (!v.is_object()) return c.must(v, f.must);
  for (const json::member& m : v.as_object()) {
    const bool ok = c.inside(m.name, [&] {
      if (const std::string fault = task_name_fault(m.name); !fault.empty()) {
        json::value name(m.name);
        name.at = m.at;
        return c.refuse(name, "is no task name: it " + fault);
      }
      c.ctx.task = m.name;
      if (m.val.is_string()) {
        json::object exec, task;
        exec.add("command", m.val);
        task.add("exec", json::value(std::move(exec)));
        return c.refuse(m.val, "must be an object: write " + show(json::value(std::move(task))));
      }
      return c.object(m.val, k_task_level);
    });
    if (!ok) return false;
  }
  return true;
}

std::string tag_fault(std::string_view tag) {
  if (tag.empty()) return "is empty";
  if (text::has_surrounding_space(tag)) return "begins or ends with white space";
  if (tag.find('*') != std::string_view::npos) return "contains `*`";
  if (tag.ends_with("...")) return "ends in `...`";
  if (tag.back() == ']' && tag.find('[') != std::string_view::npos) return "ends in `[...]`";
  return {};
}

bool is_tags(checker& c, const json::value& v, const field& f) {
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a string");
    const std::string fault = tag_fault(e.as_string());
    return fault.empty() || c.refuse(e, show(e) + " " + fault + ": a `tag:` filter could not name it");
  });
}

bool is_own_name(checker& c, const json::value& v, const field& f) {
  if (c.ctx.has_package_name) return c.refuse(v, "must be left out: the name comes from package.json");
  if (!v.is_string()) return c.must(v, f.must);
  const std::string fault = check_project_name(v.as_string());
  return fault.empty() || c.must(v, "must be a name that can be addressed: it " + fault);
}

bool is_dependencies(checker& c, const json::value& v, const field& f) {
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) {
    return (e.is_string() && !e.as_string().empty()) || c.must(e, "must be the name of a project");
  });
}

bool project_rules(checker& c, const json::value& v) {
  const json::value* name = v.get("name");
  const json::value* deps = v.get("dependencies");
  if (name == nullptr || deps == nullptr) return true;
  return c.inside("dependencies", [&] {
    return c.each(deps->as_array(), [&](const json::value& e) {
      return e.as_string() != name->as_string() || c.must(e, "must name another project");
    });
  });
}

constexpr field k_project_fields[] = {
    {"tasks", is_tasks, "must be an object keyed by task name"},
    {"tags", is_tags, "must be an array of strings"},
    {"name", is_own_name, "must be a string"},
    {"dependencies", is_dependencies, "must be an array of project names"},
    {"$schema", is_schema_link},
};
constexpr pointer k_project_pointers[] = {
    {"targets", "write them as `tasks`"},
    {"extends", "a config is complete where it is read; import a preset in a JS or TS config"},
    {"implicitDependencies", "write them as `dependencies`"},
    {"scripts", "write them as `tasks`"},
    {"pipeline", "write it as `tasks`"},
    {"namedInputs", "spell the globs out in `cache.inputs.files`, or import them from a preset"},
    {"root", "a project is the directory of its config file"},
    {"sourceRoot", "a project is the directory of its config file"},
    {"projectType", "write it as a tag in `tags`"},
    {"exec", "it belongs to a task: `tasks.<name>.exec`"},
    {"dependsOn", "it belongs to a task: `tasks.<name>.dependsOn`"},
    {"cache", "it belongs to a task: `tasks.<name>.cache`"},
    {"description", "it belongs to a task: `tasks.<name>.description`"},
    {"command", "it belongs to a task: `tasks.<name>.exec.command`"},
    {"inputs", "it belongs to a task: `tasks.<name>.cache.inputs`"},
    {"outputs", "it belongs to a task: `tasks.<name>.cache.outputs`"},
    {"env", "it belongs to a task: `tasks.<name>.exec.env`"},
};

}  // namespace

constinit const level k_project_level{"the project config", "must be an object", k_project_fields, k_project_pointers,
                                      project_rules};

std::string task_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (text::has_surrounding_space(name)) return "begins or ends with white space";
  if (name.find('#') != std::string_view::npos) return "contains `#`, which parts project and task";
  if (name.find('*') != std::string_view::npos) return "contains `*`, which makes a pattern";
  if (has_nul(name)) return "contains a NUL byte";
  if (name.front() == '^' || name.front() == '!')
    return std::string("begins with `") + name.front() + "`, which has a meaning in `dependsOn`";
  return {};
}

}  // namespace vx::workspace::schema

namespace vx::workspace {

std::string check_project_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (text::has_surrounding_space(name)) return "begins or ends with white space";
  if (name.find('#') != std::string_view::npos) return "contains `#`, which parts project and task";
  if (name.find('*') != std::string_view::npos) return "contains `*`, which makes a pattern";
  if (name.find('\0') != std::string_view::npos) return "contains a NUL byte";
  if (name == "//") return "is `//`, which addresses the root project";
  for (const std::string_view head : {"!", "^", "{", "[", "./"}) {
    if (name.starts_with(head)) return "begins with `" + std::string(head) + "`, which has a meaning in filters";
  }
  if (name.ends_with("...")) return "ends in `...`, which has a meaning in filters";
  return {};
}

}  // namespace vx::workspace
