// @ts-check

/** How long is scrolled, in milliseconds. */
const DURATION_MS = 4_000;

/**
 * Scrolls an element in each frame, and says how many frames a second were drawn.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").Page} page
 * @param {string} selector
 */
export async function framesOf(browser, page, selector) {
  await browser.startTracing(page, {
    categories: ["disabled-by-default-devtools.timeline.frame"],
  });
  await page.evaluate(`new Promise((resolve) => {
    const element = document.querySelector(${JSON.stringify(selector)});
    const end = performance.now() + ${DURATION_MS};
    let step = 45;
    const frame = (now) => {
      element.scrollTop += step;
      if (element.scrollTop + element.clientHeight >= element.scrollHeight - 1) step = -45;
      if (element.scrollTop <= 0) step = 45;
      if (now < end) requestAnimationFrame(frame);
      else resolve();
    };
    requestAnimationFrame(frame);
  })`);
  const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
  /** @type {{ name: string, ts: number, pid: number }[]} */
  const drawn = traceEvents.filter(
    (/** @type {{ name: string }} */ { name }) => name === "DrawFrame",
  );
  const times = drawn.map(({ ts }) => ts / 1000).sort((one, other) => one - other);
  const from = (times.at(-1) ?? 0) - DURATION_MS;
  const within = times.filter((time) => time >= from);
  const gaps = within.slice(1).map((time, index) => time - (within[index] ?? time));
  const perSecond = (1000 * gaps.length) / ((within.at(-1) ?? 0) - (within[0] ?? 0));
  return `${perSecond.toFixed(1)} a second, at most ${Math.max(...gaps).toFixed(0)} ms between two`;
}
