using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    # The agent listens on loopback, which a worker may not reach unless it is said so.
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "sandpipe.wasm", wasm = embed "sandpipe.wasm"),
  ],
);
