//! Commands that write nothing, followed through proxies that end every stream, in virtual time.

use proptest::prelude::*;

use super::tests::exec;
use super::*;

/// A proxy before a silent command.
#[derive(Clone, Debug)]
struct Proxy {
    /// How long it lets a stream last, and how it ends one.
    lets_last_ms: f64,
    ending: StreamEnd,
    /// What it names in `Retry-After` as it refuses.
    retry_after_ms: Option<f64>,
    /// Of the questions in between, how many in a row do not get through, again and again.
    unanswered: Vec<u32>,
}

/// What following a silent command through a proxy came to.
#[derive(Debug, PartialEq)]
struct Followed {
    verdict: NextStep,
    time_ms: f64,
    streams: u32,
    longest_pause_ms: f64,
}

/// Follows a command, in virtual time, that ends with code 7 after a while and has written nothing.
fn follow_silent(runs_ms: f64, proxy: &Proxy) -> Followed {
    let mut resume = Resume::new(Backoff::default());
    let (mut time_ms, mut streams, mut longest_pause_ms) = (0.0, 0, 0.0_f64);
    let mut unanswered = proxy.unanswered.iter().copied().cycle();
    let verdict = loop {
        streams += 1;
        let left_ms = runs_ms - time_ms;
        if (0.0..proxy.lets_last_ms).contains(&left_ms.max(0.0)) {
            time_ms += left_ms.max(0.0);
            break NextStep::Done(Some(7));
        }
        time_ms += proxy.lets_last_ms;
        let mut next =
            resume.on_end(proxy.ending, Some(proxy.lets_last_ms), 0.5, proxy.retry_after_ms);
        let mut failures = unanswered.next().unwrap_or(0);
        while let NextStep::Ask(pause) = next {
            longest_pause_ms = longest_pause_ms.max(pause.delay_ms);
            time_ms += pause.delay_ms;
            let has_ended = time_ms >= runs_ms;
            let status = if has_ended { ExecStatus::Exited } else { ExecStatus::Running };
            next = if failures == 0 {
                resume.on_status(&exec(status, if has_ended { 7 } else { -1 }))
            } else {
                resume.on_status_error(0.5, proxy.retry_after_ms)
            };
            failures = failures.saturating_sub(1);
        }
        if next != NextStep::Connect {
            break next;
        }
    };
    Followed { verdict, time_ms, streams, longest_pause_ms }
}

proptest! {
    #[test]
    fn a_silent_command_gives_its_code_through_any_proxy_and_few_requests(
        runs_ms in 0.0..86_400_000.0_f64,
        lets_last_ms in prop_oneof![Just(0.0), 0.0..1000.0_f64, 1000.0..60_000.0_f64],
        ending in prop::sample::select(vec![StreamEnd::Clean, StreamEnd::Broken, StreamEnd::Refused]),
        retry_after_ms in prop_oneof![Just(None), Just(Some(0.0)), (0.0..30_000.0).prop_map(Some)],
        unanswered in prop::collection::vec(0..3_u32, 1..4),
    ) {
        let proxy = Proxy { lets_last_ms, ending, retry_after_ms, unanswered };
        let followed = follow_silent(runs_ms, &proxy);
        let code = matches!(followed.verdict, NextStep::Done(Some(7)));
        // Where no stream ever brings the exit event, a snapshot has it.
        prop_assert!(code || (lets_last_ms == 0.0 && followed.verdict == NextStep::Done(None)));
        prop_assert!(followed.longest_pause_ms <= 30_000.0);
        // At the end some streams more, each after a pause, and questions that do not get through.
        prop_assert!(followed.time_ms <= runs_ms + 60_000.0 + 12.0 * 30_000.0);
        // At most one a second, but for those at the beginning and at the end.
        prop_assert!(f64::from(followed.streams) <= followed.time_ms / 1000.0 + 12.0);
    }
}
