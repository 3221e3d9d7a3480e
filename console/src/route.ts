/** The pages, in the order of the navigation. */
export const PAGES = ["execs", "background", "sessions"] as const;

export type Page = (typeof PAGES)[number];

/** The page that an address's fragment names. */
export function pageOf(hash: string): Page {
  return PAGES.find((page) => hash === `#/${page}`) ?? "execs";
}
