use std::{collections::BTreeMap, ffi::OsString, os::unix::ffi::OsStrExt};

use sandpipe_policy::{
    document::Network,
    effective::{Effective, Passing},
    walls::PROXY_PORT,
};

/// What leads to sockets and directories that are not there behind walls.
const OF_THE_MACHINE: [&str; 14] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "WAYLAND_DISPLAY",
    "PULSE_SERVER",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "WSL_INTEROP",
    "NOTIFY_SOCKET",
    "TMPDIR",
    "TMP",
    "TEMP",
];

/// Variables that set the proxy of this machine for some programs, in capitals: it is not reached
/// from a network of its own. npm and npx set `npm_config_noproxy` for what they run.
const PROXIES_OF_THE_MACHINE: [&str; 14] = [
    "CARGO_HTTP_PROXY",
    "FTP_PROXY",
    "GRPC_PROXY",
    "NPM_CONFIG_HTTP_PROXY",
    "NPM_CONFIG_HTTPS_PROXY",
    "NPM_CONFIG_NOPROXY",
    "NPM_CONFIG_PROXY",
    "PIP_PROXY",
    "RSYNC_PROXY",
    "SOCKS_PROXY",
    "WS_PROXY",
    "WSS_PROXY",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];

/// Leaves those variables of the agent's environment that a policy passes.
pub(super) fn passed(
    policy: &Effective,
    own: BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let has_walls = policy.has_walls();
    let is_passed = |(name, value): &(OsString, OsString)| {
        let is_led_away = has_walls && OF_THE_MACHINE.iter().any(|known| name == known);
        !is_led_away && policy.passing(name.as_bytes(), value.as_bytes()) == Passing::Passed
    };
    own.into_iter().filter(is_passed).collect()
}

/// Makes the environment of commands under a policy, of the agent's own.
pub(super) fn environment(
    policy: &Effective,
    own: BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let mut env = passed(policy, own);
    if let Network::Allow(_) = policy.network {
        env.retain(|name, _| {
            let name = name.to_ascii_uppercase();
            PROXIES_OF_THE_MACHINE.iter().all(|proxy| name != *proxy)
        });
        // httpx, and with it the SDKs of OpenAI and Anthropic, fails where one of them is a proxy
        // by SOCKS, and for `[::1]`.
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        for (name, value) in [
            ("HTTP_PROXY", proxy.as_str()),
            ("HTTPS_PROXY", &proxy),
            ("ALL_PROXY", &proxy),
            ("NO_PROXY", "localhost,127.0.0.1,::1"),
        ] {
            env.insert(name.into(), value.into());
            env.insert(name.to_ascii_lowercase().into(), value.into());
        }
        // Node's own fetch looks at them where this is set.
        env.insert("NODE_USE_ENV_PROXY".into(), "1".into());
    }
    env.extend(policy.set.iter().map(|(name, value)| (name.into(), value.into())));
    env
}

#[cfg(test)]
mod tests {
    use sandpipe_policy::{document::parse, effective::effective};

    use super::*;

    fn names(policy: &str) -> Vec<String> {
        let policy = effective(&parse(policy).unwrap()).unwrap();
        let own = ["PATH", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "LC_ALL", "TMPDIR"];
        let own = own.map(|name| (name.into(), "x".into())).into();
        environment(&policy, own).into_keys().map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_policy_passes_what_it_names_and_sets_the_rest() {
        assert_eq!(names(r#"{ "extends": ["open"] }"#).len(), 5);
        assert_eq!(names("{}"), ["LC_ALL", "PATH"]);
        let named = names(r#"{ "env": { "pass": ["LC_*", "AWS_SECRET_ACCESS_KEY"] } }"#);
        assert_eq!(named, ["AWS_SECRET_ACCESS_KEY", "LC_ALL"]);
        assert_eq!(names(r#"{ "extends": ["strict"] }"#), ["LC_ALL", "PATH"]);
        assert_eq!(names(r#"{ "env": { "pass": [], "set": { "TMPDIR": "/tmp" } } }"#), ["TMPDIR"]);
        let proxied = names(r#"{ "env": { "pass": [] }, "network": { "allow": ["a.example"] } }"#);
        assert_eq!(proxied.len(), 9);
        assert!(proxied.contains(&"https_proxy".to_owned()));
    }

    #[test]
    fn hosts_are_reached_by_the_proxy_of_the_sandbox_alone() {
        let text = r#"{ "env": { "pass": ["*"] }, "network": { "allow": ["a.example"] } }"#;
        let policy = effective(&parse(text).unwrap()).unwrap();
        let own = ["ALL_PROXY", "no_proxy", "ftp_proxy", "npm_config_noproxy", "GOPROXY"];
        let own = own.map(|name| (name.into(), "socks5://proxy.example".into()));
        let env = environment(&policy, own.into());
        let value = |name: &str| {
            env.get(&OsString::from(name)).and_then(|value| value.to_str()).unwrap_or_default()
        };
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            assert_eq!(value(name), "http://127.0.0.1:57469", "{name}");
            assert_eq!(value(&name.to_ascii_lowercase()), value(name));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            assert_eq!(value(name), "localhost,127.0.0.1,::1");
        }
        for name in ["ftp_proxy", "npm_config_noproxy"] {
            assert_eq!(value(name), "", "{name}");
        }
        assert_eq!(value("GOPROXY"), "socks5://proxy.example");
    }
}
