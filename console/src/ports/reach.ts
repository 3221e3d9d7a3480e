import { lineOf } from "../runs/command-line.js";

/** Who can connect to an address that is listened on. */
export type Reach = "loopback" | "everybody" | "one address";

export function reachOf(address: string): Reach {
  if (address === "0.0.0.0" || address === "::") return "everybody";
  return /^127\.|^::1$|^::ffff:127\./.test(address) ? "loopback" : "one address";
}

/** Whether a forward reaches it: it connects to 127.0.0.1, and then to ::1. */
export function isForwardable(address: string): boolean {
  return reachOf(address) === "everybody" || ["127.0.0.1", "::1"].includes(address);
}

/** What reaches a port of an agent's from where it is pasted. */
export function forwardCommand(port: number, url: string): string {
  return lineOf({ command: "sandpipe", args: ["forward", "--url", url, String(port)] });
}

/** An address with its port. */
export function socketText({ address, port }: { address: string; port: number }): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
