//! A process, as the target describes it.

use sandpipe_protocol::json::{self, FromJson, Problem, ToJson, Value};
use sandpipe_protocol::json_object;

/// A process as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct BackgroundProcess {
    /// Its id, which is also the name of its directory.
    pub id: String,
    /// The label that it was given.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub name: Option<String>,
    /// The process id of the shell that leads its process group.
    pub pid: u32,
    /// What has become of it.
    pub status: BackgroundStatus,
    /// Its exit code, 128 + N after death by signal N.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub exit_code: Option<i32>,
    /// The script; in a list, of a long one, the first 1024 bytes.
    pub script: String,
    /// When it was started, by the target's clock: ISO 8601.
    pub started_at: String,
    /// When it ended, by the target's clock: ISO 8601.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub exited_at: Option<String>,
    /// Its directory on the target.
    pub output_dir: String,
    /// The file with its stdout.
    pub stdout_path: String,
    /// The file with its stderr.
    pub stderr_path: String,
}

/// - `running`
/// - `exited`: ended by itself, with `exitCode`
/// - `killed`: by SIGTERM (`exitCode` 143), by SIGKILL (137), or because its `timeoutMs` passed (124)
/// - `failed`: gone, and what became of it is not known: the machine was started anew, say
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "lowercase"))]
pub enum BackgroundStatus {
    /// It runs, or something that it started does.
    Running,
    /// It has ended by itself.
    Exited,
    /// A signal has ended it, or its time was over.
    Killed,
    /// It is gone, and has left no exit code.
    Failed,
}

/// meta.json.
pub(super) struct Meta {
    pid: u32,
    started_at: String,
    record: ProcessRecord,
    /// Not there where a list leaves it out.
    script: Option<String>,
}

/// The part of meta.json that is known before there is a process, but for the script.
#[derive(Clone)]
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

json_object!(ToJson for BackgroundProcess {
    id: "id",
    name: "name",
    pid: "pid",
    status: "status",
    exit_code: "exitCode",
    script: "script",
    started_at: "startedAt",
    exited_at: "exitedAt",
    output_dir: "outputDir",
    stdout_path: "stdoutPath",
    stderr_path: "stderrPath",
});

impl ToJson for BackgroundStatus {
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
    pub(super) code: Option<i32>,
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
    pub(super) fn status(&self) -> BackgroundStatus {
        match (self.life, self.code) {
            (Life::Alive, _) => BackgroundStatus::Running,
            (_, Some(137 | 143)) | (Life::TimedOut, Some(124)) => BackgroundStatus::Killed,
            (_, Some(_)) => BackgroundStatus::Exited,
            (_, None) if self.exited_at.is_some() => BackgroundStatus::Exited,
            (_, None) => BackgroundStatus::Failed,
        }
    }
}

impl BackgroundProcess {
    fn new(home: &str, meta: Meta, state: &State<'_>) -> Self {
        let Meta { pid, started_at, record, script } = meta;
        let output_dir = format!("{home}/{}", record.id);
        Self {
            pid,
            status: state.status(),
            exit_code: state.code,
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

    fn ending(line: &str) -> (BackgroundStatus, Option<i32>) {
        let state = State::read(line).unwrap();
        (state.status(), state.code)
    }

    #[test]
    fn a_status_is_what_the_files_say() {
        assert_eq!(ending("a alive - -"), (BackgroundStatus::Running, None));
        assert_eq!(ending("a dead 0 2026-11-21T06:30:00Z"), (BackgroundStatus::Exited, Some(0)));
        assert_eq!(ending("a dead 130 -"), (BackgroundStatus::Exited, Some(130)));
        assert_eq!(ending("a dead 143 -"), (BackgroundStatus::Killed, Some(143)));
        assert_eq!(ending("a dead 137 -"), (BackgroundStatus::Killed, Some(137)));
        assert_eq!(ending("a dead 124 -"), (BackgroundStatus::Exited, Some(124)));
        assert_eq!(ending("a timed-out 124 -"), (BackgroundStatus::Killed, Some(124)));
        assert_eq!(ending("a dead - -"), (BackgroundStatus::Failed, None));
        assert_eq!(ending("a dead - 2026-11-21T06:30:00Z"), (BackgroundStatus::Exited, None));
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
        let processes = BackgroundProcess::read_all("/home", states, &metas);
        let ids: Vec<_> = processes.iter().map(|process| process.id.as_str()).collect();
        assert_eq!(ids, ["c", "a"]);
        assert_eq!(processes[0].stderr_path, "/home/c/stderr.log");
        assert_eq!(processes[1].script, "true\n");
    }

    #[test]
    fn a_list_has_the_beginning_of_a_long_script() {
        let script = "é\n".repeat(MAX_LISTED_SCRIPT_BYTES);
        let meta = meta("a", "1", &script);
        let [short] = &BackgroundProcess::read_all("/home", "a alive - -\n", &listed(&meta))[..]
        else {
            panic!("no process");
        };
        assert!(script.starts_with(&short.script));
        assert_eq!(short.script.len(), MAX_LISTED_SCRIPT_BYTES - 1);
        assert_eq!(
            BackgroundProcess::read("/home", "a alive - -\n", &meta).unwrap().script,
            script
        );
    }
}
