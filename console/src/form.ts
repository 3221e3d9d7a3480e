import { useState } from "preact/hooks";

/** What stands in a field of a form; of a checkbox `on`, or nothing. */
export function textOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value : "";
}

/** What a form does: whether that is under way, and what it failed with. */
export function useSubmission(): {
  busy: boolean;
  error: unknown;
  submit: (work: () => Promise<void>) => Promise<void>;
  /** What it failed with is not shown any more: it is filled in anew. */
  forget: () => void;
} {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (error) {
      setError(error);
    } finally {
      setBusy(false);
    }
  };
  const forget = () => {
    setError(undefined);
  };
  return { busy, error, submit, forget };
}
