/* nvrtc.cpp - a program compiles kernels while it runs (nvrtc.h): wbcc makes a module in a
 * temporary folder. */
#include "include/nvrtc.h"
#include "scheduler.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern char **environ;
/* The path of wbcc, which defines it where it links a program that calls NVRTC */
extern "C" __attribute__((weak)) const char wbcpu_compiler[];

struct _nvrtcProgram {
    struct file {
        std::string name, text;
    };
    file source;
    std::vector<file> headers;
    std::vector<std::string> expressions, names;
    std::string log, module;
    bool compiled;
};

namespace wbcpu
{
static std::string contents(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}
/* Names come from the program: "../x.h" must not leave the folder. */
static bool write_file(const std::string &folder, const _nvrtcProgram::file &f)
{
    std::filesystem::path path(f.name);
    std::error_code error;
    if (path.is_absolute() || f.name.find("..") != std::string::npos) return false;
    path = folder / path;
    std::filesystem::create_directories(path.parent_path(), error);
    return (bool)(std::ofstream(path, std::ios::binary) << f.text);
}

/* Runs the command with its output in a file; 0 if it succeeds. */
static int run_command(const std::vector<std::string> &command, const std::string &log)
{
    std::vector<char *> words;
    for (const std::string &word : command)
        words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ) == 0)
        waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&files);
    return status;
}

/* The options for the preprocessor and the language, as wbcc takes them */
static std::vector<std::string> host_options(int count, const char *const *options)
{
    std::vector<std::string> chosen;
    for (int i = 0; i < count; i++) {
        std::string option = options[i], name = option.substr(0, option.find('='));
        bool is_long = name == "--include-path" || name == "--define-macro" ||
                       name == "--undefine-macro" || name == "--pre-include" ||
                       name == "--std" || name == "-std" || name == "-include";
        bool is_short =
            option.size() >= 2 && option[0] == '-' && strchr("IDU", option[1]);
        if (!is_long && !is_short) continue;
        chosen.push_back(option);
        bool has_value = is_long ? option.size() > name.size() : option.size() > 2;
        if (!has_value && i + 1 < count) chosen.push_back(options[++i]);
    }
    return chosen;
}

/* An instance of a template is compiled if the module takes its address. */
static std::string instances(const std::vector<std::string> &expressions)
{
    std::string text = "\n";
    for (size_t i = 0; i < expressions.size(); i++)
        text += "extern \"C\" const void *const wbcpu_instance_" + std::to_string(i) +
                " = ::wbcpu::kernel_address(" + expressions[i] + ");\n";
    return text;
}

extern "C" nvrtcResult nvrtcCreateProgram(
    nvrtcProgram *program, const char *source, const char *name, int header_count,
    const char *const *headers, const char *const *include_names)
{
    if (!program || !source || header_count < 0) return NVRTC_ERROR_INVALID_INPUT;
    std::string file = name && *name ? name : "default_program";
    file = file.substr(file.rfind('/') + 1);
    if (file.size() < 3 || file.substr(file.size() - 3) != ".cu") file += ".cu";
    *program = new _nvrtcProgram{{file, source}, {}, {}, {}, {}, {}, false};
    for (int i = 0; i < header_count; i++)
        (*program)->headers.push_back({include_names[i], headers[i]});
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    if (!program || !*program) return NVRTC_ERROR_INVALID_PROGRAM;
    delete *program;
    *program = nullptr;
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult
nvrtcCompileProgram(nvrtcProgram p, int option_count, const char *const *options)
{
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    const char *place = getenv("TMPDIR");
    std::string folder = std::string(place ? place : "/tmp") + "/nvrtc.XXXXXX";
    if (!mkdtemp(&folder[0])) return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    bool written =
        write_file(folder, {p->source.name, p->source.text + instances(p->expressions)});
    for (const auto &header : p->headers)
        written &= write_file(folder, header);
    std::string module = folder + "/module", log = folder + "/log";
    std::vector<std::string> command = {
        wbcpu_compiler ? wbcpu_compiler : "wbcc",
        "-cubin",
        "-o",
        module,
        "-I",
        folder,
        folder + "/" + p->source.name};
    for (const std::string &option : host_options(option_count, options))
        command.push_back(option);
    int status = written ? run_command(command, log) : -1;
    p->log = contents(log);
    p->module = contents(module);
    p->compiled = status == 0;
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    if (status == -1) p->log = "NVRTC: " + command[0] + " cannot be run\n";
    return p->compiled ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

extern "C" nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *bytes)
{
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    *bytes = p->log.size() + 1;
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *log)
{
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(log, p->log.c_str(), p->log.size() + 1);
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *bytes)
{
    if (!p || !p->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
    *bytes = p->module.size();
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *module)
{
    if (!p || !p->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(module, p->module.data(), p->module.size());
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *bytes)
{
    return nvrtcGetCUBINSize(p, bytes);
}
extern "C" nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *module)
{
    return nvrtcGetCUBIN(p, module);
}

extern "C" nvrtcResult nvrtcAddNameExpression(nvrtcProgram p, const char *expression)
{
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (p->compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    p->expressions.push_back(expression);
    p->names.push_back("*wbcpu_instance_" + std::to_string(p->names.size()));
    return NVRTC_SUCCESS;
}
extern "C" nvrtcResult
nvrtcGetLoweredName(nvrtcProgram p, const char *expression, const char **name)
{
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!p->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    for (size_t i = 0; i < p->expressions.size(); i++)
        if (p->expressions[i] == expression) {
            *name = p->names[i].c_str();
            return NVRTC_SUCCESS;
        }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

extern "C" const char *nvrtcGetErrorString(nvrtcResult result)
{
    static const char *const names[] = {
        "NVRTC_SUCCESS",
        "NVRTC_ERROR_OUT_OF_MEMORY",
        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
        "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM",
        "NVRTC_ERROR_INVALID_OPTION",
        "NVRTC_ERROR_COMPILATION",
        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        "NVRTC_ERROR_INTERNAL_ERROR"};
    return text_of(names, result, "NVRTC_ERROR unknown");
}
extern "C" nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = CUDART_VERSION / 1000;
    *minor = CUDART_VERSION % 1000 / 10;
    return NVRTC_SUCCESS;
}
}  // namespace wbcpu
