//! A process, as the target describes it.

use sandpipe_protocol::json::{self, FromJson, Object, Problem, ToJson, Value};
use sandpipe_protocol::json_object;

/// A background process, as callers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: String,
    /// What the caller calls it.
    pub name: Option<String>,
    /// The id of its group's leader.
    pub pid: u32,
    /// How far it has come.
    pub ending: ProcessState,
    /// What it runs; in a list only the beginning of a long one.
    pub script: String,
    /// When it was started (RFC 3339).
    pub started_at: String,
    /// When it ended, if that is known.
    pub exited_at: Option<String>,
    /// The directory that its output is in.
    pub output_dir: String,
    /// The file with its standard output.
    pub stdout_path: String,
    /// The file with its standard error.
    pub stderr_path: String,
}

/// How far a process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessState {
    /// What has become of it.
    pub status: Status,
    /// What it ended with, if that is known.
    pub exit_code: Option<i32>,
}

/// What has become of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs.
    Running,
    /// It has ended by itself.
    Exited,
    /// A signal has ended it, or its time was over.
    Killed,
    /// It is gone, and has left no exit code.
    Failed,
}

/// meta.json.
#[derive(Debug)]
pub(super) struct Meta {
    pid: u32,
    started_at: String,
    record: ProcessRecord,
    /// Not there where a list leaves it out.
    script: Option<String>,
}

/// The part of meta.json that is known before there is a process, but for the script.
#[derive(Clone, Debug)]
pub(super) struct ProcessRecord {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) cwd: Option<String>,
    /// The beginning of a long script, for lists.
    pub(super) excerpt: Option<String>,
}

/// The longest script that a list has the whole of, in bytes.
const MAX_LISTED_SCRIPT_BYTES: usize = 1024;

impl ProcessRecord {
    /// That of a process whose script is `script`.
    pub(super) fn new(id: String, name: Option<String>, cwd: Option<String>, script: &str) -> Self {
        let end = script.floor_char_boundary(MAX_LISTED_SCRIPT_BYTES);
        let excerpt = script.get(..end).filter(|excerpt| excerpt.len() < script.len());
        Self { id, name, cwd, excerpt: excerpt.map(str::to_owned) }
    }

    /// The lines of meta.json that follow the first: one, or two where the script is long, so that a
    /// list need not read it.
    pub(super) fn to_lines(&self, script: &str) -> String {
        let fields = json::to_string(self);
        let fields = fields.trim_start_matches('{').trim_end_matches('}');
        let line_end = if self.excerpt.is_some() { "\n" } else { "" };
        format!("{fields},{line_end}\"script\":{}}}\n", json::to_string(&script))
    }
}

json_object!(FromJson + ToJson for ProcessRecord {
    id: "id",
    name: "name",
    cwd: "cwd",
    excerpt: "excerpt",
});

impl FromJson for Meta {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        Ok(Self {
            pid: value.field("pid")?,
            started_at: value.field("startedAt")?,
            record: FromJson::from_json(value)?,
            script: value.field("script")?,
        })
    }
}

impl ToJson for Process {
    fn write(&self, json: &mut Vec<u8>) {
        Object(&[
            ("id", &self.id),
            ("name", &self.name),
            ("pid", &self.pid),
            ("status", &self.ending.status),
            ("exitCode", &self.ending.exit_code),
            ("script", &self.script),
            ("startedAt", &self.started_at),
            ("exitedAt", &self.exited_at),
            ("outputDir", &self.output_dir),
            ("stdoutPath", &self.stdout_path),
            ("stderrPath", &self.stderr_path),
        ])
        .write(json);
    }
}

impl ToJson for Status {
    fn write(&self, json: &mut Vec<u8>) {
        let status = match self {
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Killed => "killed",
            Self::Failed => "failed",
        };
        status.write(json);
    }
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
    pub(super) fn ending(&self) -> ProcessState {
        let status = match (self.life, self.code) {
            (Life::Alive, _) => Status::Running,
            (_, Some(137 | 143)) | (Life::TimedOut, Some(124)) => Status::Killed,
            (_, Some(_)) => Status::Exited,
            (_, None) if self.exited_at.is_some() => Status::Exited,
            (_, None) => Status::Failed,
        };
        ProcessState { status, exit_code: self.code }
    }
}

