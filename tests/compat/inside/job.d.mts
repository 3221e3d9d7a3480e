import type { Connect, ConnectOptions } from "sandpipe";

export function job(connect: Connect, options: ConnectOptions): Promise<unknown>;
