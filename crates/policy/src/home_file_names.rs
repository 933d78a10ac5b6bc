//! Names of files that take effect on the user's machine, in a home directory that is itself a workspace.

/// Configuration below the user's home that shells, desktops, git, package managers and agents obey. It applies if the
/// home itself is a workspace.
pub const HOME_CONFIGURATION: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_completion",
    ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".config/zsh", ".oh-my-zsh",
    ".p10k.zsh", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".pam_environment", ".xprofile",
    ".xsession", ".xsessionrc", ".xinitrc", ".Xresources", ".tmux.conf", ".screenrc", ".config/tmux",
    ".config/kitty", ".config/wezterm", ".wezterm.lua", ".vimrc", ".vim", ".emacs", ".emacs.d",
    ".config/emacs", ".gdbinit", ".config/fish", ".lldbinit", ".Rprofile", ".config/nvim", ".config/git",
    ".config/systemd", ".config/autostart", ".config/plasma-workspace", ".config/sway", ".config/hypr",
    ".config/i3", ".config/environment.d", ".config/pip", ".config/direnv", ".config/mise",
    ".config/opencode", ".config/zed", ".config/Code", ".config/Cursor", ".config/Claude", ".config/goose",
    ".config/crush", ".config/github-copilot", ".config/gh", ".config/containers", ".config/toolgate",
    ".local/bin", ".local/share/applications", ".local/share/dbus-1", ".local/share/systemd",
    ".local/share/mise", ".local/state/toolgate", "bin", "go/bin", ".cargo/bin", ".cargo/env",
    ".cargo/config", ".cargo/config.toml", ".rustup", ".nvm", ".pyenv", ".rbenv", ".volta", ".asdf",
    ".deno/bin", ".bun/bin", ".gitconfig", ".gitattributes", ".hgrc", ".netrc", ".npmrc", ".yarnrc",
    ".yarnrc.yml", ".pypirc", ".condarc", ".curlrc", ".wgetrc", ".ssh", ".gnupg", ".aws", ".azure", ".kube",
    ".docker", ".claude.json", ".copilot", ".qwen", ".vscode-server", ".cursor-server", ".codeium",
    ".bash_it", ".oh-my-bash", ".zsh", ".zinit", ".sheldon", ".config/sheldon", ".fzf.bash", ".fzf.zsh",
    ".xonshrc", ".config/nushell", ".config/powershell", ".config/starship.toml", ".lessfilter", ".lesskey",
    ".mailcap", ".forward", ".procmailrc", ".editrc", ".dircolors", ".selected_editor", ".gnomerc",
    ".xbindkeysrc", ".xmonad", ".fvwm", ".icewm", ".fluxbox", ".kde", ".config/gdb", ".gdbearlyinit",
    ".pdbrc", ".irbrc", ".pryrc", ".iex.exs", ".ghci", ".ocamlinit", ".octaverc", ".psqlrc", ".sqliterc",
    ".perldb", ".rdebugrc", ".ipython", ".jupyter", ".julia/config", ".emacs.el", ".doom.d", ".spacemacs",
    ".spacemacs.d", ".SpaceVim.d", ".nanorc", ".tmux", ".direnvrc", ".lftprc", ".config/openbox",
    ".config/awesome", ".config/bspwm", ".config/qtile", ".config/river", ".config/niri", ".config/waybar",
    ".config/helix", ".config/alacritty", ".config/ghostty", ".config/zellij", ".config/lf",
    ".config/ranger", ".config/mpv", ".config/VSCodium", ".config/JetBrains", ".config/sublime-text",
    ".config/amp", ".config/codex", ".config/cursor", ".config/aichat", ".config/fabric",
    ".config/io.datasette.llm", ".config/user-dirs.dirs", ".config/fontconfig", ".config/topgrade.toml",
    ".config/broot", ".config/envman", ".config/nix", ".config/uv", ".config/npm", ".config/yarn",
    ".config/pypoetry", ".config/cargo", ".config/karabiner", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".mozilla", ".thunderbird", ".local/share/fish",
    ".local/share/nvim", ".local/share/bash-completion", ".local/share/gnome-shell", ".local/share/nautilus",
    ".local/share/zinit", ".local/share/flatpak", ".local/share/pipx", ".local/share/uv/tools",
    ".gradle/init.gradle", ".gradle/init.gradle.kts", ".gradle/init.d", ".gradle/gradle.properties",
    ".m2/settings.xml", ".m2/extensions.xml", ".mavenrc", ".sbt/1.0/plugins", ".sbt/1.0/global.sbt",
    ".sbt/0.13/plugins", ".ansible.cfg", ".terraformrc", ".gemrc", ".bundle/config", ".gem/ruby",
    ".yarn/bin", ".composer/vendor", ".pub-cache/bin", ".sdkman", ".ghcup", ".cabal/bin", ".opam",
    ".dotnet/tools", ".krew", ".npm-global", ".npm-packages", ".linuxbrew", ".nix-profile", ".poetry",
    ".rye", ".foundry", ".perl5", "perl5", ".hammerspoon", ".windsurf", ".trae", ".factory", ".augment",
    ".continue", ".aider.conf.yml",
];

/// Dot entries of a home that ordinary work writes: caches and project data. Among these only the names above are
/// protected. All other dot entries are protected, as they are for a command in any other workspace.
pub(crate) const HOME_WRITTEN: &[&str] = &[
    ".git", ".gitignore", ".gitmodules", ".github", ".gitlab", ".gitlab-ci.yml", ".dockerignore",
    ".editorconfig", ".cache", ".npm", ".cargo", ".m2", ".gradle", ".ivy2", ".sbt", ".nuget", ".yarn",
    ".bun", ".deno", ".pnpm-store", ".gem", ".bundle", ".composer", ".ccache", ".pub-cache", ".node-gyp",
    ".julia", ".cabal", ".dotnet", ".venv", ".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".next", ".terraform", ".coverage", ".DS_Store", ".local/lib", ".local/state", ".local/share/Trash",
    ".local/share/pnpm/store", ".local/share/uv",
];

/// Directories of a home, including the home itself, whose entries are judged one by one: each contains an entry above.
pub const HOME_LISTED: &[&str] = &["", ".local", ".local/share", ".local/share/pnpm"];
