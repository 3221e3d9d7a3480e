/** What stands in a field of a form; of a checkbox `on`, or nothing. */
export function textOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value : "";
}
