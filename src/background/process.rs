//! What the target tells of a process.

use serde::{Deserialize, Serialize};

/// A background process, as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Process {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) pid: u32,
    #[serde(flatten)]
    pub(super) ending: Ending,
    pub(super) script: String,
    pub(super) started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exited_at: Option<String>,
    pub(super) output_dir: String,
    pub(super) stdout_path: String,
    pub(super) stderr_path: String,
}

/// How far a process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ending {
    pub(super) status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Running,
    Exited,
    Killed,
    Failed,
}

/// meta.json.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    pid: u32,
    started_at: String,
    #[serde(flatten)]
    record: Record,
}

/// The part of meta.json that is known before there is a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<String>,
    pub(super) script: String,
}

/// A line of the section `states`: `id life code exitedAt`, with `-` for what there is not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct State<'a> {
    id: &'a str,
    life: Life,
    code: Option<i32>,
    exited_at: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Alive,
    Dead,
    /// Dead, after its time was over.
    TimedOut,
}

impl<'a> State<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let id = words.next()?;
        let life = match words.next()? {
            "alive" => Life::Alive,
            "dead" => Life::Dead,
            "timed-out" => Life::TimedOut,
            _ => return None,
        };
        let code = match words.next()? {
            "-" => None,
            code => Some(code.parse().ok()?),
        };
        let exited_at = words.next().filter(|time| *time != "-");
        Some(Self { id, life, code, exited_at })
    }

    /// What it means. Where the time of the end is known and the code is not, none was to be kept.
    pub(super) fn ending(&self) -> Ending {
        let status = match (self.life, self.code) {
            (Life::Alive, _) => Status::Running,
            (_, Some(137 | 143)) | (Life::TimedOut, Some(124)) => Status::Killed,
            (_, Some(_)) => Status::Exited,
            (_, None) if self.exited_at.is_some() => Status::Exited,
            (_, None) => Status::Failed,
        };
        Ending { status, exit_code: self.code }
    }
}

impl Process {
    fn new(home: &str, meta: Meta, state: &State<'_>) -> Self {
        let Meta { pid, started_at, record } = meta;
        let output_dir = format!("{home}/{}", record.id);
        Self {
            pid,
            ending: state.ending(),
            started_at,
            exited_at: state.exited_at.map(str::to_owned),
            stdout_path: format!("{output_dir}/stdout.log"),
            stderr_path: format!("{output_dir}/stderr.log"),
            output_dir,
            id: record.id,
            name: record.name,
            script: record.script,
        }
    }

    /// The processes below `home` that both sections know, newest first: others were being started or
    /// removed. None where a section can't be read.
    pub(super) fn read_all(home: &str, states: &str, metas: &str) -> Option<Vec<Self>> {
        let states: Option<Vec<State<'_>>> = states.lines().map(State::read).collect();
        let states = states?;
        let mut processes = Vec::new();
        for meta in serde_json::Deserializer::from_str(metas).into_iter::<Meta>() {
            let meta = meta.ok()?;
            if let Some(state) = states.iter().find(|state| state.id == meta.record.id) {
                processes.push(Self::new(home, meta, state));
            }
        }
        processes.sort_by(|a, b| (&b.started_at, &a.id).cmp(&(&a.started_at, &b.id)));
        Some(processes)
    }

    /// A process that has just been started; `head` is the first line of its meta.json.
    pub(super) fn started(home: &str, head: &str, record: Record) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            pid: u32,
            started_at: String,
        }
        let head = head.trim_end().trim_end_matches(',');
        let Head { pid, started_at } = serde_json::from_str(&format!("{head}}}")).ok()?;
        let state = State { id: "", life: Life::Alive, code: None, exited_at: None };
        Some(Self::new(home, Meta { pid, started_at, record }, &state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(line: &str) -> (Status, Option<i32>) {
        let Ending { status, exit_code } = State::read(line).unwrap().ending();
        (status, exit_code)
    }

    #[test]
    fn a_status_is_what_the_files_say() {
        assert_eq!(ending("a alive - -"), (Status::Running, None));
        assert_eq!(ending("a dead 0 2026-11-21T06:30:00Z"), (Status::Exited, Some(0)));
        assert_eq!(ending("a dead 130 -"), (Status::Exited, Some(130)));
        assert_eq!(ending("a dead 143 -"), (Status::Killed, Some(143)));
        assert_eq!(ending("a dead 137 -"), (Status::Killed, Some(137)));
        assert_eq!(ending("a dead 124 -"), (Status::Exited, Some(124)));
        assert_eq!(ending("a timed-out 124 -"), (Status::Killed, Some(124)));
        assert_eq!(ending("a dead - -"), (Status::Failed, None));
        assert_eq!(ending("a dead - 2026-11-21T06:30:00Z"), (Status::Exited, None));
    }

    #[test]
    fn what_is_no_state_is_not_taken_for_one() {
        for line in ["", "a", "a alive", "a odd - -", "a dead x -"] {
            assert_eq!(State::read(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_process_that_only_one_section_knows_is_left_out() {
        let meta = |id: &str, time: &str| {
            format!(
                "{{\"pid\":7,\"startTime\":\"1@b\",\"startedAt\":\"{time}\",\n\"id\":\"{id}\",\
                 \"script\":\"true\\n\"}}\n"
            )
        };
        let metas = [meta("a", "1"), meta("b", "2"), meta("c", "3")].concat();
        let states = "a dead 0 -\nc alive - -\nd alive - -\n";
        let processes = Process::read_all("/home", states, &metas).unwrap();
        let ids: Vec<_> = processes.iter().map(|process| process.id.as_str()).collect();
        assert_eq!(ids, ["c", "a"]);
        assert_eq!(processes[0].stderr_path, "/home/c/stderr.log");
        assert_eq!(processes[0].script, "true\n");
        assert_eq!(Process::read_all("/home", states, "{\"pid\":1"), None);
    }
}
