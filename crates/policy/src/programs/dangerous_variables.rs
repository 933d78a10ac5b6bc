//! Variables that make a program run, load or reach something that its command does not name.

use super::list_contains;

/// Variable names, or prefixes with `*`, and their effects.
const VARIABLES: &[(&str, &str)] = &[
    ("LD_* DYLD_*", "makes every program load other code"),
    (
        "GCONV_PATH NLSPATH LOCPATH GETCONF_DIR HOSTALIASES RESOLV_HOST_CONF MALLOC_TRACE",
        "makes every program load or reach something else",
    ),
    ("PATH", "says which programs run"),
    ("BASH_ENV ENV ZDOTDIR FPATH", "makes a shell run a file"),
    (
        "BASH_FUNC_* PROMPT_COMMAND PS0 PS1 PS2 PS4 SHELLOPTS BASHOPTS CDPATH IFS GLOBIGNORE
         BASH_LOADABLES_PATH",
        "changes what a shell runs",
    ),
    ("SHELL", "says which shell other programs run"),
    (
        "PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONWARNINGS PYTHONUSERBASE
         PYTHONPLATLIBDIR PYTHONEXECUTABLE PYTEST_ADDOPTS PYTEST_PLUGINS PIP_* UV_INDEX* UV_DEFAULT_INDEX",
        "makes Python load other code",
    ),
    (
        "NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_REPL_EXTERNAL_MODULE BUN_OPTIONS DENO_*",
        "makes Node load other code",
    ),
    ("npm_config_* YARN_* COREPACK_*", "changes what a package manager runs or reaches"),
    ("PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL", "makes Perl load other code"),
    ("RUBYOPT RUBYLIB RUBYSHELL GEM_HOME GEM_PATH BUNDLE_*", "makes Ruby load other code"),
    (
        "PHPRC PHP_INI_SCAN_DIR LUA_PATH* LUA_CPATH* LUA_INIT* TCLLIBPATH R_PROFILE* R_ENVIRON*
         JULIA_LOAD_PATH ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS",
        "makes an interpreter load other code",
    ),
    (
        "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH MAVEN_OPTS MAVEN_ARGS
         GRADLE_OPTS ANT_OPTS SBT_OPTS",
        "makes Java load other code",
    ),
    ("DOTNET_STARTUP_HOOKS CORECLR_* COR_* DOTNET_ADDITIONAL_DEPS MSBUILD*", "makes .NET load other code"),
    (
        "RUSTC RUSTDOC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFMT RUSTFLAGS RUSTDOCFLAGS RUSTUP_TOOLCHAIN
         RUSTUP_DIST_SERVER RUSTUP_UPDATE_ROOT CARGO CARGO_HOME CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTC*
         CARGO_BUILD_RUSTDOC* CARGO_BUILD_RUSTFLAGS CARGO_TARGET_*_RUNNER CARGO_TARGET_*_LINKER
         CARGO_TARGET_*_RUSTFLAGS CARGO_REGISTRIES_* CARGO_REGISTRY_* CARGO_SOURCE_* CARGO_HTTP_* CARGO_NET_*
         CARGO_ALIAS_* CARGO_UNSTABLE_* CARGO_CREDENTIAL_ALIAS_*",
        "changes what cargo runs or reaches",
    ),
    (
        "GOFLAGS GOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOINSECURE GOENV GOROOT GOTOOLDIR GOTOOLCHAIN GOVCS
         CGO_*",
        "changes what go runs or reaches",
    ),
    ("MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES MAKE", "changes what make runs"),
    (
        "CC CXX CPP LD AR AS CCACHE_* CC_WRAPPER CMAKE_*_LAUNCHER CMAKE_TOOLCHAIN_FILE GCC_EXEC_PREFIX
         COMPILER_PATH",
        "says which compiler runs",
    ),
    (
        "GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT
         GIT_ASKPASS GIT_PROXY_COMMAND GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG* GIT_WORK_TREE
         GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE
         GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_ALLOW_PROTOCOL GIT_PROTOCOL_FROM_USER
         GIT_SSL_* GIT_PROXY_SSL_* GIT_ATTR_* GIT_TRACE* GIT_REDIRECT_* GIT_SHALLOW_FILE GIT_GRAFT_FILE
         GIT_TERMINAL_PROMPT GIT_COOKIES",
        "changes what git runs or reaches",
    ),
    ("LESSOPEN LESSCLOSE LESS LESSKEY* LESSKEYIN LESSEDIT", "makes a pager run something"),
    (
        "SSH_ASKPASS SSH_ASKPASS_REQUIRE SUDO_ASKPASS SSH_AUTH_SOCK RSYNC_RSH RSYNC_* CVS_RSH",
        "says what asks for passwords or connects",
    ),
    ("GREP_OPTIONS ACKRC FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS", "adds options to a search"),
    ("TAR_OPTIONS TAPE RSH GZIP BZIP2 XZ_OPT XZ_DEFAULTS ZIPOPT UNZIP", "adds options to an archiver"),
    (
        "CURL_HOME CURL_CA_BUNDLE WGETRC SSL_CERT_FILE SSL_CERT_DIR OPENSSL_CONF OPENSSL_MODULES
         OPENSSL_ENGINES REQUESTS_CA_BUNDLE SSLKEYLOGFILE",
        "changes whom a connection trusts",
    ),
    (
        "HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY http_proxy https_proxy all_proxy ftp_proxy NO_PROXY
         no_proxy",
        "sends connections elsewhere",
    ),
    (
        "DOCKER_* KUBECONFIG AWS_CONFIG_FILE AWS_ENDPOINT_URL* CLOUDSDK_* TF_CLI_* HELM_*",
        "changes what is reached",
    ),
    (
        "HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS XDG_RUNTIME_DIR",
        "says where programs find their configuration",
    ),
    (
        "TERMINFO TERMINFO_DIRS TERMCAP MAGIC POSIXLY_CORRECT _POSIX2_VERSION",
        "changes how words or files are read",
    ),
    (
        "GDK_PIXBUF_MODULE_FILE GTK_MODULES GIO_EXTRA_MODULES QT_PLUGIN_PATH VK_* __GL_*
         CUDA_INJECTION64_PATH",
        "makes programs load other code",
    ),
    ("EMACSLOADPATH VIMINIT GVIMINIT EXINIT VIM VIMRUNTIME MYVIMRC", "makes an editor run commands"),
    (
        "GPG_* GNUPGHOME DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY",
        "says which agent or desktop is spoken to",
    ),
];

/// Returns the danger of setting the variable `name` for a command; `None` if none is known.
pub fn dangerous_variable(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix('+').unwrap_or(name);
    // npm reads its variables in any letter case.
    let lower = name.to_ascii_lowercase();
    let name = if lower.starts_with("npm_config_") { &lower } else { name };
    let names = |listed: &'static str| {
        list_contains(listed, name)
            || listed.split_whitespace().any(|pattern| matches_wildcard(pattern, name))
    };
    VARIABLES.iter().find(|(listed, _)| names(listed)).map(|(_, why)| *why)
}

/// Returns true if `name` matches `pattern`, which contains one `*`.
fn matches_wildcard(pattern: &str, name: &str) -> bool {
    pattern
        .split_once('*')
        .is_some_and(|(begin, end)| name.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end)))
}
