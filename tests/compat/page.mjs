// @ts-check

/** The script of a page that does the main job. */
export const pageScript = `
  import { connect } from "sandpipe";
  import { runInPage } from "./in-page.mjs";
  runInPage(connect);
`;

/**
 * A page with a script. What can't be loaded or run is reported, too.
 *
 * @param {string} script its address
 * @param {string} [head] more of the page's head
 * @param {"module" | "text/javascript"} [type] of the script
 */
export function page(script, head = "", type = "module") {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>An application that uses Sandpipe</title>
    <link rel="icon" href="data:," />
    <script>
      const { report } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      const fail = (error) => fetch(report, { method: "POST", body: JSON.stringify({ error }) });
      addEventListener("error", (event) => fail(event.message || "a file can't be loaded: " + event.target.src), true);
      addEventListener("unhandledrejection", (event) => fail(String(event.reason)));
    </script>
    ${head}
  </head>
  <body>
    <script type="${type}" src="${script}"></script>
  </body>
</html>
`;
}
