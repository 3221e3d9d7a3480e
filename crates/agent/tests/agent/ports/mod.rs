//! Ports: which are listened on, and connections to them by WebSocket.

mod forward;
mod list;

use crate::support::Agent;

/// A script that listens on a free port of this address with nothing but perl, says which one, and ends with its input.
pub(super) fn listening(address: &str) -> String {
    format!(
        "use IO::Socket::IP; $| = 1; my $s = IO::Socket::IP->new(LocalHost => '{address}', LocalPort => 0, Listen => 50) or die $@; \
         print $s->sockport, \"\\n\"; "
    )
}

impl Agent {
    /// Runs a perl script that says a port; gives its id and the port.
    pub(super) async fn serve(&self, script: &str, more: serde_json::Value) -> (String, u16) {
        // Else perl would complain of a locale that was not generated.
        let env = serde_json::json!({ "LC_ALL": "C" });
        let mut request =
            serde_json::json!({ "command": "perl", "args": ["-e", script], "env": env });
        for (name, value) in more.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        let exec = self.create(request).await;
        let port = self.stream(&exec.id, "").await.until_output("\n").await;
        (exec.id, port.trim().parse().unwrap_or_else(|_| panic!("{port:?} is no port")))
    }
}
