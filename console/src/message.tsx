/** What an error says, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error, where it happened; screen readers say it at once. */
export function Failure({ error, id }: { error: unknown; id?: string }) {
  if (error === undefined) return null;
  return (
    <p class="failure" role="alert" id={id}>
      {messageOf(error)}
    </p>
  );
}
