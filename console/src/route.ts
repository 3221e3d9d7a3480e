/** The pages, in the order of the navigation. */
export const PAGES = ["runs", "background", "sessions"] as const;

export type Page = (typeof PAGES)[number];

/** What the page shows: one of its pages, and what is selected there. */
export interface Route {
  page: Page;
  id?: string;
}

/** The route that an address's fragment names: `#/runs/ID`. What names none is the list of runs. */
export function routeOf(hash: string): Route {
  const [, name, ...rest] = hash.split("/");
  const page = hash.startsWith("#/") ? PAGES.find((page) => page === name) : undefined;
  const id = decoded(rest.join("/"));
  return { page: page ?? "runs", ...(page === undefined || id === "" ? {} : { id }) };
}

/** The fragment that names a route. */
export function hashOf({ page, id }: Route): string {
  return id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
