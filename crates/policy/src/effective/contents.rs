//! What each preset says.

use super::Preset;
use crate::{
    document::Network,
    env::NamePattern,
    files::{Access, FileRule, IfMissing, Kind, Origin, TOOL_SETTINGS},
};

impl Preset {
    /// What it extends.
    pub(super) fn extends(self) -> &'static [Self] {
        match self {
            Self::Workspace => {
                &[Self::System, Self::Secrets, Self::Git, Self::Caches, Self::ToolSettings]
            }
            Self::Offline => &[Self::Workspace],
            Self::Strict => &[Self::System, Self::Secrets, Self::Git],
            Self::Open
            | Self::System
            | Self::Secrets
            | Self::Git
            | Self::Commits
            | Self::Caches
            | Self::ToolSettings => &[],
        }
    }

    /// The rules for files that it adds.
    pub(super) fn files(self) -> Vec<FileRule> {
        let rules = |access, if_missing, paths: &[&str]| {
            let rule = |path: &&str| {
                let path = path.parse().ok()?;
                Some(FileRule { access, path, origin: Origin::Preset(self), if_missing })
            };
            paths.iter().filter_map(rule).collect::<Vec<_>>()
        };
        match self {
            Self::Open => rules(Access::Write, IfMissing::Fail, &["/"]),
            Self::Workspace => rules(Access::Write, IfMissing::Fail, &["./"]),
            Self::Offline => Vec::new(),
            Self::Strict => rules(Access::Read, IfMissing::Fail, &["./"]),
            Self::System => [
                rules(Access::Read, IfMissing::Skip, &["/"]),
                rules(Access::Private, IfMissing::Skip, &["/tmp", "/var/tmp"]),
                rules(Access::Private, IfMissing::Guard(Kind::Directory), PROGRAMS_OF_NPM),
                rules(Access::Hide, IfMissing::Skip, SOCKETS),
                rules(Access::Read, IfMissing::Skip, READ_IN_RUN),
            ]
            .concat(),
            Self::Secrets => rules(Access::Hide, IfMissing::Skip, SECRETS),
            Self::Git => [
                rules(Access::Read, IfMissing::Guard(Kind::Directory), &["./.git"]),
                rules(Access::Read, IfMissing::Skip, NESTED_REPOSITORIES),
            ]
            .concat(),
            Self::Commits => [
                rules(Access::Read, IfMissing::Guard(Kind::Directory), &["./.git/hooks"]),
                rules(
                    Access::Read,
                    IfMissing::Guard(Kind::File),
                    &["./.git/config", "./.git/config.worktree"],
                ),
            ]
            .concat(),
            Self::Caches => rules(Access::Write, IfMissing::Skip, CACHES),
            Self::ToolSettings => {
                rules(Access::Read, IfMissing::Skip, &TOOL_SETTINGS.map(|setting| setting.name))
            }
        }
    }

    /// What it says of the network.
    pub(super) fn network(self) -> Option<Network> {
        match self {
            Self::Open | Self::Workspace => Some(Network::Host),
            Self::Offline | Self::Strict => Some(Network::None),
            Self::System
            | Self::Secrets
            | Self::Git
            | Self::Commits
            | Self::Caches
            | Self::ToolSettings => None,
        }
    }

    /// The variables that it passes.
    pub(super) fn env(self) -> Option<Vec<NamePattern>> {
        match self {
            Self::Open | Self::Workspace => Some(vec![NamePattern::any()]),
            Self::Strict => Some(STRICT_ENV.iter().filter_map(|name| name.parse().ok()).collect()),
            _ => None,
        }
    }
}

/// Names the secrets below a directory of the home, such as `~/.config/`, but for those with wildcards.
pub(super) fn secrets_below(directory: &str) -> impl Iterator<Item = &'static str> {
    let below = SECRETS.iter().filter_map(move |path| path.strip_prefix(directory));
    below.filter(|path| !path.contains('*'))
}

