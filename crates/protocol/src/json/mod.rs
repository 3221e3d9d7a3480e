//! JSON (RFC 8259) for a client that is downloaded: with `serde_json` for the wire types the module is 131 KB larger,
//! 48 KB of gzip.
//!
//! What output flows through does not come by: [`OutputEvent`](crate::OutputEvent) reads that.

mod read;
mod value;
mod write;

pub use read::{FromJson, Problem, read};
pub use value::Value;
pub use write::{Object, ToJson, to_string};

/// Reads or writes a struct, or both, as an object of these fields, with these names. One that is an
/// `Option` may be missing or null, and is left out where it is None.
#[macro_export]
macro_rules! json_object {
    (FromJson + ToJson for $type:ident $fields:tt) => {
        $crate::json::json_object!(FromJson for $type $fields);
        $crate::json::json_object!(ToJson for $type $fields);
    };
    (FromJson for $type:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::json::FromJson for $type {
            fn from_json(
                value: &$crate::json::Value<'_>,
            ) -> Result<Self, $crate::json::Problem> {
                Ok(Self { $($field: value.field($name)?),* })
            }
        }
    };
    (ToJson for $type:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::json::ToJson for $type {
            fn write(&self, json: &mut Vec<u8>) {
                $crate::json::Object(&[$(($name, &self.$field)),*]).write(json);
            }
        }
    };
}

