import {
  BackgroundError,
  type BackgroundErrorReason,
  ClosedError,
  CreateUnknownError,
  ExitCodeMissingError,
  HttpError,
  InterruptedError,
  InvalidArgumentError,
  NotFoundError,
  OutputLimitError,
  OutputLostError,
  ProtocolError,
  type SandpipeError,
  type SandpipeErrorDetails,
  SessionError,
  StillThereError,
  TimeoutError,
  UnsupportedError,
} from "./errors.js";

/** What the core throws: `fields` of the error class that `code` stands for. */
type Failure = Error & SandpipeErrorDetails & Fields;

type Fields =
  | { code: "http" | "network"; status: number; operation: string; body?: string }
  | { code: "create_unknown"; command: string }
  | { code: "exit_code_missing"; execId: string; output: string }
  | { code: "output_limit"; execId: string; output: string }
  | {
      code: "output_lost";
      execId: string;
      from: number;
      to: number;
      output: string;
      exitCode?: number;
    }
  | { code: "protocol"; excerpt: string }
  | {
      code: "interrupted" | "timeout";
      execId?: string;
      output: string;
      exitCode: number;
      forced: boolean;
    }
  | { code: "still_there"; execId: string }
  | { code: "session"; execId: string; output: string }
  | { code: "unsupported"; feature: string }
  | { code: "invalid_argument" }
  | {
      code: "background";
      operation: string;
      output: string;
      id?: string;
      reason?: BackgroundErrorReason;
    }
  | { code: "not_found"; id: string }
  | { code: "closed" };

/** Awaits what the core promised. A failure of the core's becomes an error of its class. */
export async function settle<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (thrown) {
    throw explain(thrown);
  }
}

/** Calls the core. A failure of the core's becomes an error of its class. */
export function call<T>(core: () => T): T {
  try {
    return core();
  } catch (thrown) {
    throw explain(thrown);
  }
}

function isFailure(thrown: unknown): thrown is Failure {
  return thrown instanceof Error && thrown.name === "SandpipeFailure";
}

/** What a function of the caller's threw is no failure: it stays as it is. */
export function explain(thrown: unknown): unknown {
  return isFailure(thrown) ? toError(thrown) : thrown;
}

function toError(failure: Failure): SandpipeError {
  const { message, hint } = failure;
  const details: SandpipeErrorDetails = { hint };
  if ("cause" in failure) details.cause = explain(failure.cause);
  switch (failure.code) {
    case "http":
    case "network": {
      const { status, operation, body } = failure;
      return new HttpError(message, { ...details, status, operation, body });
    }
    case "create_unknown":
      return new CreateUnknownError(message, { ...details, command: failure.command });
    case "interrupted":
    case "timeout": {
      const { code, execId, output, exitCode, forced } = failure;
      const Stopped = code === "timeout" ? TimeoutError : InterruptedError;
      return new Stopped(message, { ...details, execId, output, exitCode, forced });
    }
    case "still_there":
      return new StillThereError(message, { ...details, execId: failure.execId });
    case "session": {
      const { execId, output } = failure;
      return new SessionError(message, { ...details, execId, output });
    }
    case "unsupported":
      return new UnsupportedError(message, { ...details, feature: failure.feature });
    case "exit_code_missing": {
      const { execId, output } = failure;
      return new ExitCodeMissingError(message, { ...details, execId, output });
    }
    case "output_limit": {
      const { execId, output } = failure;
      return new OutputLimitError(message, { ...details, execId, output });
    }
    case "output_lost": {
      const { execId, from, to, output, exitCode } = failure;
      return new OutputLostError(message, { ...details, execId, from, to, output, exitCode });
    }
    case "protocol":
      return new ProtocolError(message, { ...details, excerpt: failure.excerpt });
    case "invalid_argument":
      return new InvalidArgumentError(message, details);
    case "background": {
      const { operation, output, id, reason } = failure;
      return new BackgroundError(message, { ...details, operation, output, id, reason });
    }
    case "not_found":
      return new NotFoundError(message, { ...details, id: failure.id });
    case "closed":
      return new ClosedError(message, details);
  }
}