/// Programs that npm's tools run again without asking for them: those that commands install are theirs alone. They are the packages of
/// npx, and the native modules that prebuild-install has downloaded, which no lock file names.
const PROGRAMS_OF_NPM: &[&str] = &["~/.npm/_npx", "~/.npm/_prebuilds"];

/// Directories of sockets: the buses, the service manager, container engines, keyrings, displays. A socket is connected to also where
/// the file system is read-only.
const SOCKETS: &[&str] = &[
    "/run",
    "/var/run",
    "/mnt/wslg",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/kubelet",
    "/var/lib/incus",
    "/var/lib/lxd",
    "/var/snap/lxd",
    "~/.docker",
    "~/.colima",
    "~/.lima",
    "~/.rd",
    "~/.orbstack",
    "~/.local/share/containers",
    "~/.local/share/docker",
];

/// What programs need of /run, which may be where these lead to: name servers, and the system itself on NixOS.
const READ_IN_RUN: &[&str] = &["/etc/resolv.conf", "/run/current-system"];

/// Other repositories in the workspace, as where it is a directory of several. All directories would be too many to look into.
const NESTED_REPOSITORIES: &[&str] = &["./*/.git", "./*/*/.git", "./*/*/*/.git"];

const SECRETS: &[&str] = &[
    // Keys, and credentials of clouds and of services.
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.boto",
    "~/.config/configstore",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.config/glab-cli",
    "~/.config/hub",
    "~/.config/doctl",
    "~/.config/heroku",
    "~/.config/hcloud",
    "~/.config/netlify",
    "~/.config/ngrok",
    "~/.config/op",
    "~/.config/rclone",
    "~/.config/sops",
    "~/.config/stripe",
    "~/.config/.wrangler",
    "~/.config/containers/auth.json",
    "~/.config/github-copilot",
    "~/.databrickscfg",
    "~/.fly",
    "~/.kaggle",
    "~/.kube",
    "~/.minikube",
    "~/.oci",
    "~/.pulumi/credentials.json",
    "~/.s3cfg",
    "~/.terraform.d",
    "~/.terraformrc",
    "~/.vault-token",
    "~/.wrangler",
    "~/.local/share/com.vercel.cli",
    "~/.aliyun",
    "~/.bluemix",
    "~/.chef",
    "~/.circleci",
    "~/.cloudflared",
    "~/.config/argocd",
    "~/.config/bws",
    "~/.config/Bitwarden CLI",
    "~/.config/exercism",
    "~/.config/helm/registry",
    "~/.config/linode-cli",
    "~/.config/scw",
    "~/.config/tea",
    "~/.config/wandb",
    "~/.dbt/profiles.yml",
    "~/.doppler",
    "~/.expo/state.json",
    "~/.gsutil",
    "~/.heroku",
    "~/.infisical",
    "~/.linode-cli",
    "~/.netlify",
    "~/.ngrok2",
    "~/.passwd-s3fs",
    "~/.railway",
    "~/.sentryclirc",
    "~/.sf",
    "~/.sfdx",
    "~/.snowflake",
    "~/.snowsql",
    "~/.step",
    "~/.supabase",
    "~/.travis",
    "~/.tsh",
    "~/.vercel",
    "~/.vultr-cli.yaml",
    // Providers of models, and programs that work with them.
    "~/.aider*",
    "~/.anthropic",
    "~/.openai",
    "~/.config/anthropic",
    "~/.config/goose/secrets.yaml",
    "~/.config/io.datasette.llm/keys.json",
    "~/.continue",
    "~/.cursor/mcp.json",
    "~/.huggingface",
    "~/.qwen",
    "~/.claude",
    "~/.claude.json",
    "~/.codex",
    "~/.gemini",
    "~/.copilot",
    "~/.local/share/opencode/auth.json",
    "~/.cache/huggingface/stored_tokens",
    "~/.cache/huggingface/token",
    // Passwords.
    "~/.netrc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.my.cnf",
    "~/.mylogin.cnf",
    "~/.rediscli_auth",
    "~/.authinfo",
    "~/.authinfo.gpg",
    "~/.config/filezilla",
    "~/.config/msmtp",
    "~/.fetchmailrc",
    "~/.mbsyncrc",
    "~/.msmtprc",
    "~/.smbcredentials",
    "~/.subversion/auth",
    "~/.pgpass",
    "~/.password-store",
    "~/.1password",
    "~/.local/share/keyrings",
    "~/.local/share/kwalletd",
    "~/.config/keepassxc",
    // Tokens of package managers.
    "~/.npmrc",
    "~/.yarnrc",
    "~/.yarnrc.yml",
    "~/.config/pnpm/rc",
    "~/.bunfig.toml",
    "~/.pypirc",
    "~/.pip",
    "~/.config/pip",
    "~/.config/pypoetry/auth.toml",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.gem/credentials",
    "~/.bundle/config",
    "~/.m2/settings.xml",
    "~/.m2/settings-security.xml",
    "~/.gradle/gradle.properties",
    "~/.nuget/NuGet",
    "~/.composer/auth.json",
    "~/.config/composer/auth.json",
    // What lets a program onto the screen and the keyboard.
    "~/.Xauthority",
    "~/.ICEauthority",
    // What was typed.
    "~/.local/share/atuin",
    "~/.*_history",
    "~/.history",
    "~/.zhistory",
    "~/.zsh_sessions",
    "~/.local/share/fish/fish_history",
    "~/.dbshell",
    "~/.mongodb",
    "~/.lesshst",
    "~/.viminfo",
    // Browsers and mail.
    "~/.mozilla",
    "~/.thunderbird",
    "~/.config/google-chrome*",
    "~/.config/chromium",
    "~/.config/microsoft-edge*",
    "~/.config/BraveSoftware",
    "~/.config/vivaldi*",
    "~/.config/opera*",
    "~/.cache/mozilla",
    "~/.cache/google-chrome*",
    "~/.cache/chromium",
    "~/snap/firefox",
    "~/snap/chromium",
    "~/.var/app",
    // Other agents' tokens and output.
    "~/.local/state/sandpipe-agent",
    // Commands of an agent that runs as root own these.
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/ssh/ssh_host_*_key",
    "/etc/ssl/private",
    "/etc/letsencrypt/accounts",
    "/etc/letsencrypt/archive",
    "/etc/letsencrypt/keys",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/cloud",
    // Copies of all that, of earlier.
    "/.snapshots",
    "/home/.snapshots",
    "/sysroot/ostree/deploy",
];

/// Those that hold programs of other projects, or files that are linked into them, are not here: each
/// workspace has its own.
const CACHES: &[&str] = &[
    "~/.npm",
    "~/.cache/bazel",
    "~/.cache/ccache",
    "~/.cache/composer",
    "~/.cache/deno",
    "~/.cache/go-build",
    "~/.cache/pip",
    "~/.cache/sccache",
    "~/.cache/turbo",
    "~/.cache/yarn",
    "~/.cargo/git",
    "~/.cargo/registry",
    "~/.gradle/caches",
    "~/.m2/repository",
    "~/.nuget/packages",
];

const STRICT_ENV: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ", "CI"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::PathPattern;

    #[test]
    fn every_path_and_name_of_a_preset_is_one() {
        let paths = [SOCKETS, READ_IN_RUN, NESTED_REPOSITORIES, SECRETS, CACHES];
        let paths = paths.into_iter().chain([PROGRAMS_OF_NPM]).flatten();
        for path in paths {
            assert!(path.parse::<PathPattern>().is_ok(), "{path}");
        }
        assert_eq!(Preset::Strict.env().unwrap().len(), STRICT_ENV.len());
    }
}