pub use json_object;

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::websocket::{AgentFrame, ClientFrame, ClientMessage};
    use crate::{
        CreateExecRequest, CreateTokenRequest, CreatedToken, DirectoryListResponse, ErrorBody,
        ExecItem, ExecListChanges, ExecListResponse, ExecStart, ExecStatus, ExecStdin, ExecStdout,
        FileAction, FileActionRequest, FileInfo, FileReadResponse, FileType, Gap, Health,
        OutputType, PortInfo, PortsListResponse, SignalRequest, StdinType, TerminalSize, TokenInfo,
        TokenListResponse, UploadProgress, WatcherEvent,
    };

    /// Whatever the text is, both read the same of it, or nothing.
    fn is_read_alike<T: FromJson + DeserializeOwned + PartialEq + Debug>(text: &str) {
        let ours: Option<T> = read(text.as_bytes()).ok();
        assert_eq!(ours, serde_json::from_str(text).ok(), "{text}");
    }

    fn is_written_alike(value: &(impl ToJson + Serialize)) {
        assert_eq!(to_string(value), serde_json::to_string(value).unwrap());
    }

    /// Objects of these fields, with such values and now and then with others.
    fn objects(fields: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = String> {
        let odd = prop_oneof![
            prop::sample::select(vec![
                "null",
                "true",
                "1",
                "-1",
                "1.0",
                "65536",
                "4294967296",
                "18446744073709551616",
                "[]",
                "[1]",
                "{}",
                "\"\"",
            ])
            .prop_map(str::to_owned),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        let field = move |(name, value): (&'static str, &'static str)| {
            let usual = format!("{name:?}:{value}");
            let odd = odd.clone().prop_map(move |value| format!("{name:?}: {value}"));
            prop_oneof![20 => Just(vec![usual.clone()]), 1 => odd.prop_map(|odd| vec![odd]), 1 => Just(vec![]),
                1 => Just(vec![usual.clone(), usual])]
        };
        let fields: Vec<_> = fields.iter().map(|pair| field(*pair)).collect();
        fields.prop_map(|fields| format!("{{{}}}", fields.concat().join(", ")))
    }

    #[test]
    fn every_status_is_read_and_written_as_serde_does() {
        for status in ["CREATED", "RUNNING", "STOPPING", "EXITED", "STOPPED", "running", ""] {
            let text = format!("{status:?}");
            is_read_alike::<ExecStatus>(&text);
            is_written_alike(&serde_json::from_str::<ExecStatus>(&text).unwrap());
        }
    }

    proptest! {
        #[test]
        fn events_are_read_as_serde_reads_them(
            text in objects(&[
                ("type", "\"stderr\""), ("output", "\"a\\n\""), ("sequence", "7"), ("timestamp", "\"t\""),
                ("exitCode", "-1"), ("more", "{}"),
            ]),
        ) {
            is_read_alike::<ExecStdout>(&text);
        }

        #[test]
        fn execs_are_read_as_serde_reads_them(
            exec in objects(&[
                ("id", "\"x\""), ("command", "\"sh\""), ("args", "[\"a\",\"b\"]"), ("status", "\"RUNNING\""),
                ("pid", "7"), ("pty", "false"), ("exitCode", "-1"), ("user", "\"u\""),
                ("createdAt", "\"c\""), ("startedAt", "\"s\""), ("endedAt", "\"e\""), ("argsTruncated", "true"),
                ("cwd", "\"/\""), ("policy", "\"open\""), ("stopReason", "\"client\""),
                ("outputError", "\"full\""),
            ]),
        ) {
            is_read_alike::<ExecItem>(&exec);
            is_read_alike::<ExecListChanges>(&format!(r#"{{"changed":[{exec}],"removed":["x"]}}"#));
            is_read_alike::<ExecListResponse>(&format!(r#"{{"execs":[{exec}]}}"#));
        }

        #[test]
        fn files_are_read_as_serde_reads_them(
            kind in prop::sample::select(vec![
                "file", "directory", "symlink", "fifo", "socket", "device", "door",
            ]),
            info in objects(&[
                ("name", "\"a\""), ("path", "\"/a\""), ("isDir", "false"), ("size", "7"),
                ("modTime", "\"t\""), ("mode", "420"), ("linkTarget", "\"b\""), ("raw", "\"%FF\""),
            ]),
            encoding in prop::sample::select(vec!["utf-8", "base64", "utf-16"]),
        ) {
            is_read_alike::<FileInfo>(&info);
            let typed = info.replacen('{', &format!("{{\"type\":{kind:?},"), 1).replace(",}", "}");
            is_read_alike::<FileInfo>(&typed);
            is_read_alike::<DirectoryListResponse>(&format!(r#"{{"path":"/","files":[{info}]}}"#));
            is_read_alike::<FileReadResponse>(
                &format!(r#"{{"path":"/a","content":"x","encoding":{encoding:?}}}"#),
            );
            is_read_alike::<UploadProgress>(r#"{"offset":9}"#);
        }

        #[test]
        fn ports_and_watches_are_read_as_serde_reads_them(
            port in objects(&[
                ("port", "80"), ("address", "\"::\""), ("pid", "7"), ("command", "\"sh\""), ("exec", "\"x\""),
            ]),
            kind in prop::sample::select(vec![
                "ADD", "REMOVE", "CHANGE", "RENAME", "OVERFLOW", "connected", "error", "add",
            ]),
            event in objects(&[
                ("paths", "[\"/a\"]"), ("timestamp", "\"t\""), ("raw", "[\"%FF\"]"), ("message", "\"no\""),
            ]),
        ) {
            is_read_alike::<PortInfo>(&port);
            is_read_alike::<PortsListResponse>(&format!(r#"{{"ports":[{port}]}}"#));
            is_read_alike::<WatcherEvent>(
                &event.replacen('{', &format!("{{\"type\":{kind:?},"), 1).replace(",}", "}"),
            );
        }

        #[test]
        fn tokens_are_read_and_written_as_serde_does(
            token in objects(&[
                ("id", "\"1a\""), ("token", "\"t\""), ("createdAt", "\"c\""), ("expiresAt", "\"e\""),
                ("readExecs", "[\"x\"]"), ("typeInto", "[\"y\"]"), ("createCommands", "true"),
                ("readFiles", "\"/r\""), ("writeFiles", "\"/w\""),
            ]),
            request in objects(&[
                ("expiresInMs", "2592000000"), ("readExecs", "[\"x\"]"), ("typeInto", "[]"),
                ("createCommands", "false"), ("readFiles", "\"/r\""), ("writeFiles", "\"/w\""),
            ]),
        ) {
            is_read_alike::<TokenInfo>(&token);
            is_read_alike::<CreatedToken>(&token);
            is_read_alike::<TokenListResponse>(&format!(r#"{{"tokens":[{token}]}}"#));
            if let Ok(request) = serde_json::from_str::<CreateTokenRequest>(&request) {
                is_written_alike(&request);
            }
            if let Ok(token) = serde_json::from_str::<TokenInfo>(&token) {
                is_written_alike(&token);
            }
        }

        #[test]
        fn small_answers_are_read_as_serde_reads_them(
            text in objects(&[
                ("from", "1"), ("to", "2"), ("code", "404"), ("message", "\"no\""), ("agent", "\"a\""),
                ("version", "\"1\""), ("features", "[\"signal\"]"),
            ]),
        ) {
            is_read_alike::<Gap>(&text);
            is_read_alike::<ErrorBody>(&text);
            is_read_alike::<Health>(&text);
        }

        #[test]
        fn frames_are_read_as_serde_reads_them(
            kind in prop::sample::select(vec!["output", "error", "done", "exit", "news"]),
            data in objects(&[
                ("output", "\"a\""), ("stream", "\"stdout\""), ("sequence", "1"), ("timestamp", "\"t\""),
                ("error", "\"no\""), ("id", "3"), ("code", "400"), ("exitCode", "0"),
            ]),
        ) {
            is_read_alike::<AgentFrame>(&format!(r#"{{"type":"{kind}","data":{data}}}"#));
        }

        #[test]
        fn it_writes_as_serde_writes(
            text in any::<String>(),
            args in prop::collection::vec(any::<String>(), 0..3),
            env in prop::option::of(prop::collection::btree_map(any::<String>(), any::<String>(), 0..3)),
            flag in prop::option::of(any::<bool>()),
            columns in prop::option::of(any::<u16>()),
            number in any::<u64>(),
            exit_code in prop::option::of(any::<i32>()),
        ) {
            let optional = flag.map(|_| text.clone());
            is_written_alike(&CreateExecRequest {
                command: text.clone(),
                args: args.clone(),
                autostart: flag,
                interactive: None,
                pty: flag,
                cols: columns,
                rows: columns,
                cwd: optional.clone(),
                env,
                user: None,
                contain: flag,
                policy: optional.clone(),
            });
            for kind in [OutputType::Stdout, OutputType::Stderr] {
                is_written_alike(&ExecStdout {
                    kind,
                    output: text.clone(),
                    sequence: number,
                    timestamp: optional.clone(),
                    exit_code,
                });
            }
            let exec = ExecItem {
                id: text.clone(),
                command: text.clone(),
                args,
                status: serde_json::from_value(text.clone().into()).unwrap(),
                pid: 7,
                pty: true,
                exit_code: exit_code.unwrap_or(-1),
                user: optional.clone(),
                created_at: optional.clone(),
                started_at: None,
                ended_at: optional.clone(),
                cwd: optional.clone(),
                policy: None,
                stop_reason: optional.clone(),
                output_error: optional,
                args_truncated: flag,
            };
            is_written_alike(&ExecListChanges { changed: vec![exec.clone()], removed: vec![exec.id.clone()] });
            is_written_alike(&ExecListResponse { execs: vec![exec.clone(), exec] });
            for kind in [StdinType::Stdin, StdinType::Resize, StdinType::Eof] {
                is_written_alike(&ExecStdin { kind, input: text.clone() });
            }
            is_written_alike(&SignalRequest { signal: text.clone() });
            for action in [FileAction::Move, FileAction::Copy] {
                let destination = text.clone();
                is_written_alike(&FileActionRequest { action, destination, recursive: flag });
            }
            for kind in [None, Some(FileType::File), Some(FileType::Fifo), Some(FileType::Device)] {
                is_written_alike(&FileInfo {
                    name: text.clone(),
                    path: text.clone(),
                    is_dir: false,
                    size: number,
                    mod_time: text.clone(),
                    kind,
                    mode: flag.map(|_| 0o644),
                    link_target: None,
                    raw: flag.map(|_| text.clone()),
                });
            }
            is_written_alike(&PortsListResponse {
                ports: vec![PortInfo {
                    port: 80,
                    address: text.clone(),
                    pid: flag.map(|_| 7),
                    command: None,
                    exec: flag.map(|_| text.clone()),
                }],
            });
            is_written_alike(&ExecStart {});
            let size = TerminalSize { cols: 80, rows: 24 };
            for frame in [ClientFrame::Input { input: text }, ClientFrame::Resize(size), ClientFrame::Ping] {
                is_written_alike(&ClientMessage { frame, id: flag.map(|_| 7) });
            }
        }
    }
}