impl Process {
    fn new(home: &str, meta: Meta, state: &State<'_>) -> Self {
        let Meta { pid, started_at, record, script } = meta;
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
            script: script.or(record.excerpt).unwrap_or_default(),
        }
    }

    /// The process below `home` that a line of `states` and its meta.json tell of.
    pub(super) fn read(home: &str, state: &str, meta: &str) -> Option<Self> {
        Some(Self::new(home, json::read(meta.as_bytes()).ok()?, &State::read(state)?))
    }

    /// The processes below `home` that both sections know, newest first: others were being removed. Each
    /// has a line in both; one that can't be read is nobody's process, and left out.
    pub(super) fn read_all(home: &str, states: &str, metas: &str) -> Vec<Self> {
        let mut states: Vec<_> = states.lines().filter_map(State::read).collect();
        let metas = metas.lines().filter_map(|line| json::read::<Meta>(line.as_bytes()).ok());
        let mut processes: Vec<Self> = metas
            .filter_map(|meta| {
                // Both come in the order of the directory: it is one of the first.
                let place = states.iter().position(|state| state.id == meta.record.id)?;
                Some(Self::new(home, meta, &states.remove(place)))
            })
            .collect();
        processes.sort_unstable_by(|a, b| (&b.started_at, &a.id).cmp(&(&a.started_at, &b.id)));
        processes
    }

    /// A process that has just been started; `head` is the first line of its meta.json.
    pub(super) fn started(
        home: &str,
        head: &str,
        record: ProcessRecord,
        script: String,
    ) -> Option<Self> {
        struct Head {
            pid: u32,
            started_at: String,
        }
        json_object!(FromJson for Head { pid: "pid", started_at: "startedAt" });

        let head = head.trim_end().trim_end_matches(',');
        let Head { pid, started_at } = json::read(format!("{head}}}").as_bytes()).ok()?;
        let state = State { id: "", life: Life::Alive, code: None, exited_at: None };
        Some(Self::new(home, Meta { pid, started_at, record, script: Some(script) }, &state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(line: &str) -> (Status, Option<i32>) {
        let ProcessState { status, exit_code } = State::read(line).unwrap().ending();
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

    fn meta(id: &str, time: &str, script: &str) -> String {
        let lines = ProcessRecord::new(id.to_owned(), None, None, script).to_lines(script);
        format!("{{\"pid\":7,\"startTime\":\"1@b\",\"startedAt\":\"{time}\",\n{lines}")
    }

    /// As the target lists it.
    fn listed(meta: &str) -> String {
        let lines: Vec<_> = meta.lines().take(2).collect();
        let line = lines.concat();
        line.strip_suffix(',').map_or(line.clone(), |line| format!("{line}}}")) + "\n"
    }

    #[test]
    fn what_only_one_section_knows_or_nobody_can_read_is_left_out() {
        let metas = [
            listed(&meta("a", "1", "true\n")),
            listed(&meta("b", "2", "")),
            "{\"pid\":1\n\n".to_owned(),
            listed(&meta("c", "3", "")),
        ]
        .concat();
        let states = "a dead 0 -\nan odd name dead - -\nc alive - -\nd alive - -\n";
        let processes = Process::read_all("/home", states, &metas);
        let ids: Vec<_> = processes.iter().map(|process| process.id.as_str()).collect();
        assert_eq!(ids, ["c", "a"]);
        assert_eq!(processes[0].stderr_path, "/home/c/stderr.log");
        assert_eq!(processes[1].script, "true\n");
    }

    #[test]
    fn a_list_has_the_beginning_of_a_long_script() {
        let script = "é\n".repeat(MAX_LISTED_SCRIPT_BYTES);
        let meta = meta("a", "1", &script);
        let [short] = &Process::read_all("/home", "a alive - -\n", &listed(&meta))[..] else {
            panic!("no process");
        };
        assert!(script.starts_with(&short.script));
        assert_eq!(short.script.len(), MAX_LISTED_SCRIPT_BYTES - 1);
        assert_eq!(Process::read("/home", "a alive - -\n", &meta).unwrap().script, script);
    }
}
